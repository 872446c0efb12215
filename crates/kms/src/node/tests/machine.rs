//! The state machine of the simulation: operations that count once, and the real table of members.

use std::collections::BTreeMap;

use siegel_ident::NodeId;
use siegel_ident::json::{from_canonical, to_canonical};
use siegel_ident::lp::{Reader, Writer};
use siegel_ledger::Members;

use super::super::StateMachine;

const OPERATION: u8 = 0;
const ADMIT: u8 = 1;
const WITHDRAW: u8 = 2;

/// What an entry led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The operation's place in the order.
    Place(usize),
    Admitted(Option<NodeId>),
    Withdrawn,
}

/// Applies each operation once, whatever number of times it is proposed.
pub(super) struct Machine {
    pub(super) order: Vec<u64>,
    pub(super) places: BTreeMap<u64, usize>,
    pub(super) members: Members,
}

impl Machine {
    pub(super) fn new(members: Members) -> Self {
        Self {
            order: Vec::new(),
            places: BTreeMap::new(),
            members,
        }
    }

    fn operation(&mut self, operation: u64) -> usize {
        let next = self.order.len();
        let place = *self.places.entry(operation).or_insert(next);
        if place == next {
            self.order.push(operation);
        }
        place
    }
}

pub(super) fn operation(number: u64) -> Vec<u8> {
    Writer::new().u8(OPERATION).u64(number).finish()
}

pub(super) fn admit(place: NodeId, key: u64, leaves: NodeId, over: Option<NodeId>) -> Vec<u8> {
    let writer = Writer::new().u8(ADMIT).u64(place.0).u64(key).u64(leaves.0);
    writer.u64(over.map_or(0, |id| id.0)).finish()
}

pub(super) fn withdraw(id: NodeId) -> Vec<u8> {
    Writer::new().u8(WITHDRAW).u64(id.0).finish()
}

/// The signing key of the n-th process.
pub(super) fn key(n: u64) -> [u8; 32] {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&n.to_be_bytes());
    key
}

impl StateMachine for Machine {
    type Outcome = Outcome;

    fn members(&self) -> &Members {
        &self.members
    }

    fn begin_swap(&mut self, joins: NodeId, leaves: NodeId) {
        self.members.begin_swap(joins, leaves);
    }

    fn end_swap(&mut self) {
        self.members.end_swap();
    }

    fn apply(&mut self, data: &[u8]) -> Outcome {
        let mut reader = Reader::new(data);
        let kind = reader.u8("kind").unwrap();
        let mut number = || reader.u64("number").unwrap();
        match kind {
            OPERATION => Outcome::Place(self.operation(number())),
            ADMIT => {
                let (place, process, leaves, over) = (number(), number(), number(), number());
                let over = (over != 0).then_some(NodeId(over));
                let (place, leaves) = (NodeId(place), NodeId(leaves));
                let admitted = self.members.admit(place, key(process), leaves, over);
                Outcome::Admitted(admitted.ok())
            }
            _ => {
                let _ = self.members.withdraw(NodeId(number()));
                Outcome::Withdrawn
            }
        }
    }

    fn snapshot(&self) -> Vec<u8> {
        let members = to_canonical(&self.members).unwrap();
        let writer = Writer::new().bytes(&members).u64(self.order.len() as u64);
        let order = self.order.iter();
        order.fold(writer, |writer, op| writer.u64(*op)).finish()
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<(), String> {
        let mut reader = Reader::new(snapshot);
        let members = reader.bytes("members", 1 << 20).unwrap();
        self.members = from_canonical(members, 1 << 20).unwrap();
        let count = reader.u64("count").unwrap();
        self.order = (0..count).map(|_| reader.u64("op").unwrap()).collect();
        let places = self.order.iter().enumerate();
        self.places = places.map(|(place, op)| (*op, place)).collect();
        Ok(())
    }
}
