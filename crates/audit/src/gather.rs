//! Reads a log and has it judged. What entries mean is decided in `replay`.

use std::collections::BTreeSet;

use siegel_endorse::Voice;
use siegel_ident::{Digest, PolicyDigest, Timestamp};
use siegel_policy::{Finding, Severity};
use siegel_rekor::{LogReader, RekorError};
use siegel_translog::{Checkpoint, ProofError, Tree};

use crate::anchors::AuditAnchors;
use crate::findings::Findings;
use crate::read::{self, Item, ReadError, Reading};
use crate::replay::Replay;
use crate::report::{AuditReport, Counts, LogReport, Verdict};

/// Why there is no report. A bad log is not an error: it gives a report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AuditError {
    /// The anchors cannot be enforced, as when they ask for witnesses.
    #[error("anchors: {0}")]
    Anchors(#[source] ProofError),
    /// The log is not the pinned one.
    #[error("the log's checkpoint is not one of the pinned log: {0}")]
    Checkpoint(#[source] ProofError),
    /// The log or its archive cannot be reached.
    #[error("cannot read the log: {0}")]
    Source(#[from] RekorError),
    /// A task of this audit died.
    #[error("the audit broke off: {0}")]
    Broken(#[from] tokio::task::JoinError),
}

impl From<ReadError> for AuditError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Source(e) => Self::Source(e),
            ReadError::Broken(e) => Self::Broken(e),
        }
    }
}

/// Audits a log from its first entry to its checkpoint.
///
/// # Errors
/// [`AuditError`] if there is nothing to judge: unusable anchors, or a log that cannot be reached.
/// Whatever is wrong *in* the log is a finding of the report.
pub async fn audit(
    log: &LogReader,
    anchors: &AuditAnchors,
    now: Timestamp,
) -> Result<AuditReport, AuditError> {
    anchors.log.check().map_err(AuditError::Anchors)?;
    let mut findings = Findings::default();
    let verified = match log.checkpoint().await {
        Ok(note) => anchors
            .log
            .verify_checkpoint(&note, now)
            .map_err(|e| e.to_string()),
        Err(e @ (RekorError::Damaged(_) | RekorError::TooLong { .. })) => Err(e.to_string()),
        Err(e) => return Err(e.into()),
    };
    let checkpoint = match verified {
        Ok(checkpoint) => checkpoint,
        Err(e) => {
            let message = format!("the log's checkpoint is not one of the pinned log: {e}");
            findings.error("checkpoint-invalid", "I1", message);
            return Ok(report(
                anchors,
                None,
                Counts::default(),
                Replay::default(),
                findings,
            ));
        }
    };
    let mut counts = Counts::default();
    let mut replay = Replay::default();
    let reading = read_all(log, &checkpoint, &mut counts, &mut replay, &mut findings).await?;
    check_tree(&reading.tree, &checkpoint, anchors, &mut findings);
    if checkpoint.size > 0 && anchors.log.witnesses.is_none() {
        let message = "UNWITNESSED: nobody but the log's operator vouches that all see this log";
        findings.warning("log-unwitnessed", "I1", message);
    }
    let whole = reading.is_whole(&checkpoint);
    replay.judge(anchors, whole.then_some(&reading.tree), &mut findings);
    if checkpoint.size > 0 && !replay.has_runs() {
        findings.info(
            "no-run",
            "no run was registered: there was nothing to spend or release",
        );
    }
    Ok(report(anchors, Some(&checkpoint), counts, replay, findings))
}

/// What all endorsers in a log have said.
#[derive(Debug)]
pub struct Voices {
    /// The endorsements, in the order of the log; none if what it shows is not what it signed.
    pub voices: Vec<Voice>,
    /// The policies in it; none in the same case.
    pub policies: BTreeSet<PolicyDigest>,
    /// The errors in the log, worst first; without them the list is whole.
    pub findings: Vec<Finding>,
}

