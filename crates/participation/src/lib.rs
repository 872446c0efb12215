//! Was an upload an input of a run? Either answer as a proof that its owner checks offline.
//!
//! A run is registered with the Merkle root over the *sorted* digests of its uploads, and with their
//! number; the receipt of that is signed by the cluster and public before anything of the run can be
//! read (I17). [`Membership`] proves presence or absence under such a root. [`Participation`] is the
//! document that a person keeps: the proof, with the [`LoggedReceipt`] that binds root and number.
//! `OVERVIEW.md` says what such a proof means and what it does not.
//!
//! Pure (I15): no clock, no file, no network.

mod document;
mod error;
mod membership;
mod receipt;

pub use document::{PARTICIPATION_SCHEMA, Participated, Participation};
pub use error::ParticipationError;
pub use membership::{MAX_BLOBS, Membership, Place};
pub use receipt::{LoggedReceipt, VerifiedReceipt};
