//! The border to the file system: the four acts that a quote needs.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read as _, Result, Write as _};
use std::path::Path;

/// Production has one of these, [`Configfs`]. A plain folder does not do what the kernel does when
/// an entry is made or written, so the tests wrap `Configfs` and add that.
pub(super) trait ReportFolder: Send + Sync {
    /// Makes an entry. One that exists already is an error.
    fn make(&self, entry: &Path) -> Result<()>;
    /// Writes to an attribute and closes it; returns how many bytes were taken.
    fn write(&self, attribute: &Path, bytes: &[u8]) -> Result<usize>;
    /// Reads at most `limit + 1` bytes of an attribute: one too many tells that it is too long.
    fn read(&self, attribute: &Path, limit: usize) -> Result<Vec<u8>>;
    /// Removes an entry.
    fn remove(&self, entry: &Path) -> Result<()>;
}

/// The kernel's own.
pub(super) struct Configfs;

impl ReportFolder for Configfs {
    fn make(&self, entry: &Path) -> Result<()> {
        fs::create_dir(entry)
    }

    fn write(&self, attribute: &Path, bytes: &[u8]) -> Result<usize> {
        // Never creates: an attribute that the kernel did not make would swallow the report data.
        let mut file = OpenOptions::new().write(true).open(attribute)?;
        loop {
            match file.write(bytes) {
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                other => return other,
            }
        }
    }

    fn read(&self, attribute: &Path, limit: usize) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        File::open(attribute)?
            .take(limit as u64 + 1)
            .read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn remove(&self, entry: &Path) -> Result<()> {
        // Attributes are no files of their own: the folder goes with them.
        fs::remove_dir(entry)
    }
}
