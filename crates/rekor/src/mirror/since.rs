//! Since when a mirror has what. One line per object: `sha256 time`, only ever added to.

use std::collections::BTreeMap;

use siegel_ident::{Digest, Timestamp};

use crate::error::RekorError;
use crate::keyed::KeyedFolder;
use crate::witness::decimal;

/// Time of first seeing, by digest.
#[derive(Debug, Default)]
pub(super) struct Since {
    times: BTreeMap<Digest, Timestamp>,
}

impl Since {
    /// Reads what was written. A line that a kill cut off was never relied on, and is dropped.
    pub(super) fn load(folder: &KeyedFolder) -> Result<Self, RekorError> {
        let bytes = folder.load()?;
        let whole = bytes
            .iter()
            .rposition(|b| *b == b'\n')
            .map_or(0, |at| at + 1);
        let (lines, torn) = bytes.split_at(whole);
        let damaged = || RekorError::Damaged("state of the mirror: a line is no time".into());
        let text = std::str::from_utf8(lines).map_err(|_| damaged())?;
        let mut since = Self::default();
        for line in text.lines() {
            let (digest, time) = line.split_once(' ').ok_or_else(damaged)?;
            let digest = digest.parse().map_err(|_| damaged())?;
            let time = Timestamp(decimal(time).ok_or_else(damaged)?);
            since.add(digest, time);
        }
        if !torn.is_empty() {
            folder.save(lines)?;
        }
        Ok(since)
    }

    /// What is written for an object.
    pub(super) fn line(digest: &Digest, time: Timestamp) -> String {
        format!("{digest} {time}\n")
    }

    /// The first time stays.
    pub(super) fn add(&mut self, digest: Digest, time: Timestamp) {
        self.times.entry(digest).or_insert(time);
    }

    pub(super) fn of(&self, digest: &Digest) -> Option<Timestamp> {
        self.times.get(digest).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // I1: catches a time that a later line makes younger, and a damaged line that is passed over.
    #[test]
    fn i1_the_first_time_stays_and_other_lines_are_damage() {
        let dir = tempfile::tempdir().unwrap();
        let (key, state) = (dir.path().join("key"), dir.path().join("state"));
        let (folder, _) = KeyedFolder::open("SIEGEL TEST SEED", &key, &state).unwrap();
        let digest = Digest::of(b"x");
        let line = |time| Since::line(&digest, Timestamp(time));
        folder
            .save(format!("{}{}", line(7), line(9)).as_bytes())
            .unwrap();
        let since = Since::load(&folder).unwrap();
        assert_eq!(since.of(&digest), Some(Timestamp(7)));
        for bad in [
            line(7).replace(" 7", " 07"),
            line(7).replace(" 7", " -7"),
            line(7).replace(" 7", ""),
            line(7)[1..].to_owned(),
            "\n".to_owned(),
        ] {
            folder.save(bad.as_bytes()).unwrap();
            let read = Since::load(&folder);
            assert!(matches!(read, Err(RekorError::Damaged(_))), "{bad:?}");
        }
    }
}
