//! Secrets that the ledger carries and never opens.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A secret of the key service, encrypted by the shell under the cluster's wrapping key. The ledger
/// stores it, hands it back, and drops it at expiry (I9); it has no way to open it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Wrapped(#[serde(with = "siegel_ident::hex_serde::vec")] Vec<u8>);

impl Wrapped {
    /// Takes ciphertext.
    pub const fn new(ciphertext: Vec<u8>) -> Self {
        Self(ciphertext)
    }

    /// The ciphertext.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Wrapped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Wrapped({} bytes)", self.0.len())
    }
}
