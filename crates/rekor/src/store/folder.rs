//! Storage in a folder that outlives a `kill -9` (I8).
//!
//! ```text
//! lock            held while a server runs; the system frees it when the process dies
//! entries         appended and fsynced, see record.rs
//! checkpoint      the last signed note, replaced by rename
//! archive/ab/…    objects by SHA-256, written to a temporary name, fsynced, renamed
//! ```

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use siegel_ident::Digest;

use super::{MAGIC, Store};
use crate::MAX_ARCHIVED;
use crate::error::RekorError;

/// How names begin that nobody reads.
const TEMPORARY: &str = "tmp-";

/// An open, locked log folder.
pub(crate) struct Folder {
    dir: PathBuf,
    entries: File,
    entries_path: PathBuf,
    /// Held while a folder of the archive is made and synced: whoever finds it there relies on it.
    shelves: Mutex<()>,
    /// Distinguishes temporary names within this process.
    temporary: AtomicU64,
    _lock: File,
}

impl Folder {
    /// Opens or makes the folder and takes its lock.
    pub(crate) fn open(dir: &Path) -> Result<Self, RekorError> {
        let failed = |e| RekorError::io("opening the log folder", dir, e);
        fs::create_dir_all(dir.join("archive")).map_err(failed)?;
        let lock = File::create(dir.join("lock")).map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(RekorError::Locked(dir.display().to_string()));
            }
            Err(TryLockError::Error(e)) => return Err(failed(e)),
        }
        let entries_path = dir.join("entries");
        let entries = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .open(&entries_path)
            .map_err(failed)?;
        // A killed process may have made folders of the archive that are not on the disk yet.
        remove_leftovers(dir)
            .and_then(|()| sync_dir(&dir.join("archive")))
            .and_then(|()| sync_dir(dir))
            .map_err(failed)?;
        let temporary = AtomicU64::new(0);
        Ok(Self {
            dir: dir.to_owned(),
            entries,
            entries_path,
            shelves: Mutex::default(),
            temporary,
            _lock: lock,
        })
    }

    /// Writes a file under a name nobody reads, then renames it: readers see all or nothing.
    fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let count = self.temporary.fetch_add(1, Ordering::Relaxed);
        let temporary = self
            .dir
            .join(format!("{TEMPORARY}{}-{count}", std::process::id()));
        let written = File::create(&temporary)
            .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
            .and_then(|()| fs::rename(&temporary, path));
        if written.is_err() {
            // Best effort: a leftover is harmless, the error above is what counts.
            let _ = fs::remove_file(&temporary);
        }
        written?;
        sync_dir(path.parent().unwrap_or(&self.dir))
    }
}

impl Store for Folder {
    fn entries_len(&self) -> Result<u64, RekorError> {
        let found = self.entries.metadata();
        Ok(found
            .map_err(|e| RekorError::io("reading entries", &self.entries_path, e))?
            .len())
    }

    fn entries_read(&self, offset: u64, len: usize) -> Result<Vec<u8>, RekorError> {
        let mut bytes = vec![0; len];
        self.entries
            .read_exact_at(&mut bytes, offset)
            .map_err(|e| RekorError::io("reading entries", &self.entries_path, e))?;
        Ok(bytes)
    }

    fn entries_append(&self, bytes: &[u8]) -> Result<(), RekorError> {
        (&self.entries)
            .write_all(bytes)
            .and_then(|()| self.entries.sync_data())
            .map_err(|e| RekorError::io("log entries", &self.entries_path, e))
    }

    fn entries_truncate(&self, len: u64) -> Result<(), RekorError> {
        self.entries
            .set_len(len)
            .and_then(|()| self.entries.sync_all())
            .map_err(|e| RekorError::io("truncating entries", &self.entries_path, e))
    }

    fn checkpoint_save(&self, note: &str) -> Result<(), RekorError> {
        let path = self.dir.join("checkpoint");
        self.replace(&path, note.as_bytes())
            .map_err(|e| RekorError::io("checkpoint", &path, e))
    }

    fn checkpoint_load(&self) -> Result<Option<String>, RekorError> {
        read_checkpoint(&self.dir)
    }

    fn archive_put(&self, digest: &Digest, bytes: &[u8]) -> Result<bool, RekorError> {
        let path = archived_path(&self.dir, digest);
        let failed = |e| RekorError::io("archive object", &path, e);
        // A rotten object is replaced, a good one is left alone.
        if read_object(&path)?.is_some_and(|old| old == bytes) {
            // Whoever put it there may not have got as far as the sync.
            sync_dir(path.parent().unwrap_or(&self.dir)).map_err(failed)?;
            return Ok(false);
        }
        if let Some(parent) = path.parent() {
            let _shelf = self.shelves.lock().unwrap_or_else(PoisonError::into_inner);
            match fs::create_dir(parent) {
                Ok(()) => sync_dir(&self.dir.join("archive")).map_err(failed)?,
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(failed(e)),
            }
        }
        self.replace(&path, bytes).map_err(failed)?;
        Ok(true)
    }

    fn archive_get(&self, digest: &Digest) -> Result<Option<Vec<u8>>, RekorError> {
        read_object(&archived_path(&self.dir, digest))
    }
}

/// Where an object lies in the folder of a log.
pub(crate) fn archived_path(dir: &Path, digest: &Digest) -> PathBuf {
    let name = digest.to_string();
    dir.join("archive")
        .join(name.get(..2).unwrap_or_default())
        .join(&name)
}

/// The checkpoint of a log folder; also for readers without the lock.
pub(crate) fn read_checkpoint(dir: &Path) -> Result<Option<String>, RekorError> {
    let path = dir.join("checkpoint");
    let Some(bytes) = read_bounded(&path, siegel_translog::checkpoint::MAX_NOTE)? else {
        return Ok(None);
    };
    String::from_utf8(bytes)
        .map(Some)
        .map_err(|_| RekorError::Damaged(format!("{} is not text", path.display())))
}

/// An archived object; also for readers without the lock.
pub(crate) fn read_object(path: &Path) -> Result<Option<Vec<u8>>, RekorError> {
    read_bounded(path, MAX_ARCHIVED)
}

/// All of the entry file; also for readers without the lock.
pub(crate) fn open_entries(dir: &Path) -> Result<File, RekorError> {
    let path = dir.join("entries");
    let mut file = File::open(&path).map_err(|e| match e.kind() {
        io::ErrorKind::NotFound => RekorError::Damaged(format!("{} is missing", path.display())),
        _ => RekorError::io("reading entries", &path, e),
    })?;
    let mut magic = vec![0; MAGIC.len()];
    match file.read_exact(&mut magic) {
        Ok(()) if magic == MAGIC => Ok(file),
        _ => Err(RekorError::Damaged(format!(
            "{} is not a log's entry file",
            path.display()
        ))),
    }
}

fn read_bounded(path: &Path, max: usize) -> Result<Option<Vec<u8>>, RekorError> {
    let failed = |e| RekorError::io("reading", path, e);
    let file = match File::open(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other.map_err(failed)?,
    };
    let mut bytes = Vec::new();
    file.take(max as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    if bytes.len() > max {
        return Err(RekorError::Damaged(format!(
            "{} is longer than {max} bytes",
            path.display()
        )));
    }
    Ok(Some(bytes))
}

/// Removes what a killed process was writing; the lock says that nobody else is.
fn remove_leftovers(dir: &Path) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(TEMPORARY) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}
