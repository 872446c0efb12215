//! The fake world: a network as a queue ordered by time, clients that retry, and the checks.

use std::collections::{BTreeMap, BTreeSet};

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use siegel_ident::{Digest, NodeId};
use siegel_wire::v1::RaftMessage;

use super::super::{
    Input, MAX_ENTRY_BYTES, Node, NodeConfig, NodeError, Output, StateMachine, Ticket,
};

/// Ticks until an unanswered proposal is unknown.
pub(super) const DEADLINE: u64 = 40;
const MEMBERS: [NodeId; 3] = [NodeId(1), NodeId(2), NodeId(3)];

/// Applies each operation once, whatever number of times it is proposed.
#[derive(Default)]
struct Machine {
    order: Vec<u64>,
    places: BTreeMap<u64, usize>,
}

impl StateMachine for Machine {
    type Outcome = usize;
    fn apply(&mut self, data: &[u8]) -> usize {
        let operation = u64::from_be_bytes(data.try_into().unwrap());
        let next = self.order.len();
        let place = *self.places.entry(operation).or_insert(next);
        if place == next {
            self.order.push(operation);
        }
        place
    }
    fn snapshot(&self) -> Vec<u8> {
        self.order
            .iter()
            .flat_map(|operation| operation.to_be_bytes())
            .collect()
    }
    fn restore(&mut self, snapshot: &[u8]) -> Result<(), String> {
        let operations = snapshot.chunks(8).map(|bytes| bytes.try_into().unwrap());
        self.order = operations.map(u64::from_be_bytes).collect();
        self.places = self
            .order
            .iter()
            .enumerate()
            .map(|(place, op)| (*op, place))
            .collect();
        Ok(())
    }
}

/// How bad the network is; drawn per seed, so that seeds differ in kind.
#[derive(Clone, Copy)]
pub(super) struct Faults {
    drop_percent: u64,
    double_percent: u64,
    longest_delay: u64,
    /// Mean ticks between changes of the partition; 0 = never.
    partition_every: u64,
    /// Percent of ticks on which some node cuts its log.
    cut_percent: u64,
    /// Percent of ticks that a node misses: clocks differ.
    slow_percent: u64,
}

impl Faults {
    pub(super) fn none() -> Self {
        Self {
            drop_percent: 0,
            double_percent: 0,
            longest_delay: 1,
            partition_every: 0,
            cut_percent: 0,
            slow_percent: 0,
        }
    }

    pub(super) fn drawn(seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed ^ 0xfa01);
        Self {
            drop_percent: rng.next_u64() % 25,
            double_percent: rng.next_u64() % 20,
            longest_delay: 1 + rng.next_u64() % 12,
            partition_every: [0, 40, 80, 160][rng.next_u64() as usize % 4],
            cut_percent: [0, 2, 10, 50][rng.next_u64() as usize % 4],
            slow_percent: rng.next_u64() % 30,
        }
    }
}

/// What a client waits for.
enum Asked {
    Operation(u64),
    /// What had been acknowledged when the read was asked.
    Read(BTreeSet<u64>),
}

pub(super) struct Sim {
    rng: ChaCha8Rng,
    faults: Faults,
    now: u64,
    nodes: BTreeMap<NodeId, Node<Machine>>,
    network: BTreeMap<(u64, u64), (NodeId, NodeId, RaftMessage)>,
    sent: u64,
    cut: BTreeSet<(NodeId, NodeId)>,
    asked: BTreeMap<(NodeId, Ticket), Asked>,
    /// Per node, so that two nodes use the same numbers.
    next_ticket: BTreeMap<NodeId, u64>,
    next_operation: u64,
    retry: Vec<u64>,
    clients: bool,
    /// Clients ask at every tick.
    eager: bool,
    /// The one history: every replica's order is a prefix of it.
    truth: Vec<u64>,
    acknowledged: BTreeMap<u64, usize>,
    leader_of_term: BTreeMap<u64, NodeId>,
    reads: u64,
    /// Snapshots sent.
    pub(super) snapshots: u64,
    trace: Digest,
}

