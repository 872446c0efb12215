//! Which files binaries are built from: those of a folder, and those of a commit.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use siegel_endorse::Manifest;
use siegel_ident::Digest;

use crate::{RecipeError, file_digest, git};

/// Files and folders that a build reads. The same list stands in `reproducible-build/build`.
pub(crate) const SOURCES: [&str; 7] = [
    "Cargo.toml",
    "Cargo.lock",
    "rust-toolchain.toml",
    "crates",
    "proto",
    "reproducible-build/recipe.toml",
    "reproducible-build/build",
];
const REGULAR: &str = "is a link or no regular file: source is regular files only";
const NAME: &str = "has a name outside A-Z a-z 0-9 . _ / + -";

/// The checkout that holds the running executable, else the one around the current folder.
pub fn checkout() -> Option<PathBuf> {
    let executable = std::env::current_exe().ok();
    let here = std::env::current_dir().ok();
    let starts = [executable.as_deref(), here.as_deref()];
    starts.into_iter().flatten().find_map(checkout_of)
}

/// The checkout around a path.
pub fn checkout_of(path: &Path) -> Option<PathBuf> {
    let is_checkout = |dir: &&Path| {
        dir.join("Cargo.lock").is_file() && dir.join("crates/kms/Cargo.toml").is_file()
    };
    path.ancestors().find(is_checkout).map(Path::to_path_buf)
}

/// The manifest of a folder as it stands. Nothing under `crates` and `proto` is left out: what lies
/// there can be compiled in.
///
/// # Errors
/// [`RecipeError::Source`] for a symbolic link, another special file, an odd name, or a missing one.
pub fn of_tree(checkout: &Path) -> Result<Manifest, RecipeError> {
    let mut files = BTreeMap::new();
    // A link here would bring in a whole folder from elsewhere.
    let parent = checkout.join("reproducible-build");
    if parent.is_symlink() {
        return Err(refuse("reproducible-build", REGULAR));
    }
    for source in SOURCES {
        collect(checkout, source, &mut files)?;
    }
    Ok(Manifest::new(files)?)
}

fn collect(
    checkout: &Path,
    path: &str,
    files: &mut BTreeMap<String, Digest>,
) -> Result<(), RecipeError> {
    let full = checkout.join(path);
    let kind = match full.symlink_metadata() {
        Ok(metadata) => metadata.file_type(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(refuse(path, "is missing"));
        }
        Err(error) => return Err(RecipeError::io(&full)(error)),
    };
    if kind.is_dir() {
        for entry in std::fs::read_dir(&full).map_err(RecipeError::io(&full))? {
            let name = entry.map_err(RecipeError::io(&full))?.file_name();
            let Some(name) = name.to_str() else {
                return Err(refuse(&format!("{path}/{}", name.to_string_lossy()), NAME));
            };
            collect(checkout, &format!("{path}/{name}"), files)?;
        }
        return Ok(());
    }
    if !is_plain(path) {
        return Err(refuse(path, NAME));
    }
    if !kind.is_file() {
        return Err(refuse(path, REGULAR));
    }
    files.insert(path.to_owned(), file_digest(&full)?);
    Ok(())
}

/// The manifest of a commit, without touching the working tree.
///
/// # Errors
/// As [`of_tree`]; [`RecipeError::Git`] if the commit is not there.
pub fn of_commit(checkout: &Path, commit: &str) -> Result<Manifest, RecipeError> {
    let mut files = BTreeMap::new();
    let entries = git::list(checkout, commit, &SOURCES)?;
    for source in SOURCES {
        let below = format!("{source}/");
        let has = |entry: &git::Entry| entry.path == source || entry.path.starts_with(&below);
        if !entries.iter().any(has) {
            return Err(refuse(source, "is missing from the commit"));
        }
    }
    for entry in &entries {
        if !is_plain(&entry.path) {
            return Err(refuse(&entry.path, NAME));
        }
        if !entry.regular {
            return Err(refuse(&entry.path, REGULAR));
        }
    }
    let digests = git::digests(checkout, &entries)?;
    for (entry, digest) in entries.into_iter().zip(digests) {
        files.insert(entry.path, digest);
    }
    Ok(Manifest::new(files)?)
}

fn is_plain(path: &str) -> bool {
    path.bytes()
        .all(|b| b.is_ascii_alphanumeric() || b"._/+-".contains(&b))
}

fn refuse(path: &str, problem: &'static str) -> RecipeError {
    // Shown to people: no control characters of an odd name.
    let path = path.escape_debug().to_string();
    RecipeError::Source { path, problem }
}
