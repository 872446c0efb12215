//! A durable object store: `object_store` plus fsync.
//!
//! A put that was answered survives `kill -9` and a power cut, file and folder (I8). See OVERVIEW.md.

mod error;
#[cfg(feature = "test-util")]
mod full;
mod store;
mod sweep;

pub use error::StoreError;
#[cfg(feature = "test-util")]
pub use full::{Refusal, StoreFull};
pub use object_store::ObjectMeta;
pub use object_store::path::Path;
pub use store::Store;