impl Sim {
    pub(super) fn new(seed: u64, faults: Faults) -> Self {
        let nodes = MEMBERS
            .into_iter()
            .map(|id| {
                let config = NodeConfig {
                    id,
                    voters: MEMBERS.to_vec(),
                    election_seed: seed,
                    deadline_ticks: DEADLINE,
                };
                (id, Node::bootstrap(&config, Machine::default()).unwrap())
            })
            .collect();
        Self {
            rng: ChaCha8Rng::seed_from_u64(seed),
            faults,
            now: 0,
            nodes,
            network: BTreeMap::new(),
            sent: 0,
            cut: BTreeSet::new(),
            asked: BTreeMap::new(),
            next_ticket: BTreeMap::new(),
            next_operation: 0,
            retry: Vec::new(),
            clients: true,
            eager: false,
            truth: Vec::new(),
            acknowledged: BTreeMap::new(),
            leader_of_term: BTreeMap::new(),
            reads: 0,
            snapshots: 0,
            trace: Digest::of(b""),
        }
    }

    pub(super) fn run(&mut self, ticks: u64) {
        for _ in 0..ticks {
            self.now += 1;
            self.change_partition();
            self.deliver();
            let alive: Vec<NodeId> = self.nodes.keys().copied().collect();
            for id in alive {
                if !self.chance(self.faults.slow_percent) {
                    self.step(id, Input::Tick);
                }
            }
            if self.clients {
                self.client();
            }
            if self.chance(self.faults.cut_percent) {
                let node = self.any_node();
                self.step(node, Input::Cut);
            }
            if self.now.is_multiple_of(25) {
                self.check_logs();
            }
        }
        self.check_logs();
    }

    fn deliver(&mut self) {
        while let Some((&(at, number), _)) = self.network.first_key_value()
            && at <= self.now
        {
            let Some((from, to, message)) = self.network.remove(&(at, number)) else {
                continue;
            };
            if self.nodes.contains_key(&to) && !self.cut.contains(&(from, to)) {
                self.step(to, Input::Peer { from, message });
            }
        }
    }

    fn step(&mut self, id: NodeId, input: Input) {
        let Some(node) = self.nodes.get_mut(&id) else {
            return;
        };
        let outputs = node.handle(input);
        self.check_history(id);
        for output in outputs {
            match output {
                Output::Send { to, message } => self.send(id, to, message),
                Output::Done { ticket, result } => self.answered(id, ticket, result),
                Output::ReadReady { ticket, result } => self.read_answered(id, ticket, result),
                Output::Role(role) if role.is_leader => {
                    let first = *self.leader_of_term.entry(role.term).or_insert(id);
                    assert_eq!(first, id, "two leaders in term {}", role.term);
                }
                Output::Role(_) => {}
                Output::Refused { from, error } => panic!("{id} refused {from}: {error}"),
                Output::Broken(why) => panic!("{id} is broken: {why}"),
            }
        }
    }

    fn send(&mut self, from: NodeId, to: NodeId, message: RaftMessage) {
        self.snapshots += u64::from(message.msg_type == 7);
        let copies = 1 + u64::from(self.chance(self.faults.double_percent));
        for _ in 0..copies {
            if self.chance(self.faults.drop_percent) {
                continue;
            }
            let at = self.now + 1 + self.draw(self.faults.longest_delay);
            self.sent += 1;
            self.note(&[from.0, to.0, at, u64::from(message.msg_type), message.index]);
            self.network
                .insert((at, self.sent), (from, to, message.clone()));
        }
    }

    fn client(&mut self) {
        if self.eager || self.chance(40) {
            let operation = self.retry.pop().unwrap_or_else(|| {
                self.next_operation += 1;
                self.next_operation
            });
            self.propose(operation);
        }
        if self.eager || self.chance(15) {
            let node = self.any_node();
            let ticket = self.ticket(node);
            let before = self.acknowledged.keys().copied().collect();
            self.asked.insert((node, ticket), Asked::Read(before));
            self.step(node, Input::Read { ticket });
        }
    }

    fn propose(&mut self, operation: u64) {
        let node = self.any_node();
        let ticket = self.ticket(node);
        self.asked
            .insert((node, ticket), Asked::Operation(operation));
        self.step(
            node,
            Input::Propose {
                ticket,
                data: operation.to_be_bytes().to_vec(),
            },
        );
    }

