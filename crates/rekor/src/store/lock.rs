//! One server per folder.

use std::fs::{self, File, TryLockError};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::error::RekorError;

/// How often, and how long apart, a lock is tried.
const LOCK_TRIES: u32 = 150;
const LOCK_PAUSE: Duration = Duration::from_millis(20);

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
        lock(&file, dir)?;
        Ok(Self {
            _file: Some(Arc::new(file)),
        })
    }
}

/// Locks the lock file of `dir`, or says that another process has it. A process that is just ending,
/// or that has just started a child which is not yet itself, lets go within moments: they are waited
/// for.
pub(crate) fn lock(file: &File, dir: &Path) -> Result<(), RekorError> {
    let mut tries = 0;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if tries < LOCK_TRIES => {
                tries += 1;
                std::thread::sleep(LOCK_PAUSE);
            }
            Err(TryLockError::WouldBlock) => {
                return Err(RekorError::Locked(dir.display().to_string()));
            }
            Err(TryLockError::Error(e)) => {
                return Err(RekorError::io("locking the folder", dir, e));
            }
        }
    }
}
