//! Where a log lies: memory or a folder, and what is where in it.
//!
//! ```text
//! lock                            held while a server runs; the system frees it when the process dies
//! checkpoint                      the last signed note, replaced as a whole
//! tile/<L>/<N>[.p/<W>]            hash tiles     } written once, before the first checkpoint that
//! tile/entries/<N>[.p/<W>]        entry bundles  } covers them
//! archive/<SHA-256>               packs of archived objects, see archive/pack.rs
//! ```

mod lock;

use std::path::{Path as FilePath, PathBuf};

use siegel_store::{Path, Store};
use siegel_translog::TilePath;
use siegel_translog::checkpoint::MAX_NOTE;

use crate::error::RekorError;

pub(crate) use lock::{Lock, lock};

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
    pub fn folder(path: impl AsRef<FilePath>) -> Self {
        Self::Folder(path.as_ref().to_owned())
    }

    /// Opens it for a log server, which is the only one.
    pub(crate) fn open(&self) -> Result<(Store, Lock), RekorError> {
        match self {
            Self::Memory => Ok((Store::memory(), Lock::none())),
            Self::Folder(path) => {
                let lock = Lock::take(path)?;
                refuse_old_format(path)?;
                let store = Store::folder(path).map_err(RekorError::store("the log folder"))?;
                Ok((store, lock))
            }
        }
    }
}

/// The name of the log whose folder this is, as the first line of its checkpoint says; `None` if
/// nothing was logged in it yet. For whoever has no key to open it with: nothing is verified, made or
/// changed.
///
/// # Errors
/// [`RekorError::OldFormat`]; [`RekorError::Damaged`] for tiles without a checkpoint, or one that is no
/// text; [`RekorError::Io`].
pub fn log_in(dir: &FilePath) -> Result<Option<String>, RekorError> {
    refuse_old_format(dir)?;
    let path = dir.join("checkpoint");
    let note = match std::fs::read(&path) {
        Ok(note) => note,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            return match dir.join("tile").exists() {
                true => Err(without_checkpoint()),
                false => Ok(None),
            };
        }
        Err(e) => return Err(RekorError::io("reading the checkpoint", &path, e)),
    };
    let first = note.split(|byte| *byte == b'\n').next();
    let name = std::str::from_utf8(first.unwrap_or_default()).map(str::to_owned);
    let damaged = |_| RekorError::Damaged(format!("{} is not text", path.display()));
    name.map(Some).map_err(damaged)
}

/// Without a checkpoint nothing was promised, and what is there is nobody's to go on with.
pub(crate) fn without_checkpoint() -> RekorError {
    let why = "there are tiles but no checkpoint: restore the file `checkpoint`";
    RekorError::Damaged(why.to_owned())
}

/// Earlier versions kept all entries in one file.
pub(crate) fn refuse_old_format(dir: &FilePath) -> Result<(), RekorError> {
    match dir.join("entries").symlink_metadata() {
        Ok(_) => Err(RekorError::OldFormat(dir.display().to_string())),
        Err(_) => Ok(()),
    }
}

/// Where the checkpoint is.
pub(crate) fn checkpoint_path() -> Path {
    Path::from("checkpoint")
}

/// The checkpoint that witnesses were last asked to cosign. It is durable before they see it: what they
/// have cosigned is what this log goes on from, or its own witnesses would take it for two logs.
pub(crate) fn pending_path() -> Path {
    Path::from("pending")
}

/// Where a tile is.
pub(crate) fn tile_path(tile: &TilePath) -> Path {
    Path::from(format!("tile/{tile}"))
}

/// The checkpoint as it lies there; `None` if there is none.
pub(crate) async fn read_checkpoint(store: &Store) -> Result<Option<String>, RekorError> {
    read_note(store, &checkpoint_path()).await
}

/// The checkpoint that was last shown to witnesses; `None` if there was none.
pub(crate) async fn read_pending(store: &Store) -> Result<Option<String>, RekorError> {
    read_note(store, &pending_path()).await
}

async fn read_note(store: &Store, path: &Path) -> Result<Option<String>, RekorError> {
    let found = store
        .get_at_most(path, MAX_NOTE as u64)
        .await
        .map_err(RekorError::store("a note of the log"))?;
    let text = |bytes: bytes::Bytes| String::from_utf8(bytes.into());
    let damaged = |_| RekorError::Damaged(format!("the file `{path}` is not text"));
    found.map(text).transpose().map_err(damaged)
}
