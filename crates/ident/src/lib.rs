//! Digests, ids, epochs, budgets, times, and the one transcript.
//!
//! Everything here is a value. Nothing reads a clock, a file or a random source (I15).

pub mod budget;
pub mod digest;
pub mod hex_serde;
pub mod id;
pub mod json;
pub mod lp;
pub mod padme;
pub mod secret;
pub mod time;
pub mod transcript;
pub mod witness;

pub use budget::{Budget, BudgetError, Delta, NanoRho};
pub use digest::{
    BlobDigest, ClusterId, ConfigDigest, Digest, GenesisDigest, InputRoot, KeyDigest, Measurement,
    ObjectDigest, PolicyDigest, ProgramDigest, ReceiptDigest,
};
pub use id::{BlobId, EpochId, Fencing, NodeId, PrivacyId, RequestId, RunId, Step};
pub use padme::padme;
pub use secret::{Secret, SecretBytes};
pub use time::{Seconds, Timestamp};
pub use transcript::Transcript;
pub use witness::{NamedKey, QuorumError, WitnessQuorum};