/// Reads the endorsements in a log, as [`audit`] does; nothing else is judged. If the anchors pin
/// endorsers, others have no voice (I1).
///
/// # Errors
/// [`AuditError::Checkpoint`] if the log is another than the pinned one, else as [`audit`].
pub async fn voices(
    log: &LogReader,
    anchors: &AuditAnchors,
    now: Timestamp,
) -> Result<Voices, AuditError> {
    anchors.log.check().map_err(AuditError::Anchors)?;
    let note = log.checkpoint().await?;
    let checkpoint = anchors.log.verify_checkpoint(&note, now);
    let checkpoint = checkpoint.map_err(AuditError::Checkpoint)?;
    let (mut counts, mut replay) = (Counts::default(), Replay::default());
    let mut findings = Findings::default();
    let reading = read_all(log, &checkpoint, &mut counts, &mut replay, &mut findings).await?;
    check_tree(&reading.tree, &checkpoint, anchors, &mut findings);
    let mut voices = replay.world.voices;
    let pinned = &anchors.endorsers;
    voices.retain(|voice| pinned.is_empty() || pinned.contains(&voice.endorser));
    let mut policies: BTreeSet<_> = replay.world.policies.into_keys().collect();
    if !reading.is_whole(&checkpoint) {
        voices.clear();
        policies.clear();
    }
    let mut findings = findings.finish();
    findings.retain(|finding| finding.severity == Severity::Error);
    Ok(Voices {
        voices,
        policies,
        findings,
    })
}

/// Reads all entries and sorts them in.
async fn read_all(
    log: &LogReader,
    checkpoint: &Checkpoint,
    counts: &mut Counts,
    replay: &mut Replay,
    findings: &mut Findings,
) -> Result<Reading, AuditError> {
    let take = |opened: Result<Item, Finding>| {
        counts.total += 1;
        match opened {
            Ok(item) => replay.take(item, counts, findings),
            Err(finding) => {
                counts.unreadable += 1;
                findings.add(finding);
            }
        }
    };
    let reading = read::read(log, checkpoint.size, read::open, take).await?;
    if let Some(why) = &reading.withheld {
        findings.error("entries-withheld", "I1", why.as_str());
    }
    Ok(reading)
}

/// The entries are exactly those that the checkpoint covers, and the log grew from every state
/// that it showed before (I1).
fn check_tree(
    tree: &Tree,
    checkpoint: &Checkpoint,
    anchors: &AuditAnchors,
    findings: &mut Findings,
) {
    if tree.size() == checkpoint.size && tree.root() != checkpoint.root {
        let message = format!(
            "the entries have root {}, the signed checkpoint {}: an entry was rewritten",
            tree.root(),
            checkpoint.root
        );
        findings.error("log-rewritten", "I1", message);
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

fn report(
    anchors: &AuditAnchors,
    checkpoint: Option<&Checkpoint>,
    entries: Counts,
    replay: Replay,
    mut findings: Findings,
) -> AuditReport {
    if checkpoint.is_some_and(|checkpoint| checkpoint.size == 0) {
        findings.info(
            "nothing-to-audit",
            "the log is empty: there is nothing to audit",
        );
    }
    let findings = findings.finish();
    let ok = !Finding::any_error(&findings);
    let (policies, runs, budgets) = replay.into_reports();
    AuditReport {
        ok,
        verdict: if ok {
            Verdict::Good
        } else {
            Verdict::NotTrustworthy
        },
        log: LogReport {
            origin: anchors.log.origin.clone(),
            size: checkpoint.map(|checkpoint| checkpoint.size),
            root: checkpoint.map(|checkpoint| checkpoint.root),
        },
        entries,
        policies,
        runs,
        budgets,
        findings,
    }
}

/// A digest short enough for a message.
pub(crate) fn short(digest: &Digest) -> String {
    digest.to_string().chars().take(12).collect()
}
