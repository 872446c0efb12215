//! Takes, stores and serves opaque objects by digest.
//!
//! The depot is not trusted: everything in it is sealed or public, and whoever reads checks the
//! digest. What it owes is durability: an answered put survives `kill -9` and a power cut (I8).
//! See OVERVIEW.md.

mod committer;
pub mod depot;
pub mod error;
pub mod index;
pub mod kind;
pub mod reading;
pub mod segment;
pub mod service;

pub use depot::{Depot, Limits, PutOutcome};
pub use error::DepotError;
pub use kind::Kind;
pub use segment::SegmentError;
pub use service::serve;
pub use siegel_store::Store;
