//! The note beside built binaries: what they are and what they were built from.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use siegel_ident::{Digest, json};

use super::{BinariesError, NODES, file_digest, io};

/// Its file name.
pub const STAMP_FILE: &str = "siegel-nodes.json";
const SCHEMA: &str = "siegel/node-binaries/v1";

/// Canonical JSON. A stamp that does not fit its files is as good as none: they are built again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stamp {
    schema: String,
    /// Digest of the source; see `source_digest`.
    pub source: Digest,
    /// SHA-256 by file name. A package lists the command `siegel` too.
    pub binaries: BTreeMap<String, Digest>,
}

impl Stamp {
    /// Describes the named files in `dir`.
    pub fn of(dir: &Path, names: &[&str], source: Digest) -> Result<Self, BinariesError> {
        let digest = |name: &&str| Ok(((*name).to_owned(), file_digest(&dir.join(name))?));
        let binaries = names
            .iter()
            .map(digest)
            .collect::<Result<_, BinariesError>>()?;
        Ok(Self {
            schema: SCHEMA.into(),
            source,
            binaries,
        })
    }

    /// The stamp in `dir`, if there is one that fits all the files it names, and it names all nodes.
    pub fn valid_in(dir: &Path) -> Result<Option<Self>, BinariesError> {
        let Ok(bytes) = std::fs::read(dir.join(STAMP_FILE)) else {
            return Ok(None);
        };
        let Ok(stamp) = json::from_canonical::<Self>(&bytes, 1 << 16) else {
            return Ok(None);
        };
        if stamp.schema != SCHEMA || !NODES.iter().all(|n| stamp.binaries.contains_key(*n)) {
            return Ok(None);
        }
        for (name, digest) in &stamp.binaries {
            let path = dir.join(name);
            if name.contains('/') || !path.is_file() || file_digest(&path)? != *digest {
                return Ok(None);
            }
        }
        Ok(Some(stamp))
    }

    /// Writes it into `dir`, whole or not at all.
    pub fn write(&self, dir: &Path) -> Result<(), BinariesError> {
        let target = dir.join(STAMP_FILE);
        let bytes = json::to_canonical(self)
            .map_err(|e| io(&target)(std::io::Error::other(e.to_string())))?;
        let staged = dir.join(format!("{STAMP_FILE}.new"));
        std::fs::write(&staged, bytes).map_err(io(&staged))?;
        std::fs::rename(&staged, &target).map_err(io(&target))
    }
}

/// True if the files in `dir` were packaged together with the running executable: the stamp names
/// it by digest. What `cargo build --workspace` leaves beside it has no stamp, rightly: there,
/// unified features have put the simulator into every binary (I11).
pub(super) fn packaged(dir: &Path, running: &Path) -> Result<bool, BinariesError> {
    let Some(stamp) = Stamp::valid_in(dir)? else {
        return Ok(false);
    };
    let name = running
        .file_name()
        .map(|n| n.to_string_lossy().into_owned());
    Ok(name.is_some_and(|name| stamp.binaries.contains_key(&name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    // Catches binaries of another build that are run under an old stamp.
    #[test]
    fn a_stamp_holds_only_for_the_files_it_names() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
        for name in NODES {
            write(name, name);
        }
        write("siegel", "the command");
        let running = dir.path().join("siegel");
        assert!(!packaged(dir.path(), &running).unwrap());

        let source = Digest::of(b"source");
        let stamp = Stamp::of(dir.path(), &NODES, source).unwrap();
        stamp.write(dir.path()).unwrap();
        assert_eq!(Stamp::valid_in(dir.path()).unwrap(), Some(stamp));
        assert!(
            !packaged(dir.path(), &running).unwrap(),
            "the command is not in it"
        );

        let names = [NODES.as_slice(), &["siegel"]].concat();
        Stamp::of(dir.path(), &names, source)
            .unwrap()
            .write(dir.path())
            .unwrap();
        assert!(packaged(dir.path(), &running).unwrap());
        write("siegel-kms", "other bytes");
        assert!(!packaged(dir.path(), &running).unwrap());
        write(STAMP_FILE, "{}");
        assert_eq!(Stamp::valid_in(dir.path()).unwrap(), None);
    }
}
