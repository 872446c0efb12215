//! The key service: Raft node, shell and services.
//!
//! [`node`] is pure: it decides, the shell around it moves bytes. A process is *unfounded* until the
//! founder's message (or its own founding) makes it a *member*; from then on every release of a key
//! goes through the replicated log (I9). See `OVERVIEW.md`.

mod admission;
mod bundle;
mod cluster;
mod convert;
mod courier;
mod directory;
mod error;
mod founding;
mod grants;
mod joining;
mod links;
mod machine;
mod member;
pub mod node;
mod peers;
mod receipts;
mod refusal;
mod releases;
mod replica;
mod serve;
mod welcome;
mod workload;

pub use error::KmsError;
pub use serve::serve;
