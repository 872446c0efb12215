//! The whole state as bytes, for a member that joins or a log that is cut.

use serde::{Deserialize, Serialize};
use siegel_ident::ClusterId;

use crate::state::State;
use crate::{GenesisError, Ledger};

#[derive(Serialize)]
struct Written<'a> {
    cluster: ClusterId,
    state: &'a State,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Read {
    cluster: ClusterId,
    state: State,
}

impl Ledger {
    /// The state as bytes. Equal states have equal bytes, so replicas can be compared. Wrapped
    /// secrets are in it as they are; it travels between members of the cluster only.
    ///
    /// # Errors
    /// None in practice: the state is plain data.
    pub fn snapshot(&self) -> Result<Vec<u8>, GenesisError> {
        Ok(serde_json::to_vec(&Written {
            cluster: self.cluster,
            state: &self.state,
        })?)
    }

    /// The ledger that wrote this snapshot.
    ///
    /// # Errors
    /// As [`Ledger::new`]; a snapshot that does not parse, or that is of another cluster.
    pub fn restore(genesis: &[u8], snapshot: &[u8]) -> Result<Self, GenesisError> {
        let mut ledger = Self::new(genesis)?;
        let read: Read = serde_json::from_slice(snapshot)?;
        if read.cluster != ledger.cluster {
            return Err(GenesisError::OtherCluster {
                found: read.cluster,
                expected: ledger.cluster,
            });
        }
        ledger.state = read.state;
        Ok(ledger)
    }
}
