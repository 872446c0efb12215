//! What waits for an answer: bounded, and never for ever.

use std::collections::BTreeMap;

use super::{NodeError, Output, Ticket};

/// How many proposals and reads may wait at once.
const MAX_WAITING: usize = 1024;

enum Kind {
    Proposal,
    /// Asked for; the quorum has not answered.
    Read,
    /// May be answered once this index is applied.
    ReadAt(u64),
}

struct Waiting {
    kind: Kind,
    deadline: u64,
}

/// Proposals and reads by ticket.
pub(super) struct Pending {
    now: u64,
    patience: u64,
    waiting: BTreeMap<Ticket, Waiting>,
}

impl Pending {
    pub(super) fn new(patience: u64) -> Self {
        Self {
            now: 0,
            patience,
            waiting: BTreeMap::new(),
        }
    }

    /// Refuses a ticket that is in use, and a full queue.
    pub(super) fn reserve(&self, ticket: Ticket) -> Result<(), NodeError> {
        if self.waiting.contains_key(&ticket) {
            return Err(NodeError::DuplicateTicket(ticket));
        }
        if self.waiting.len() >= MAX_WAITING {
            return Err(NodeError::Busy);
        }
        Ok(())
    }

    pub(super) fn proposed(&mut self, ticket: Ticket) {
        self.insert(ticket, Kind::Proposal);
    }

    pub(super) fn reading(&mut self, ticket: Ticket) {
        self.insert(ticket, Kind::Read);
    }

    fn insert(&mut self, ticket: Ticket, kind: Kind) {
        let deadline = self.now.saturating_add(self.patience);
        self.waiting.insert(ticket, Waiting { kind, deadline });
    }

    /// True if somebody waits for this proposal.
    pub(super) fn applied(&mut self, ticket: Ticket) -> bool {
        match self.waiting.get(&ticket) {
            Some(Waiting {
                kind: Kind::Proposal,
                ..
            }) => self.waiting.remove(&ticket).is_some(),
            _ => false,
        }
    }

    /// The quorum answered: the read is good from `index` on.
    pub(super) fn read_at(&mut self, context: &[u8], index: u64) {
        let Ok(bytes) = <[u8; 8]>::try_from(context) else {
            return;
        };
        if let Some(waiting) = self.waiting.get_mut(&Ticket(u64::from_be_bytes(bytes)))
            && matches!(waiting.kind, Kind::Read)
        {
            waiting.kind = Kind::ReadAt(index);
        }
    }

    pub(super) fn release_reads<O>(&mut self, applied: u64, out: &mut Vec<Output<O>>) {
        let ready = |w: &Waiting| matches!(w.kind, Kind::ReadAt(index) if index <= applied);
        self.waiting.retain(|ticket, waiting| {
            let done = ready(waiting);
            if done {
                out.push(Output::ReadReady {
                    ticket: *ticket,
                    result: Ok(()),
                });
            }
            !done
        });
    }

    /// Time passes; what waited too long ends as unknown.
    pub(super) fn tick<O>(&mut self, out: &mut Vec<Output<O>>) {
        self.now = self.now.saturating_add(1);
        let now = self.now;
        self.waiting.retain(|ticket, waiting| {
            let late = waiting.deadline <= now;
            if late {
                let (ticket, error) = (*ticket, NodeError::Unknown);
                out.push(match waiting.kind {
                    Kind::Proposal => Output::Done {
                        ticket,
                        result: Err(error),
                    },
                    _ => Output::ReadReady {
                        ticket,
                        result: Err(error),
                    },
                });
            }
            !late
        });
    }
}
