//! One entry of the replicated log.

use serde::{Deserialize, Serialize};
use siegel_ident::{RequestId, Timestamp};

use crate::Event;
use crate::limits::MAX_ENTRY;

/// What the proposer puts into the log: a request, the time at its host, and any random values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Chosen by whoever asked; a retry carries the same one.
    pub request_id: RequestId,
    /// The proposer's clock. It can only raise the replicated clock.
    pub now: Timestamp,
    /// What is asked.
    pub event: Event,
}

/// Why bytes are not an entry. Only a peer of this cluster can cause one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EntryError {
    /// Over the bound.
    #[error("entry of {len} bytes is longer than the {MAX_ENTRY} allowed; do not propose it")]
    TooLong {
        /// Its length.
        len: usize,
    },
    /// Not JSON of this shape.
    #[error("entry does not parse: {0}; are all nodes of the cluster the same build?")]
    Shape(#[from] serde_json::Error),
}

impl Entry {
    /// The bytes to propose; refused when longer than [`MAX_ENTRY`].
    pub fn to_bytes(&self) -> Result<Vec<u8>, EntryError> {
        let bytes = serde_json::to_vec(self)?;
        Self::bounded(bytes.len())?;
        Ok(bytes)
    }

    /// Reads a committed entry.
    pub fn parse(bytes: &[u8]) -> Result<Self, EntryError> {
        Self::bounded(bytes.len())?;
        Ok(serde_json::from_slice(bytes)?)
    }

    fn bounded(len: usize) -> Result<(), EntryError> {
        if len > MAX_ENTRY {
            Err(EntryError::TooLong { len })
        } else {
            Ok(())
        }
    }
}
