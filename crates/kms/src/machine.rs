//! The ledger as the state machine of a replica, and the moments at which keys expire.

use std::collections::BTreeSet;

use siegel_ident::lp::{LpError, Reader, Writer};
use siegel_ident::{NodeId, Timestamp};
use siegel_ledger::{Done, Effect, Entry, GenesisError, Ledger, Members, Outcome};

use crate::node::StateMachine;

/// The ledger of this replica.
pub(crate) struct Machine {
    ledger: Ledger,
    /// Moments after the replicated clock at which something is to be erased.
    expiries: BTreeSet<Timestamp>,
    /// Something was erased from the ledger that the log still holds.
    erased: bool,
    genesis: Vec<u8>,
}

impl Machine {
    /// The empty ledger of a cluster with these founders; with none in a node that joins, until the
    /// leader sends it the state.
    pub(crate) fn new(genesis: &[u8], founders: Members) -> Result<Self, GenesisError> {
        let ledger = Ledger::founded(genesis, founders)?;
        let genesis = genesis.to_vec();
        Ok(Self {
            ledger,
            expiries: BTreeSet::new(),
            erased: false,
            genesis,
        })
    }

    /// True once after something was erased: then the log is to be cut, since it holds the wrapped
    /// secret too (I9).
    pub(crate) fn take_erased(&mut self) -> bool {
        std::mem::take(&mut self.erased)
    }

    pub(crate) fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// The next moment at which a key or a run expires: by then somebody must propose a Tick (I9).
    pub(crate) fn next_expiry(&self) -> Option<Timestamp> {
        self.expiries.first().copied()
    }

    fn note_expiries(&mut self, outcome: &Outcome) {
        match outcome {
            Outcome::Done(Done::EpochOpened { expires, .. }) => {
                self.expiries.insert(*expires);
            }
            Outcome::Done(Done::RunRegistered { run, .. }) => {
                self.expiries
                    .extend(self.ledger.run(*run).map(|run| run.deadline));
            }
            _ => {}
        }
        // What the clock has passed is erased.
        let clock = self.ledger.clock();
        self.expiries.retain(|at| *at > clock);
    }
}

impl StateMachine for Machine {
    /// `None` for bytes that are no entry. Only another build could propose such, and members
    /// measure alike; every replica skips it in the same way.
    type Outcome = Option<Outcome>;

    fn members(&self) -> &Members {
        self.ledger.members()
    }

    fn begin_swap(&mut self, joins: NodeId, leaves: NodeId) {
        self.ledger.begin_swap(joins, leaves);
    }

    fn end_swap(&mut self) {
        self.ledger.end_swap();
    }

    fn apply(&mut self, data: &[u8]) -> Option<Outcome> {
        let entry = match Entry::parse(data) {
            Ok(entry) => entry,
            Err(error) => {
                tracing::error!(%error, "a committed entry does not parse and is skipped");
                return None;
            }
        };
        let applied = self.ledger.apply(&entry);
        // Erasing is dropping: ledger and log hold the only copies, and both let go.
        for effect in &applied.effects {
            tracing::info!(?effect, "applied");
        }
        self.erased |= applied.effects.iter().any(|effect| {
            matches!(
                effect,
                Effect::EraseEpoch(_) | Effect::EraseRun(_) | Effect::EndRun(_)
            )
        });
        self.note_expiries(&applied.outcome);
        Some(applied.outcome)
    }

    /// LP: count u32 ‖ expiries u64*, then the ledger's own bytes.
    fn snapshot(&self) -> Vec<u8> {
        let count = Writer::new().u32(self.expiries.len() as u32);
        let head = self
            .expiries
            .iter()
            .fold(count, |writer, at| writer.u64(at.0));
        // Plain data into memory: writing it cannot fail.
        head.fixed(&self.ledger.snapshot().unwrap_or_default())
            .finish()
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<(), String> {
        let mut reader = Reader::new(snapshot);
        let mut read = || -> Result<BTreeSet<Timestamp>, LpError> {
            let count = reader.u32("expiries")?;
            (0..count)
                .map(|_| reader.u64("expiry").map(Timestamp))
                .collect()
        };
        let expiries = read().map_err(|error| error.to_string())?;
        let state = snapshot.get(reader.position()..).unwrap_or_default();
        self.ledger = Ledger::restore(&self.genesis, state).map_err(|error| error.to_string())?;
        self.expiries = expiries;
        self.erased = true;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
