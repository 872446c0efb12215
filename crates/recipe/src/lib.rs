//! How the measured binaries are built, and where built ones are found.
//!
//! A [`Recipe`] fixes toolchain, flags and features; [`of_tree`] and [`of_commit`] list the source
//! they are applied to; [`run`] builds by the script `reproducible-build/build`; a [`Record`] beside
//! the binaries says what they are. [`find`] is what `siegel simulate` and the tests ask for
//! binaries. Nothing here is linked into a measured binary. See `OVERVIEW.md`.

mod build;
mod dev;
mod error;
mod find;
mod git;
mod recipe;
mod record;
mod source;
mod tools;

pub use build::{Progress, Script, run};
pub use error::RecipeError;
pub use find::{BuildProfile, NodeBinaries, Origin, Request, find};
pub use git::{TreeState, tree_state};
pub use recipe::{RECIPE_FILE, Recipe};
pub use record::{RECORD_FILE, Record, SOURCE_FILE};
pub use source::{checkout, checkout_of, of_commit, of_tree};

/// The measured binaries, in build order.
pub const NODES: [&str; 3] = ["siegel-kms", "siegel-root", "siegel-worker"];

use std::path::Path;

use siegel_ident::Digest;

fn file_digest(path: &Path) -> Result<Digest, RecipeError> {
    let bytes = std::fs::read(path).map_err(RecipeError::io(path))?;
    Ok(Digest::of(&bytes))
}

/// Writes a file whole or not at all.
fn write(path: &Path, bytes: &[u8]) -> Result<(), RecipeError> {
    let mut staged = path.as_os_str().to_owned();
    staged.push(".new");
    std::fs::write(&staged, bytes).map_err(RecipeError::io(path))?;
    std::fs::rename(&staged, path).map_err(RecipeError::io(path))
}