    fn answered(&mut self, id: NodeId, ticket: Ticket, result: Result<usize, NodeError>) {
        let Some(Asked::Operation(operation)) = self.asked.remove(&(id, ticket)) else {
            panic!("{id} answered {ticket:?}, which nobody asked");
        };
        match result {
            Ok(place) => {
                self.note(&[id.0, operation, place as u64]);
                assert_eq!(
                    self.truth.get(place),
                    Some(&operation),
                    "acknowledged, not applied"
                );
                let first = *self.acknowledged.entry(operation).or_insert(place);
                assert_eq!(first, place, "one operation, two outcomes");
            }
            // The client does what it is told: the same request again.
            Err(NodeError::NotLeader { .. } | NodeError::Busy | NodeError::Unknown) => {
                self.retry.push(operation);
            }
            Err(other) => panic!("{other}"),
        }
    }

    fn read_answered(&mut self, id: NodeId, ticket: Ticket, result: Result<(), NodeError>) {
        let Some(Asked::Read(before)) = self.asked.remove(&(id, ticket)) else {
            panic!("{id} answered read {ticket:?}, which nobody asked");
        };
        if result.is_ok() {
            self.reads += 1;
            let seen = &self.nodes[&id].machine().places;
            assert!(
                before.iter().all(|op| seen.contains_key(op)),
                "a stale read at {id}"
            );
        }
    }

    /// Every replica applies one history.
    fn check_history(&mut self, id: NodeId) {
        let order = &self.nodes[&id].machine().order;
        let common = order.len().min(self.truth.len());
        assert_eq!(
            order[..common],
            self.truth[..common],
            "node {id} applied another history"
        );
        self.truth.extend_from_slice(&order[common..]);
    }

    fn check_logs(&self) {
        for (a, left) in &self.nodes {
            for (b, right) in self.nodes.range(NodeId(a.0 + 1)..) {
                let (left, right) = (left.raw.store().all(), right.raw.store().all());
                // Where both still have entries.
                let (Some(x), Some(y)) = (left.first(), right.first()) else {
                    continue;
                };
                let first = x.index.max(y.index);
                let left = &left[left.len().min((first - x.index) as usize)..];
                let right = &right[right.len().min((first - y.index) as usize)..];
                let both = left.iter().zip(right);
                let Some(last) = both.clone().rposition(|(x, y)| x.term == y.term) else {
                    continue;
                };
                for (x, y) in both.take(last + 1) {
                    assert_eq!(x, y, "logs of {a} and {b} differ below a common term");
                }
            }
        }
    }

    fn change_partition(&mut self) {
        let every = self.faults.partition_every;
        if every == 0 || self.draw(every) != 0 {
            return;
        }
        self.cut.clear();
        let alone = MEMBERS[self.draw(3) as usize];
        // None, one node cut off, or only one direction of it.
        let kind = self.draw(4);
        for other in MEMBERS {
            if kind >= 1 {
                self.cut.insert((alone, other));
            }
            if kind >= 2 {
                self.cut.insert((other, alone));
            }
        }
    }

    /// A process that dies takes its state along: it never comes back (I10).
    pub(super) fn crash_one(&mut self) {
        let id = self.any_node();
        self.nodes.remove(&id);
        let lost: Vec<_> = self
            .asked
            .keys()
            .filter(|(node, _)| *node == id)
            .copied()
            .collect();
        for key in lost {
            if let Some(Asked::Operation(operation)) = self.asked.remove(&key) {
                self.retry.push(operation);
            }
        }
    }

    pub(super) fn cut_off_a_follower(&mut self) -> NodeId {
        let alone = self
            .nodes
            .values()
            .find(|n| !n.status().is_leader)
            .unwrap()
            .id;
        for other in MEMBERS {
            self.cut.extend([(alone, other), (other, alone)]);
        }
        alone
    }

    /// What is not applied yet stays.
    pub(super) fn cut_all_logs(&mut self) {
        for id in MEMBERS {
            self.step(id, Input::Cut);
            let status = self.nodes[&id].status();
            assert!(
                status.log_len < 5,
                "{id} still holds {} entries",
                status.log_len
            );
        }
    }

    pub(super) fn heal(&mut self) {
        self.faults = Faults::none();
        self.cut.clear();
    }

    pub(super) fn stop_clients(&mut self) {
        self.clients = false;
    }

