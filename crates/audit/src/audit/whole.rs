//! The log as a whole: all its entries, sorted in, and the tree that they make (I1).

use std::sync::Arc;

use siegel_policy::Severity;
use siegel_rekor::LogReader;
use siegel_translog::{Checkpoint, Tree};

use super::AuditError;
use super::opened::{Known, Opened};
use crate::anchors::AuditAnchors;
use crate::findings::Findings;
use crate::read::{self, CERTIFIED, Reading};
use crate::replay::Replay;
use crate::report::Counts;

/// How many smaller sizes a root that does not fit is tried for.
const OTHER_SIZES: u64 = 1024;

/// Reads all entries and sorts them in.
pub(crate) async fn read_all(
    log: &LogReader,
    checkpoint: &Checkpoint,
    (anchors, shared): (&AuditAnchors, bool),
    counts: &mut Counts,
    replay: &mut Replay,
    findings: &mut Findings,
) -> Result<Reading, AuditError> {
    let take = |opened: Opened| {
        let index = counts.total;
        findings.about(Some(index));
        counts.total += 1;
        match opened {
            Opened::Good(item) => replay.take(item, counts, findings),
            Opened::Certified(item) => {
                counts.certified += 1;
                replay.take_certified(item, findings);
            }
            Opened::Bad(mut finding) => {
                counts.unreadable += 1;
                // A certificate is a signer whom the anchors cannot know.
                if finding.id == CERTIFIED && !anchors.publishers.is_empty() {
                    finding.severity = Severity::Error;
                }
                findings.add(finding);
            }
            Opened::Strangers { key, finding } => {
                counts.strangers += 1;
                replay.world.strangers.take(index, key, finding);
            }
        }
    };
    let known = Known::of(anchors, shared);
    let open = move |log, index, body| Arc::clone(&known).open(log, index, body);
    let reading = read::read(log, checkpoint.size, open, take).await?;
    findings.about(None);
    if let Some(why) = &reading.withheld {
        findings.error("entries-withheld", "I1", why.as_str());
    }
    Ok(reading)
}

/// The log's hash tiles are those of its entries, so that a proof can be made for each (I1).
pub(crate) async fn check_tiles(
    log: &LogReader,
    tree: &Tree,
    findings: &mut Findings,
) -> Result<(), AuditError> {
    let tiles = read::tiles(log, tree).await?;
    if let Some(names) = tiles.wrong.names() {
        let message = format!(
            "not the hashes of the log's entries, though the checkpoint is theirs: {names}; proofs \
             from such tiles do not hold"
        );
        findings.error("tile-wrong", "I1", message);
    }
    if let Some(names) = tiles.missing.names() {
        let message = format!(
            "hash tiles that the checkpoint covers are not there: {names}; what is under them \
             cannot be proved"
        );
        findings.error("tile-missing", "I1", message);
    }
    Ok(())
}

/// The entries are exactly those that the checkpoint covers, and the log grew from every state
/// that it showed before (I1).
pub(crate) fn check_tree(
    tree: &Tree,
    checkpoint: &Checkpoint,
    anchors: &AuditAnchors,
    findings: &mut Findings,
) {
    if tree.size() == checkpoint.size && tree.root() != checkpoint.root {
        // Only near the end: a root is not worth hashing the tree for every size that it had.
        let sizes = checkpoint.size.saturating_sub(OTHER_SIZES)..checkpoint.size;
        let other = sizes
            .rev()
            .find(|size| tree.root_at(*size) == Some(checkpoint.root));
        let (found, signed) = (tree.root(), checkpoint.root);
        match other {
            Some(size) => {
                let message = format!(
                    "the checkpoint states {} entries with the root of the first {size}: its proofs \
                     are for another size than it says",
                    checkpoint.size
                );
                findings.error("checkpoint-other-size", "I1", message);
            }
            None => {
                let message = format!(
                    "the entries have root {found}, the signed checkpoint {signed}: an entry was \
                     rewritten"
                );
                findings.error("log-rewritten", "I1", message);
            }
        }
    }
    for known in &anchors.known_checkpoints {
        let rewritten = match tree.root_at(known.size) {
            Some(root) => root != known.root,
            // Shorter than it was, or not all of it could be read (which is a finding already).
            None => known.size > checkpoint.size,
        };
        if rewritten {
            let message = format!(
                "the log once had {} entries with root {}; what it shows now did not grow from that",
                known.size, known.root
            );
            findings.error("log-not-consistent", "I1", message);
        }
    }
}
