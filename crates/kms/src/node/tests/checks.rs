//! What must hold at every step, and at the end.

use std::collections::BTreeSet;

use siegel_ident::NodeId;

use super::super::{Input, MAX_ENTRY_BYTES, NodeError, Output, Seat, Ticket};
use super::machine;
use super::sim::{DEADLINE, Sim};

impl Sim {
    /// Every replica applies one history.
    pub(super) fn check_history(&mut self, id: NodeId) {
        let order = &self.nodes[&id].machine().order;
        let common = order.len().min(self.truth.len());
        assert_eq!(
            order[..common],
            self.truth[..common],
            "node {id} applied another history"
        );
        self.truth.extend_from_slice(&order[common..]);
    }

    /// I10: three voters always (two threes while they are swapped), one admission at a time, and what
    /// Raft counts votes by is what the log agreed to.
    pub(super) fn check_membership(&self, id: NodeId) {
        let Some(node) = self.nodes.get(&id).filter(|node| !node.broken) else {
            return;
        };
        let (conf, members) = (node.conf(), &node.machine().members);
        if node.seat() == Seat::Joining {
            return;
        }
        let size = self.size as usize;
        let holders = (1..=self.size).map(|place| members.at(NodeId(place)).unwrap().id.0);
        let mut holders: Vec<u64> = holders.collect();
        holders.sort_unstable();
        assert_eq!(conf.voters.len(), size, "{id}: {conf:?}");
        assert!(conf.learners.len() <= 1, "{id}: {conf:?}");
        assert!(
            conf.learners_next.is_empty() && !conf.auto_leave,
            "{id}: {conf:?}"
        );
        if conf.voters_outgoing.is_empty() {
            assert_eq!(conf.voters, holders, "{id}");
            return;
        }
        let joining = members.joining().unwrap();
        assert!(joining.swapping);
        assert_eq!(conf.voters_outgoing, holders, "{id}");
        let swapped = |voter: &u64| match *voter == joining.leaves.0 {
            true => joining.member.id.0,
            false => *voter,
        };
        let mut next: Vec<u64> = holders.iter().map(swapped).collect();
        next.sort_unstable();
        assert_eq!(conf.voters, next, "{id}");
    }

    pub(super) fn check_logs(&self) {
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
        let follower = self.alive().into_iter().find(|id| *id != leader).unwrap();
        let input = Input::Propose {
            ticket: Ticket(9000),
            data: machine::operation(0),
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
        assert_eq!(ask(10, machine::operation(0)), None);
        assert_eq!(
            ask(10, machine::operation(0)),
            Some(NodeError::DuplicateTicket(Ticket(10)))
        );
        let refused = (0..2000)
            .filter_map(|n| ask(100 + n, machine::operation(0)))
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
}
