//! Endorsements: who vouches for which binaries and programs, until when.
//!
//! A policy names measurements; nobody can tell from a measurement what is behind it. An
//! [`Endorsement`] is a document in the log in which a key says: these files, built from this
//! source by this recipe, measure thus, and I vouch for them in this window. [`endorsed_until`] holds a
//! policy against such voices. See `OVERVIEW.md`.
//!
//! Nothing here reads a clock, a file, a network or a random source (I15).

mod coverage;
mod endorsement;
mod error;
mod manifest;
#[cfg(any(test, feature = "test-util"))]
pub mod testing;
mod voice;

pub use coverage::{NotEndorsed, Thing, endorsed_until, things};
pub use endorsement::{Binaries, Binary, Build, ENDORSEMENT_MAX, Endorsement, Part, Subject};
pub use error::EndorseError;
pub use manifest::{Change, MANIFEST_MAX, Manifest};
pub use voice::{VOICES_MAX, Voice};
