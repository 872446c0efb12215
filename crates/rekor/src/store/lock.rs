//! One server per folder.

use std::fs::{self, File, TryLockError};
use std::path::Path;
use std::sync::Arc;

use crate::error::RekorError;

/// Held as long as one of its clones; the system frees it when the process dies.
#[derive(Clone, Debug)]
pub(crate) struct Lock {
    _file: Option<Arc<File>>,
}

impl Lock {
    /// Of what nobody else can reach.
    pub(crate) fn none() -> Self {
        Self { _file: None }
    }

    /// Makes the folder and takes its lock.
    pub(crate) fn take(dir: &Path) -> Result<Self, RekorError> {
        let failed = |e| RekorError::io("opening the log folder", dir, e);
        fs::create_dir_all(dir).map_err(failed)?;
        let file = File::create(dir.join("lock")).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => Ok(Self {
                _file: Some(Arc::new(file)),
            }),
            Err(TryLockError::WouldBlock) => Err(RekorError::Locked(dir.display().to_string())),
            Err(TryLockError::Error(e)) => Err(failed(e)),
        }
    }
}
