//! Uploads, wrapped keys, sealed releases and checkpoints.
//!
//! Everything that is encrypted at rest or inside a message is sealed here: no other crate but
//! `session` touches an AEAD or a KEM. All functions are pure (I15): the caller passes the random
//! source. See `OVERVIEW.md` for the formats and what each one refuses.

#![deny(clippy::indexing_slicing)]

pub mod error;
mod frame;
pub mod grant;
pub mod kdf;
pub mod kem;
pub mod object;
pub mod sealed_box;
mod stream;
pub mod suite;
pub mod upload;
pub mod wrap;

pub use error::{OpenError, SealError};
pub use kem::{KemPrivate, KemPublic, derive_kem, generate_kem};
pub use suite::Suite;
pub use upload::{UploadContext, UploadHeader, open_upload, seal_upload};
