//! Takes, stores and serves opaque objects by digest.
//!
//! The depot is not trusted: everything in it is sealed or public, and whoever reads checks the
//! digest. What it owes is durability: an answered put survives `kill -9` and a power cut (I8).
//! See OVERVIEW.md.

mod committer;
pub mod depot;
pub mod error;
#[cfg(feature = "test-util")]
pub mod full;
pub mod index;
pub mod kind;
pub mod reading;
pub mod segment;
pub mod service;
pub mod store;

pub use depot::{Depot, Limits, PutOutcome};
pub use error::DepotError;
#[cfg(feature = "test-util")]
pub use full::StoreFull;
pub use kind::Kind;
pub use segment::SegmentError;
pub use service::serve;
pub use store::Store;
