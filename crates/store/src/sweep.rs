//! What a killed process left behind in a folder.

use std::fs;
use std::io;
use std::path::Path;

/// Removes what was being written, `NAME#N`: never linked or renamed to its own name, never listed,
/// never acknowledged; no object can have such a name. Nothing else is removed.
///
/// Syncs the folders: a process that was killed between a rename and its sync has left an object
/// that is seen, and so may be relied on, but is not on the disk yet (I8).
pub(crate) fn sweep(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sweep(&entry.path())?;
        } else if is_leftover(&entry.file_name().to_string_lossy()) {
            fs::remove_file(entry.path())?;
        }
    }
    sync_folder(folder)
}

/// Makes the names in a folder durable.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    fs::File::open(path)?.sync_all()
}

fn is_leftover(name: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    name.split_once('#').is_some_and(|(_, n)| digits(n))
}
