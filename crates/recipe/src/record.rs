//! The note beside built binaries: what they are and what they were built from.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use siegel_attest::Profile;
use siegel_endorse::Build;
use siegel_ident::{Digest, json};

use crate::{NODES, RecipeError, file_digest, write};

/// Its file name.
pub const RECORD_FILE: &str = "siegel-build.json";
/// The source manifest beside it.
pub const SOURCE_FILE: &str = "source.json";
const RECORD_MAX: usize = 64 * 1024;

/// Canonical JSON, `siegel/build/v1`. It holds only for files that fit it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    schema: String,
    /// With the simulator or without it (I11).
    pub flavour: Profile,
    /// SHA-256 by file name. A package lists the command `siegel` too.
    pub binaries: BTreeMap<String, Digest>,
    /// Source, recipe and tools.
    pub build: Build,
}

impl Record {
    /// The value of `schema`.
    pub const SCHEMA: &'static str = "siegel/build/v1";

    /// Describes the named files in `dir`.
    ///
    /// # Errors
    /// If one cannot be read.
    pub fn of(
        dir: &Path,
        names: &[&str],
        flavour: Profile,
        build: Build,
    ) -> Result<Self, RecipeError> {
        let digest = |name: &&str| Ok(((*name).to_owned(), file_digest(&dir.join(name))?));
        let binaries: Result<_, RecipeError> = names.iter().map(digest).collect();
        Ok(Self {
            schema: Self::SCHEMA.into(),
            flavour,
            binaries: binaries?,
            build,
        })
    }

    /// The record in `dir`; `None` if there is none. It may not fit the files: see [`Self::fits`].
    ///
    /// # Errors
    /// A record that is not canonical, of another schema, or outside the grammar (I2, I14).
    pub fn read(dir: &Path) -> Result<Option<Self>, RecipeError> {
        let path = dir.join(RECORD_FILE);
        match std::fs::read(&path) {
            Ok(bytes) => Self::parse(&path, &bytes).map(Some),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(RecipeError::io(&path)(error)),
        }
    }

    fn parse(path: &Path, bytes: &[u8]) -> Result<Self, RecipeError> {
        let record: Self =
            json::from_canonical(bytes, RECORD_MAX).map_err(|source| RecipeError::Record {
                path: path.to_owned(),
                source,
            })?;
        let require = |good: bool, field, problem| match good {
            true => Ok(()),
            false => Err(RecipeError::RecordField {
                path: path.to_owned(),
                field,
                problem,
            }),
        };
        let schema = record.schema == Self::SCHEMA;
        require(schema, "schema", "must be siegel/build/v1")?;
        let all = NODES.iter().all(|n| record.binaries.contains_key(*n));
        require(
            all,
            "binaries",
            "must name siegel-kms, siegel-root and siegel-worker",
        )?;
        let plain = |name: &String| name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        let names = record.binaries.keys().all(plain);
        require(names, "binaries", "must be plain file names")?;
        let build = &record.build;
        let commit = build.commit.as_deref().is_none_or(is_commit);
        require(
            commit,
            "build.commit",
            "must be 40 lower-case hex digits or null",
        )?;
        let lines = is_line(&build.rustc) && is_line(&build.cc);
        require(lines, "build.rustc, build.cc", "must be one line each")?;
        Ok(record)
    }

    /// The record in `dir` if there is one that fits its files. A broken one is as good as none:
    /// it vouches for nothing.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn fitting(dir: &Path) -> Result<Option<Self>, RecipeError> {
        match Self::read(dir) {
            Ok(Some(record)) => Ok(record.fits(dir)?.then_some(record)),
            Ok(None) | Err(RecipeError::Record { .. } | RecipeError::RecordField { .. }) => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Whether all files that it names are in `dir` with the digests that it names.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn fits(&self, dir: &Path) -> Result<bool, RecipeError> {
        for (name, digest) in &self.binaries {
            let path = dir.join(name);
            if !path.is_file() || file_digest(&path)? != *digest {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The canonical bytes.
    ///
    /// # Errors
    /// Never for a record that was read or made here.
    pub fn to_bytes(&self) -> Result<Vec<u8>, RecipeError> {
        json::to_canonical(self).map_err(|source| RecipeError::Record {
            path: RECORD_FILE.into(),
            source,
        })
    }

    /// Writes it into `dir`, whole or not at all.
    ///
    /// # Errors
    /// If the folder cannot be written.
    pub fn write(&self, dir: &Path) -> Result<(), RecipeError> {
        write(&dir.join(RECORD_FILE), &self.to_bytes()?)
    }
}

pub(crate) fn is_commit(text: &str) -> bool {
    let hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    text.len() == 40 && text.bytes().all(hex)
}

fn is_line(text: &str) -> bool {
    (1..=256).contains(&text.len()) && !text.chars().any(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build() -> Build {
        Build {
            source: Digest::of(b"source"),
            commit: None,
            dirty: false,
            recipe: None,
            rustc: "rustc 1".into(),
            cc: "cc 1".into(),
        }
    }

    // Catches binaries of another build that are run under an old record.
    #[test]
    fn a_record_holds_only_for_the_files_it_names() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
        for name in NODES {
            write(name, name);
        }
        assert_eq!(Record::read(dir.path()).unwrap(), None);
        let record = Record::of(dir.path(), &NODES, Profile::Simulation, build()).unwrap();
        record.write(dir.path()).unwrap();
        assert_eq!(Record::fitting(dir.path()).unwrap(), Some(record.clone()));
        write("siegel-kms", "other bytes");
        assert!(!record.fits(dir.path()).unwrap());
        assert_eq!(Record::fitting(dir.path()).unwrap(), None);
        assert_eq!(Record::read(dir.path()).unwrap(), Some(record));
        std::fs::remove_file(dir.path().join("siegel-kms")).unwrap();
        assert_eq!(Record::fitting(dir.path()).unwrap(), None);
    }

    // I14: what a folder from elsewhere says is shown to people and joined to paths.
    #[test]
    fn i14_a_broken_record_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        for name in NODES {
            std::fs::write(dir.path().join(name), name).unwrap();
        }
        let good = Record::of(dir.path(), &NODES, Profile::Production, build()).unwrap();
        let refused = |change: &dyn Fn(&mut Record)| {
            let mut record = good.clone();
            change(&mut record);
            record.write(dir.path()).unwrap();
            assert_eq!(Record::fitting(dir.path()).unwrap(), None);
            Record::read(dir.path()).unwrap_err().to_string()
        };
        assert!(refused(&|r| r.schema = "siegel/build/v2".into()).contains("schema"));
        assert!(
            refused(&|r| r.binaries.retain(|name, _| name != "siegel-root")).contains("binaries")
        );
        let outside = |r: &mut Record| r.binaries.extend([("../x".to_owned(), Digest::of(b""))]);
        assert!(refused(&outside).contains("plain"));
        assert!(refused(&|r| r.build.commit = Some("main".into())).contains("commit"));
        assert!(refused(&|r| r.build.cc = "a\u{1b}[2J".into()).contains("cc"));
        std::fs::write(dir.path().join(RECORD_FILE), "{}").unwrap();
        assert!(Record::read(dir.path()).is_err());
    }
}
