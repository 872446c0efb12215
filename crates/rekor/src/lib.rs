//! The embedded transparency log, its archive, and the client of both.
//!
//! The log speaks the part of the Rekor v2 API that policy proofs need; the archive beside it keeps
//! the bytes that the log holds only as digests. `OVERVIEW.md` has the picture and the failure
//! table. A shell: it owns files, sockets and keys; what is true about a log is decided in
//! `siegel-translog`.

mod archive;
mod certificate;
mod client;
mod cosign;
mod cosigner;
mod error;
mod io;
mod keyed;
mod known;
mod log;
mod log_key;
mod mirror;
mod pem;
mod publish;
mod recover;
mod server;
mod signer;
mod store;
#[cfg(any(test, feature = "test-util"))]
pub mod testing;
mod trusted_root;
mod tsa;
mod witness;
mod writer;

pub use archive::{PackDirectory, PackEntry, PackError};
pub use certificate::{certificate_key, certificate_of_pem};
pub use client::{FolderLog, LogClient, LogReader};
pub use cosign::{WitnessAt, Witnesses};
pub use cosigner::{CosignRequest, Cosigner};
pub use error::RekorError;
pub use log::Log;
pub use log_key::LogKey;
pub use mirror::{Followed, Mirror, Mirroring, Names, serve_mirror};
pub use server::{Listening, Services, TlsFileError, TlsIdentity, serve};
pub use signer::{PolicySigner, public_key_of, read_public_key};
pub use store::{Storage, log_in};
pub use trusted_root::{RootFile, trusted_root, write_trusted_root};
pub use tsa::TimestampAuthority;
pub use witness::{Now, Witness, WitnessLog, Witnessing, serve_witness};

/// Largest object of the archive, in bytes.
pub const MAX_ARCHIVED: usize = 1024 * 1024;
/// Largest body of a request to add an entry, in bytes: Rekor's bound. A request of ours has about
/// 600, one with a certificate about 2,000.
pub const MAX_REQUEST: usize = 4 * 1024 * 1024;

#[cfg(test)]
mod tests;
