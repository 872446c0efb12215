//! A durable object store: `object_store` plus fsync.
//!
//! A put that was answered survives `kill -9` and a power cut, file and folder (I8). See OVERVIEW.md.

mod error;
#[cfg(feature = "test-util")]
mod ruled;
mod store;
mod sweep;

pub use error::StoreError;
pub use object_store::ObjectMeta;
#[cfg(feature = "test-util")]
pub use object_store::PutPayload;
pub use object_store::path::Path;
#[cfg(feature = "test-util")]
pub use ruled::{Refusal, Rule, RuledStore};
pub use store::Store;
