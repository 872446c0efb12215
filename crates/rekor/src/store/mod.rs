//! Where entries, the checkpoint and archived objects lie: memory or a folder.

mod folder;
mod memory;
mod record;

use std::path::{Path, PathBuf};

use siegel_ident::Digest;

use crate::error::RekorError;

pub(crate) use folder::{Folder, archived_path, open_entries, read_checkpoint, read_object};
pub(crate) use memory::Memory;
pub(crate) use record::{MAGIC, encode, scan};

/// What a log keeps its data in.
#[derive(Clone, Debug, Default)]
pub enum Storage {
    /// Gone with the process.
    #[default]
    Memory,
    /// A folder, made if it is missing: durable, and taken up again after a kill.
    Folder(PathBuf),
}

impl Storage {
    /// Storage in a folder.
    pub fn folder(path: impl AsRef<Path>) -> Self {
        Self::Folder(path.as_ref().to_owned())
    }
}

/// The few operations that a log needs of its storage. Entries are one growing byte string.
pub(crate) trait Store: Send + Sync + 'static {
    /// Length of the entries in bytes.
    fn entries_len(&self) -> Result<u64, RekorError>;
    /// Reads entries. All of the range exists, else it is an error.
    fn entries_read(&self, offset: u64, len: usize) -> Result<Vec<u8>, RekorError>;
    /// Writes at the end and makes it durable. After an error the end is unclear.
    fn entries_append(&self, bytes: &[u8]) -> Result<(), RekorError>;
    /// Drops everything from `len` on, durably.
    fn entries_truncate(&self, len: u64) -> Result<(), RekorError>;

    /// Replaces the checkpoint as a whole, durably.
    fn checkpoint_save(&self, note: &str) -> Result<(), RekorError>;
    /// The last checkpoint that was saved.
    fn checkpoint_load(&self) -> Result<Option<String>, RekorError>;

    /// Stores an object under its digest, durably; true if it is new. The caller has checked that
    /// it is the digest of the bytes.
    fn archive_put(&self, digest: &Digest, bytes: &[u8]) -> Result<bool, RekorError>;
    /// The object with this digest, as it lies there: the caller checks it.
    fn archive_get(&self, digest: &Digest) -> Result<Option<Vec<u8>>, RekorError>;
}

/// Opens a storage for a log server.
pub(crate) fn open(storage: &Storage) -> Result<Box<dyn Store>, RekorError> {
    Ok(match storage {
        Storage::Memory => Box::new(Memory::default()),
        Storage::Folder(path) => Box::new(Folder::open(path)?),
    })
}
