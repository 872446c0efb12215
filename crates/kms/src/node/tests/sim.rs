//! The fake world: a network as a queue ordered by time, clients that retry, and the checks.

use std::collections::{BTreeMap, BTreeSet};

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use siegel_ident::{Digest, NodeId};
use siegel_ledger::Members;
use siegel_wire::v1::RaftMessage;

use super::super::{Input, MessageError, Node, NodeConfig, Output, Ticket};
use super::clients::Asked;
use super::faults::Faults;
use super::machine::{self, Machine};
use super::replacing::Joiner;

/// Ticks until an unanswered proposal is unknown.
pub(super) const DEADLINE: u64 = 40;

pub(super) struct Sim {
    pub(super) rng: ChaCha8Rng,
    pub(super) faults: Faults,
    pub(super) now: u64,
    pub(super) nodes: BTreeMap<NodeId, Node<Machine>>,
    pub(super) network: BTreeMap<(u64, u64), (NodeId, NodeId, RaftMessage)>,
    pub(super) sent: u64,
    pub(super) cut: BTreeSet<(NodeId, NodeId)>,
    pub(super) asked: BTreeMap<(NodeId, Ticket), Asked>,
    /// Per node, so that two nodes use the same numbers.
    pub(super) next_ticket: BTreeMap<NodeId, u64>,
    pub(super) next_operation: u64,
    pub(super) retry: Vec<u64>,
    pub(super) clients: bool,
    /// Clients ask at every tick.
    pub(super) eager: bool,
    /// The one history: every replica's order is a prefix of it.
    pub(super) truth: Vec<u64>,
    pub(super) acknowledged: BTreeMap<u64, usize>,
    pub(super) leader_of_term: BTreeMap<u64, NodeId>,
    pub(super) reads: u64,
    /// Processes that ask for a dead one's place.
    pub(super) joiners: Vec<Joiner>,
    /// Processes that are stopped, as by SIGSTOP.
    pub(super) paused: BTreeMap<NodeId, Node<Machine>>,
    /// Members at birth, and so at any time.
    pub(super) size: u64,
    pub(super) next_key: u64,
    pub(super) used_ids: BTreeSet<NodeId>,
    /// A dead place gets a new process by itself.
    pub(super) supervised: bool,
    /// Processes that ended because they heard that they are no members any more.
    pub(super) removed: u64,
    /// Snapshots sent.
    pub(super) snapshots: u64,
    pub(super) trace: Digest,
}

impl Sim {
    pub(super) fn new(seed: u64, faults: Faults) -> Self {
        Self::of(3, seed, faults)
    }

    /// A cluster of `size` members.
    pub(super) fn of(size: u64, seed: u64, faults: Faults) -> Self {
        let ids: Vec<_> = (1..=size).map(NodeId).collect();
        let members = Members::founded(ids.iter().map(|id| (*id, machine::key(id.0))));
        let start = |id: &NodeId| {
            let config = NodeConfig {
                id: *id,
                voters: ids.clone(),
                election_seed: seed,
                deadline_ticks: DEADLINE,
            };
            let machine = Machine::new(members.clone());
            (*id, Node::bootstrap(&config, machine).unwrap())
        };
        let nodes = ids.iter().map(start).collect();
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
            joiners: Vec::new(),
            paused: BTreeMap::new(),
            size,
            next_key: 100,
            used_ids: ids.into_iter().collect(),
            supervised: false,
            removed: 0,
            snapshots: 0,
            trace: Digest::of(b""),
        }
    }

    pub(super) fn run(&mut self, ticks: u64) {
        for _ in 0..ticks {
            self.now += 1;
            self.change_partition();
            self.deliver();
            for id in self.alive() {
                if !self.chance(self.faults.slow_percent) {
                    self.step(id, Input::Tick);
                }
            }
            if self.clients {
                self.client();
            }
            self.replace();
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

    pub(super) fn step(&mut self, id: NodeId, input: Input) {
        let Some(node) = self.nodes.get_mut(&id) else {
            return;
        };
        let outputs = node.handle(input);
        self.check_history(id);
        self.check_membership(id);
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
                // A process that was a member once: it is told, and ends.
                Output::Refused {
                    from,
                    error: MessageError::NotMember(gone),
                } => {
                    assert_eq!(from, gone);
                    self.end(gone);
                }
                Output::Removed => self.end(id),
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

    fn change_partition(&mut self) {
        let every = self.faults.partition_every;
        if every == 0 || self.draw(every) != 0 {
            return;
        }
        self.cut.clear();
        let all = self.alive();
        let alone = self.any_node();
        // None, one node cut off, or only one direction of it.
        let kind = self.draw(4);
        for other in all {
            if kind >= 1 {
                self.cut.insert((alone, other));
            }
            if kind >= 2 {
                self.cut.insert((other, alone));
            }
        }
    }

    pub(super) fn alive(&self) -> Vec<NodeId> {
        self.nodes.keys().copied().collect()
    }

    pub(super) fn leader(&self) -> Option<NodeId> {
        let mut leaders = self.nodes.values().filter(|node| node.status().is_leader);
        leaders.next().map(|node| node.id)
    }

    /// A process that dies takes its state along: it never comes back (I10).
    pub(super) fn crash_one(&mut self) {
        let id = self.any_node();
        self.kill(id);
    }

    pub(super) fn kill(&mut self, id: NodeId) {
        self.nodes.remove(&id);
        self.forget_asked(id);
    }

    /// Who asked a dead process asks again.
    fn forget_asked(&mut self, id: NodeId) {
        let mine = |(node, _): &&(NodeId, Ticket)| *node == id;
        let lost: Vec<_> = self.asked.keys().filter(mine).copied().collect();
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
        for other in self.alive() {
            self.cut.extend([(alone, other), (other, alone)]);
        }
        alone
    }

    /// What is not applied yet stays.
    pub(super) fn cut_all_logs(&mut self) {
        for id in self.alive() {
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

    pub(super) fn trace(&self) -> Digest {
        self.trace
    }

    pub(super) fn note(&mut self, numbers: &[u64]) {
        let mut bytes = self.trace.to_vec();
        bytes.extend(self.now.to_be_bytes());
        bytes.extend(numbers.iter().flat_map(|n| n.to_be_bytes()));
        self.trace = Digest::of(&bytes);
    }

    pub(super) fn any_node(&mut self) -> NodeId {
        let alive = self.alive();
        alive[self.draw(alive.len() as u64) as usize]
    }

    pub(super) fn ticket(&mut self, node: NodeId) -> Ticket {
        let next = self.next_ticket.entry(node).or_insert(0);
        *next += 1;
        Ticket(*next)
    }

    pub(super) fn draw(&mut self, below: u64) -> u64 {
        self.rng.next_u64() % below.max(1)
    }

    pub(super) fn chance(&mut self, percent: u64) -> bool {
        self.draw(100) < percent
    }
}
