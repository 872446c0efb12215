//! What endorsers say in a log, for those who need no verdict on the rest of it.

use std::collections::BTreeSet;

use siegel_endorse::Voice;
use siegel_ident::{PolicyDigest, Timestamp};
use siegel_policy::{Finding, Severity};
use siegel_rekor::LogReader;

use crate::anchors::AuditAnchors;
use crate::audit::{AuditError, check_tree, read_all};
use crate::findings::Findings;
use crate::replay::Replay;
use crate::report::Counts;

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

/// Reads the endorsements in a log, as [`audit`](crate::audit()) does; nothing else is judged. If the
/// anchors pin endorsers, others have no voice (I1).
///
/// # Errors
/// [`AuditError::Checkpoint`] if the log is another than the pinned one, or not witnessed as the
/// anchors ask; else as [`audit`](crate::audit()).
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
    let reading = read_all(
        log,
        &checkpoint,
        (anchors, false),
        &mut counts,
        &mut replay,
        &mut findings,
    )
    .await?;
    check_tree(&reading.tree, &checkpoint, anchors, &mut findings);
    let mut voices = replay.world.voices;
    let pinned = &anchors.endorsers;
    voices.retain(|voice| pinned.is_empty() || pinned.contains(&voice.endorser));
    let mut policies: BTreeSet<_> = replay.world.policies.into_keys().collect();
    if !reading.is_whole(&checkpoint) {
        voices.clear();
        policies.clear();
    }
    let (mut findings, _) = findings.finish();
    findings.retain(|finding| finding.severity == Severity::Error);
    Ok(Voices {
        voices,
        policies,
        findings,
    })
}
