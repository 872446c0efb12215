//! The client of the key service.
//!
//! Two kinds of caller, two doors. An untrusted [`Courier`] (the command line, clients) uses the
//! public RPCs, where nothing is secret but the data key of a logged release. A measured workload
//! uses [`WorkloadKms`]: attested sessions, and grants sealed to its per-boot key. Both find the
//! leader themselves, repeat a request under the same id, and say within seconds when no quorum
//! answers. See `OVERVIEW.md`.

#![deny(clippy::indexing_slicing)]

mod boot;
mod convert;
mod courier;
mod error;
#[cfg(feature = "test-util")]
pub mod fake;
mod grant;
mod lease;
mod nodes;
mod retry;
mod workload;

pub use boot::BootKeys;
pub use courier::{Courier, EndorsementProof, NodeRole, NodeStatus, SignedReceipt, StapledBundle};
pub use error::KeysError;
pub use grant::{RootGrant, WorkerGrant};
pub use lease::Lease;
pub use nodes::KmsNode;
pub use retry::Patience;
pub use workload::{CommitStep, RegisterRun, WorkloadKms};

use siegel_ident::RequestId;

/// A fresh id for one request. Keep it while the outcome is unknown: asking again under the same
/// id does the same thing once (I6).
pub fn request_id(rng: &mut impl rand_core::CryptoRng) -> RequestId {
    let mut bytes = [0u8; 16];
    rng.fill_bytes(&mut bytes);
    RequestId::from_bytes(bytes)
}
