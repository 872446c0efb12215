//! Logs that are as they should be, and logs that lie, for the tests of this crate and of the command
//! line (feature `test-util`).
//!
//! A [`Scene`] is a log with a cluster, a publisher and an endorser in it that do what they are told.
//! [`lived`] fills it and returns what a real ledger wrote about it; a test bends something and logs
//! the receipts.

#![allow(clippy::unwrap_used, clippy::panic)] // for tests only

mod disk;
mod history;
mod ledger;
mod liar;
mod scene;
mod signer;
mod told;
mod witness;

pub use disk::{last_bundle, rot, withhold};
pub use history::{build_of, lived, receipts, stage};
pub use liar::{Bend, Liar, bundle, unbundle};
pub use scene::*;
pub use signer::{Signer, certificate};
pub use told::{Quote, Told, Vouch};
pub use witness::{Witness, quorum};
