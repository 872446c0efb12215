//! Which source a build is of.

use std::path::{Path, PathBuf};

use siegel_ident::{Digest, Transcript};

use super::{BinariesError, file_digest, io};

/// The checkout that holds the executable, else the one around the current folder.
pub fn checkout(executable: &Path) -> Option<PathBuf> {
    let here = std::env::current_dir().ok();
    let is_checkout = |dir: &&Path| {
        dir.join("Cargo.lock").is_file() && dir.join("crates/kms/Cargo.toml").is_file()
    };
    let starts = [Some(executable), here.as_deref()];
    starts
        .into_iter()
        .flatten()
        .find_map(|start| start.ancestors().find(is_checkout))
        .map(Path::to_path_buf)
}

/// Digest over all that a node binary is built from: the manifests, the lock file, the toolchain,
/// and every file under `crates` and `proto` but Markdown. Names and contents, in byte order.
pub fn source_digest(checkout: &Path) -> Result<Digest, BinariesError> {
    let mut files: Vec<PathBuf> = ["Cargo.toml", "Cargo.lock", "rust-toolchain.toml"]
        .map(PathBuf::from)
        .into();
    for folder in ["crates", "proto"] {
        collect(checkout, Path::new(folder), &mut files)?;
    }
    files.sort();
    let mut transcript = Transcript::new("siegel/source/v1");
    for file in &files {
        let content = file_digest(&checkout.join(file))?;
        let name = file.as_os_str().as_encoded_bytes();
        transcript = transcript.field(name).field(content.as_bytes());
    }
    Ok(transcript.digest())
}

fn collect(base: &Path, folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), BinariesError> {
    let full = base.join(folder);
    for entry in std::fs::read_dir(&full).map_err(io(&full))? {
        let entry = entry.map_err(io(&full))?;
        let name = entry.file_name();
        // Editors' files, and documents: they do not change a binary.
        let skip =
            name.as_encoded_bytes().starts_with(b".") || name.as_encoded_bytes().ends_with(b".md");
        let path = folder.join(&name);
        let kind = entry.file_type().map_err(io(&full))?;
        if kind.is_dir() && !skip {
            collect(base, &path, files)?;
        } else if kind.is_file() && !skip {
            files.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    // Catches a file that is left out of the digest: stale binaries would be run.
    #[test]
    fn every_source_file_counts_and_documents_do_not() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for folder in ["crates/kms/src", "proto"] {
            std::fs::create_dir_all(at(folder)).unwrap();
        }
        let sources = [
            "Cargo.toml",
            "Cargo.lock",
            "rust-toolchain.toml",
            "crates/kms/Cargo.toml",
            "crates/kms/src/main.rs",
            "proto/a.proto",
        ];
        for name in sources {
            std::fs::write(at(name), name).unwrap();
        }
        std::fs::write(at("crates/kms/README.md"), "x").unwrap();
        let digest = || source_digest(dir.path()).unwrap();
        let before = digest();
        for name in sources {
            std::fs::write(at(name), "changed").unwrap();
            assert_ne!(digest(), before, "{name}");
            std::fs::write(at(name), name).unwrap();
        }
        std::fs::write(at("crates/kms/README.md"), "y").unwrap();
        assert_eq!(digest(), before);
        std::fs::rename(at("proto/a.proto"), at("proto/b.proto")).unwrap();
        assert_ne!(digest(), before);
        assert_eq!(
            checkout(&at("target/release/siegel")).as_deref(),
            Some(dir.path())
        );
    }
}
