//! What others see of the log: a view that is shown to them and not to us is caught here (I1).

use std::path::Path;

use siegel_rekor::{FolderLog, LogClient, LogReader, RekorError};
use siegel_translog::{LogAnchors, Tree};

use super::{Evidence, Seen};
use crate::findings::Findings;
use crate::read;

/// Longest file that is read as a note, in bytes.
const NOTE_MAX: u64 = 4096;
/// Entries read at a time.
const CHUNK: u64 = 1024;

/// A checkpoint of the log as somebody else sees it.
pub(crate) struct Observed {
    from: String,
    seen: Seen,
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
        let note = match note(place).await {
            Ok(note) => note,
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
            }),
            Err(why) => {
                let message = format!("observer {place} shows no checkpoint of this log: {why}");
                findings.warning("observer-other-log", "I1", message);
            }
        }
    }
    observed
}

/// A URL that ends in `checkpoint` serves the note itself, any other is a log or mirror; a folder is
/// a log's, a file holds a note.
async fn note(place: &str) -> Result<String, RekorError> {
    if place.contains("://") {
        let client = LogClient::new(place)?;
        return match place.ends_with("/checkpoint") {
            true => client.note().await,
            false => client.checkpoint().await,
        };
    }
    let path = Path::new(place);
    if path.is_dir() {
        return FolderLog::open(path)?.checkpoint().await;
    }
    let failed = |source| RekorError::Io {
        what: format!("reading {place}"),
        source,
    };
    let length = std::fs::metadata(path).map_err(failed)?.len();
    match length > NOTE_MAX {
        true => Err(RekorError::TooLong {
            what: "a signed note",
            max: NOTE_MAX as usize,
        }),
        false => std::fs::read_to_string(path).map_err(failed),
    }
}

/// Holds what others see against the recomputed tree, absent if it is not what the checkpoint covers.
/// Where they see more than it has, the log is asked for the rest.
///
/// # Errors
/// The log cannot be reached.
pub(crate) async fn compare(
    observed: &[Observed],
    shown: &Seen,
    tree: Option<&Tree>,
    log: (&LogReader, &LogAnchors),
    findings: &mut Findings,
) -> Result<Vec<Evidence>, RekorError> {
    let farthest = observed.iter().map(|other| other.seen.checkpoint().size);
    let mut grown = None;
    if let Some(tree) = tree.filter(|tree| farthest.max() > Some(tree.size())) {
        grown = grow(tree, log, findings).await?;
    }
    let (latest, tree) = match &grown {
        Some((latest, grown)) => (latest, Some(grown)),
        None => (shown, tree),
    };
    let mut evidence = Vec::new();
    for Observed { from, seen } in observed {
        let other = seen.checkpoint();
        match latest.holds(seen, tree) {
            Some(true) => {}
            Some(false) => {
                let message = format!(
                    "observer {from} sees {} entries with root {}; the log that is shown here did \
                     not grow from that, nor into it: there are two views",
                    other.size, other.root
                );
                findings.error("split-view", "I1", message.clone());
                let other = (from.as_str(), seen);
                evidence.push(Evidence::new("split-view", &message, latest, other));
            }
            None => {
                let message = format!(
                    "observer {from} sees {} entries, the log shows only {} here: whether these \
                     are the beginning of those could not be checked",
                    other.size,
                    latest.checkpoint().size
                );
                findings.warning("observer-ahead", "I1", message);
            }
        }
    }
    Ok(evidence)
}

/// The tree of what the log shows by now, if that grew from `tree`.
async fn grow(
    tree: &Tree,
    (log, anchors): (&LogReader, &LogAnchors),
    findings: &mut Findings,
) -> Result<Option<(Seen, Tree)>, RekorError> {
    let Ok(latest) = Seen::verify(log.checkpoint().await?, anchors) else {
        return Ok(None);
    };
    let mut grown = tree.clone();
    while grown.size() < latest.checkpoint().size {
        let to = latest.checkpoint().size.min(grown.size() + CHUNK);
        match read::leaves(log, grown.size(), to).await? {
            Ok(leaves) => leaves.into_iter().for_each(|leaf| {
                grown.push(leaf);
            }),
            Err(why) => {
                findings.error("entries-withheld", "I1", why);
                return Ok(None);
            }
        }
    }
    if latest.is_in(&grown) == Some(true) {
        return Ok(Some((latest, grown)));
    }
    let message = "while it was audited, the log signed a checkpoint that its entries do not have";
    findings.error("log-rewritten", "I1", message);
    Ok(None)
}
