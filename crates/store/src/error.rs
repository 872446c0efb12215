//! What can go wrong with a store.

use std::sync::Arc;

/// An error of a store. After a failed put the object is as it was before, or, where only the last
/// sync failed, as it was put: nobody may rely on either.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// ENOSPC or a quota.
    #[error("the store is full: free some space and try again")]
    Full,
    /// An object that is longer than its reader allows.
    #[error("{path:?} in the store is longer than the {max} bytes allowed")]
    TooLong {
        /// Which object.
        path: String,
        /// The bound in bytes.
        max: u64,
    },
    /// A pipe, device or folder in the place of a file: reading it might never end.
    #[error("{0:?} in the store is no regular file")]
    NotAFile(String),
    /// A store URL or folder that cannot be used.
    #[error("store URL {url:?}: {why}")]
    Url {
        /// As given.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// Any other trouble.
    #[error("the store failed: {0}")]
    Failed(#[source] Arc<object_store::Error>),
}

impl From<object_store::Error> for StoreError {
    fn from(error: object_store::Error) -> Self {
        let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&error);
        while let Some(e) = cause {
            if let Some(io) = e.downcast_ref::<std::io::Error>()
                && matches!(
                    io.kind(),
                    std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded
                )
            {
                return Self::Full;
            }
            cause = e.source();
        }
        Self::Failed(Arc::new(error))
    }
}
