//! The list of source files.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use siegel_ident::{Digest, json};

use crate::EndorseError;

/// Longest manifest, in bytes: about 8,000 files.
pub const MANIFEST_MAX: usize = 1 << 20;

/// Which files binaries were built from: path to SHA-256. Its SHA-256 is the *source digest*; its
/// bytes are in the archive, so that anyone can say which file differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    schema: String,
    /// Path from the checkout's root, with `/`, to the digest of the content.
    pub files: BTreeMap<String, Digest>,
}

/// How a file differs between two manifests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Other content.
    Changed,
    /// Only in the other manifest.
    Added,
    /// Only in this one.
    Removed,
}

impl Manifest {
    /// The value of `schema`.
    pub const SCHEMA: &'static str = "siegel/source/v1";

    /// A manifest of these files.
    ///
    /// # Errors
    /// [`EndorseError::Field`] for a path that is not plain.
    pub fn new(files: BTreeMap<String, Digest>) -> Result<Self, EndorseError> {
        let schema = Self::SCHEMA.to_owned();
        let manifest = Self { schema, files };
        manifest.check()?;
        Ok(manifest)
    }

    /// Reads exactly the canonical bytes.
    ///
    /// # Errors
    /// [`EndorseError`].
    pub fn parse(bytes: &[u8]) -> Result<Self, EndorseError> {
        let document = Self::SCHEMA;
        let manifest: Self = json::from_canonical(bytes, MANIFEST_MAX)
            .map_err(|source| EndorseError::Json { document, source })?;
        manifest.check()?;
        Ok(manifest)
    }

    /// The canonical bytes.
    ///
    /// # Errors
    /// [`EndorseError::Json`] for a manifest beyond [`MANIFEST_MAX`].
    pub fn to_bytes(&self) -> Result<Vec<u8>, EndorseError> {
        let document = Self::SCHEMA;
        let bytes =
            json::to_canonical(self).map_err(|source| EndorseError::Json { document, source })?;
        Self::parse(&bytes)?;
        Ok(bytes)
    }

    /// The source digest: SHA-256 of the canonical bytes.
    ///
    /// # Errors
    /// As [`Self::to_bytes`].
    pub fn digest(&self) -> Result<Digest, EndorseError> {
        Ok(Digest::of(&self.to_bytes()?))
    }

    /// What became of each file from this manifest to `other`, by path; equal files are left out.
    pub fn changes<'a>(&'a self, other: &'a Self) -> BTreeMap<&'a str, Change> {
        let mut changes = BTreeMap::new();
        for (path, digest) in &self.files {
            match other.files.get(path) {
                Some(there) if there == digest => {}
                Some(_) => drop(changes.insert(path.as_str(), Change::Changed)),
                None => drop(changes.insert(path.as_str(), Change::Removed)),
            }
        }
        for path in other.files.keys() {
            if !self.files.contains_key(path) {
                changes.insert(path, Change::Added);
            }
        }
        changes
    }

    fn check(&self) -> Result<(), EndorseError> {
        if self.schema != Self::SCHEMA {
            return Err(EndorseError::Schema {
                expected: Self::SCHEMA,
                found: self.schema.chars().take(80).collect(),
            });
        }
        if self.files.keys().all(|path| is_plain(path)) {
            return Ok(());
        }
        Err(EndorseError::Field {
            field: "files",
            problem: "must be plain relative paths of A-Z, a-z, 0-9, . _ - + /",
        })
    }
}

/// A path that means the same to every shell and file system, and leads nowhere else.
fn is_plain(path: &str) -> bool {
    let good = |b: u8| b.is_ascii_alphanumeric() || b"._-+".contains(&b);
    let part =
        |part: &str| !part.is_empty() && part != "." && part != ".." && part.bytes().all(good);
    path.len() <= 512 && path.split('/').all(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(files: &[(&str, &str)]) -> Manifest {
        let entry = |(path, text): &(&str, &str)| ((*path).to_owned(), Digest::of(text.as_bytes()));
        Manifest::new(files.iter().map(entry).collect()).unwrap()
    }

    // Catches a difference that is not named, or named wrongly.
    #[test]
    fn every_difference_is_named() {
        let old = manifest(&[("Cargo.toml", "a"), ("crates/a.rs", "a"), ("gone", "a")]);
        let new = manifest(&[("Cargo.toml", "a"), ("crates/a.rs", "b"), ("new", "a")]);
        let expected = [
            ("crates/a.rs", Change::Changed),
            ("gone", Change::Removed),
            ("new", Change::Added),
        ];
        assert_eq!(old.changes(&new), expected.into());
        assert!(old.changes(&old).is_empty());
    }

    // I2, I14: one manifest has one spelling; a path cannot lead out of the checkout.
    #[test]
    fn i14_only_plain_paths_and_canonical_bytes() {
        let good = manifest(&[("crates/a-b/src/x_1.rs", "a")]);
        let bytes = good.to_bytes().unwrap();
        assert_eq!(Manifest::parse(&bytes).unwrap(), good);
        assert_eq!(good.digest().unwrap(), Digest::of(&bytes));
        assert!(Manifest::parse(&[&bytes[..], b"\n"].concat()).is_err());
        let other = String::from_utf8(bytes)
            .unwrap()
            .replace("source/v1", "source/v2");
        assert!(matches!(
            Manifest::parse(other.as_bytes()),
            Err(EndorseError::Schema { .. })
        ));
        for path in [
            "",
            "/etc/passwd",
            "../x",
            "a/../b",
            "a//b",
            "a b",
            "a\\b",
            "a\n",
            "./a",
        ] {
            let files = BTreeMap::from([(path.to_owned(), Digest::of(b""))]);
            assert!(Manifest::new(files).is_err(), "{path:?}");
        }
    }
}