    /// Liveness: new operations are acknowledged.
    pub(super) fn must_serve(&mut self, ticks: u64) {
        let before = (self.acknowledged.len(), self.reads);
        self.eager = true;
        self.run(ticks);
        self.eager = false;
        assert!(
            self.acknowledged.len() > before.0,
            "no progress in {ticks} ticks"
        );
        assert!(self.reads > before.1, "no read in {ticks} ticks");
    }

    /// After quiet, all live replicas are equal and hold everything acknowledged.
    pub(super) fn must_agree(&mut self) {
        self.stop_clients();
        self.run(DEADLINE + 20);
        let mut heads = BTreeSet::new();
        for node in self.nodes.values() {
            heads.insert((node.applied, node.head));
            assert_eq!(node.machine().order, self.truth);
        }
        assert_eq!(heads.len(), 1, "replicas differ: {heads:?}");
        for (operation, place) in &self.acknowledged {
            assert_eq!(
                self.truth.get(*place),
                Some(operation),
                "acknowledged, then lost"
            );
        }
    }

    /// A follower knows the leader and does nothing.
    pub(super) fn check_redirect(&mut self) {
        let leader = self
            .nodes
            .values()
            .find(|n| n.status().is_leader)
            .unwrap()
            .id;
        let follower = MEMBERS.into_iter().find(|id| *id != leader).unwrap();
        let input = Input::Propose {
            ticket: Ticket(9000),
            data: vec![0; 8],
        };
        let out = self.nodes.get_mut(&follower).unwrap().handle(input);
        let error = Err(NodeError::NotLeader {
            leader: Some(leader),
        });
        assert_eq!(
            out,
            [Output::Done {
                ticket: Ticket(9000),
                result: error
            }]
        );
    }

    /// The queue, the entry's size and the ticket are bounded.
    pub(super) fn check_bounds(&mut self) {
        let node = self
            .nodes
            .values_mut()
            .find(|n| n.status().is_leader)
            .unwrap();
        let mut ask = |ticket, data: Vec<u8>| {
            node.handle(Input::Propose {
                ticket: Ticket(ticket),
                data,
            })
            .into_iter()
            .find_map(|o| match o {
                Output::Done {
                    result: Err(error), ..
                } => Some(error),
                _ => None,
            })
        };
        assert!(matches!(ask(1, vec![]), Some(NodeError::TooLarge { .. })));
        assert!(matches!(
            ask(1, vec![0; MAX_ENTRY_BYTES + 1]),
            Some(NodeError::TooLarge { .. })
        ));
        assert_eq!(ask(10, vec![0; 8]), None);
        assert_eq!(
            ask(10, vec![0; 8]),
            Some(NodeError::DuplicateTicket(Ticket(10)))
        );
        let refused = (0..2000)
            .filter_map(|n| ask(100 + n, vec![0; 8]))
            .collect::<Vec<_>>();
        assert_eq!(refused.len(), 2000 - 1023);
        assert!(refused.iter().all(|error| *error == NodeError::Busy));
    }

    pub(super) fn acknowledged(&self) -> usize {
        self.acknowledged.len()
    }

    pub(super) fn waiting(&self) -> usize {
        self.asked.len()
    }

    pub(super) fn leaders(&self) -> usize {
        self.nodes
            .values()
            .filter(|node| node.status().is_leader)
            .count()
    }

    pub(super) fn trace(&self) -> Digest {
        self.trace
    }

    fn note(&mut self, numbers: &[u64]) {
        let mut bytes = self.trace.to_vec();
        bytes.extend(self.now.to_be_bytes());
        bytes.extend(numbers.iter().flat_map(|n| n.to_be_bytes()));
        self.trace = Digest::of(&bytes);
    }

    fn any_node(&mut self) -> NodeId {
        let alive: Vec<NodeId> = self.nodes.keys().copied().collect();
        alive[self.draw(alive.len() as u64) as usize]
    }

    fn ticket(&mut self, node: NodeId) -> Ticket {
        let next = self.next_ticket.entry(node).or_insert(0);
        *next += 1;
        Ticket(*next)
    }

    fn draw(&mut self, below: u64) -> u64 {
        self.rng.next_u64() % below.max(1)
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.draw(100) < percent
    }
}
