//! Merkle proofs, checkpoints, bundles and strict offline proof verification.
//!
//! [`verify_logged`] is the one question that clients, key service and auditor ask: do exactly
//! these bytes stand in exactly that log (I1, I2)? `OVERVIEW.md` has the picture and the list of
//! checks. Nothing here reads a clock, a file, a network or a random source (I15).

pub mod archived;
pub mod bundle;
pub mod checkpoint;
pub mod cosignature;
pub mod dsse;
mod encoding;
mod error;
mod general;
pub mod hashedrekord;
pub mod intoto;
mod key;
pub mod merkle;
mod nodes;
pub mod nonce;
pub mod note;
#[cfg(any(test, feature = "test-util"))]
pub mod testing;
pub mod tiles;
pub mod tlog_entry;
mod tree;
mod verify;

pub use archived::{Archived, ArchivedError, MirrorQuorum};
pub use bundle::Bundle;
pub use checkpoint::Checkpoint;
pub use dsse::Envelope;
pub use error::ProofError;
pub use general::GeneralBundle;
pub use hashedrekord::{HashedRekord, Verifier};
pub use intoto::{Statement, predicate};
pub use key::SpkiKey;
pub use tiles::{TilePath, TileSet};
pub use tlog_entry::{InclusionProof, TlogEntry};
pub use tree::Tree;
pub use verify::{LogAnchors, LoggedEntry, verify_logged};
