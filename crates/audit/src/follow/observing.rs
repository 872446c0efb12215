//! Asking those who see the log, too: where their note is, and whether they have hash tiles.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

use siegel_ident::Digest;
use siegel_rekor::{FolderLog, LogClient, LogReader, RekorError};
use siegel_translog::merkle::verify_consistency;
use siegel_translog::tiles::TileSet;
use siegel_translog::{Checkpoint, LogAnchors};

use super::Seen;
use crate::findings::Findings;

/// Longest file that is read as a note, in bytes.
const NOTE_MAX: usize = 4096;
/// Where a log has its note.
const LOGS_NOTE: &str = "/api/v2/checkpoint";

/// A checkpoint of the log as somebody else sees it.
pub(crate) struct Observed {
    pub(super) from: String,
    pub(super) seen: Seen,
    /// Where its hash tiles are, if it is more than a note.
    pub(super) log: Option<LogReader>,
}

/// Asks the observers. One that is away, or shows nothing of this log, is a warning: the comparison
/// that was asked for was not made.
pub(crate) async fn observe(
    places: &[String],
    log: &LogAnchors,
    findings: &mut Findings,
) -> Vec<Observed> {
    let mut observed = Vec::new();
    for place in places {
        let (note, tiles) = match view(place, &log.origin).await {
            Ok(view) => view,
            Err(why) => {
                let message = format!("observer {place}: nothing to compare with: {why}");
                findings.warning("observer-away", "I1", message);
                continue;
            }
        };
        match Seen::verify(note, log) {
            Ok(seen) => observed.push(Observed {
                from: place.clone(),
                seen,
                log: tiles,
            }),
            Err(why) => {
                let message = format!("observer {place} shows no checkpoint of this log: {why}");
                findings.warning("observer-other-log", "I1", message);
            }
        }
    }
    observed
}

/// The note at a place, and the log around it if there is one.
async fn view(place: &str, origin: &str) -> Result<(String, Option<LogReader>), RekorError> {
    if place.contains("://") {
        return at_url(place.trim_end_matches('/'), origin).await;
    }
    let path = Path::new(place);
    if path.is_dir() {
        let log = FolderLog::open(path)?;
        return Ok((log.checkpoint().await?, Some(LogReader::Folder(log))));
    }
    let note = note_in(path).map_err(|source| RekorError::Io {
        what: format!("reading {place}"),
        source,
    })?;
    match note.len() > NOTE_MAX {
        true => Err(RekorError::TooLong {
            what: "a signed note",
            max: NOTE_MAX,
        }),
        false => Ok((note, None)),
    }
}

/// A URL with `checkpoint` at its end, or before a log's name, serves the note itself. Any other is a
/// log's, a mirror's or a witness's, who have it below.
async fn at_url(url: &str, origin: &str) -> Result<(String, Option<LogReader>), RekorError> {
    if let Some(base) = url.strip_suffix(LOGS_NOTE) {
        let note = LogClient::new(url)?.note().await?;
        return Ok((note, Some(LogReader::new(base)?)));
    }
    let mut ends = url.rsplit('/');
    if ends.next() == Some("checkpoint") || ends.next() == Some("checkpoint") {
        return Ok((LogClient::new(url)?.note().await?, None));
    }
    let log = LogClient::new(url)?;
    let none = match log.checkpoint().await {
        Err(none @ RekorError::NotFound(_)) => none,
        note => return Ok((note?, Some(LogReader::Http(log)))),
    };
    let name = Digest::of(origin.as_bytes());
    for below in ["checkpoint".to_owned(), format!("checkpoint/{name}")] {
        match LogClient::new(&format!("{url}/{below}"))?.note().await {
            Err(RekorError::NotFound(_)) => {}
            note => return Ok((note?, None)),
        }
    }
    Err(none)
}

/// A note in a file. What is no regular file is not opened: it might never end, or never begin.
fn note_in(path: &Path) -> io::Result<String> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("this is no regular file"));
    }
    let mut note = String::new();
    File::open(path)?
        .take(NOTE_MAX as u64 + 1)
        .read_to_string(&mut note)?;
    Ok(note)
}

/// Whether what the log shows here is the beginning of what an observer sees, by the observer's hash
/// tiles. They prove only what belongs under its signed root: wrong tiles accuse nobody (I1).
///
/// # Errors
/// Why that cannot be told.
pub(super) async fn is_beginning(
    ours: &Checkpoint,
    theirs: &Checkpoint,
    log: &LogReader,
) -> Result<bool, String> {
    let (from, to) = (ours.size, theirs.size);
    if from == 0 {
        return Ok(true);
    }
    let mut tiles = TileSet::default();
    let mut wanted = TileSet::for_consistency(from, to);
    wanted.extend(TileSet::for_root(from, to));
    for tile in wanted {
        let (_, bytes) = log.hash_tile(tile).await.map_err(|why| why.to_string())?;
        if !tiles.insert(tile, &bytes) {
            return Err(format!("its tile/{tile} is torn"));
        }
    }
    let proof = tiles.root(from).zip(tiles.consistency_proof(from, to));
    let (root, proof) = proof.ok_or("its hash tiles give no proof")?;
    verify_consistency(from, &root, to, &theirs.root, &proof)
        .map_err(|_| "its hash tiles are not those of its checkpoint")?;
    Ok(root == ours.root)
}
