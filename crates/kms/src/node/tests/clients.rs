//! Clients that retry, and what they must never see.

use std::collections::BTreeSet;

use siegel_ident::NodeId;

use super::super::{Input, NodeError, Ticket};
use super::machine::{self, Outcome};
use super::sim::Sim;

/// What somebody waits for.
pub(super) enum Asked {
    Operation(u64),
    /// What had been acknowledged when the read was asked.
    Read(BTreeSet<u64>),
    /// The process with this key wants a place.
    Admission(u64),
    Withdrawal,
}

impl Sim {
    pub(super) fn client(&mut self) {
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
                data: machine::operation(operation),
            },
        );
    }

    pub(super) fn answered(
        &mut self,
        id: NodeId,
        ticket: Ticket,
        result: Result<Outcome, NodeError>,
    ) {
        let operation = match self.asked.remove(&(id, ticket)) {
            Some(Asked::Operation(operation)) => operation,
            Some(Asked::Admission(process)) => return self.welcomed(process, result),
            Some(Asked::Withdrawal) => return,
            _ => panic!("{id} answered {ticket:?}, which nobody asked"),
        };
        match result {
            Ok(Outcome::Admitted(_) | Outcome::Withdrawn) => panic!("another outcome"),
            Ok(Outcome::Place(place)) => {
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

    pub(super) fn read_answered(
        &mut self,
        id: NodeId,
        ticket: Ticket,
        result: Result<(), NodeError>,
    ) {
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
}
