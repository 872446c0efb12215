//! Reads a log and has it judged. What entries mean is decided in `replay`.

mod opened;
mod whole;

use whole::check_tiles;
pub(crate) use whole::{check_tree, read_all};

use siegel_ident::{Digest, Timestamp};
use siegel_policy::Finding;
use siegel_rekor::{LogReader, RekorError};
use siegel_translog::ProofError;

use crate::anchors::AuditAnchors;
use crate::findings::Findings;
use crate::follow::{Ahead, Evidence, Remembering, Seen, State, compare, observe};
use crate::read::ReadError;
use crate::replay::Replay;
use crate::report::{AuditReport, Counts, LogReport, Verdict};
use crate::witnessed::witnesses;

/// Why there is no report. A bad log is not an error: it gives a report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AuditError {
    /// The anchors cannot be enforced, as when they ask for witnesses.
    #[error("anchors: {0}")]
    Anchors(#[source] ProofError),
    /// In a shared log nobody could be told from a stranger.
    #[error("the anchors pin no publisher: in a shared log every entry would be a stranger's")]
    SharedByNobody,
    /// The log is not the pinned one.
    #[error("the log's checkpoint is not one of the pinned log: {0}")]
    Checkpoint(#[source] ProofError),
    /// The log or its archive cannot be reached.
    #[error("cannot read the log: {0}")]
    Source(#[from] RekorError),
    /// A thread of this audit died.
    #[error("the audit broke off: {0}")]
    Broken(String),
}

impl From<ReadError> for AuditError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Source(e) => Self::Source(e),
            e @ ReadError::Broken(_) => Self::Broken(e.to_string()),
        }
    }
}

/// Audits a log from its first entry to its checkpoint, once, remembering nothing.
///
/// # Errors
/// As [`Audit::run`].
pub async fn audit(
    log: &LogReader,
    anchors: &AuditAnchors,
    now: Timestamp,
) -> Result<AuditReport, AuditError> {
    let audited = Audit::new(anchors, now).run(log).await?;
    Ok(audited.report)
}

/// An audit to be made: whose anchors, whose clock, and what was seen before.
pub struct Audit<'a> {
    anchors: &'a AuditAnchors,
    now: Timestamp,
    state: Option<&'a State>,
    rebaselined: bool,
    shared: bool,
    kept: bool,
}

/// A report, and what to remember of the log.
#[derive(Clone, Debug)]
pub struct Audited {
    /// The report.
    pub report: AuditReport,
    /// The checkpoint, if the entries are what it covers and nothing that the log has signed before
    /// speaks against it.
    pub verified: Option<Seen>,
    /// Notes of observers that are ahead of the log, from this audit and earlier ones.
    pub ahead: Vec<Ahead>,
}

impl<'a> Audit<'a> {
    /// An audit under these anchors. `now` is the auditor's clock: witnesses must have cosigned
    /// recently.
    pub fn new(anchors: &'a AuditAnchors, now: Timestamp) -> Self {
        Self {
            anchors,
            now,
            state: None,
            rebaselined: false,
            shared: false,
            kept: false,
        }
    }

    /// Holds the log against what was seen of it before.
    #[must_use]
    pub fn since(mut self, state: &'a State) -> Self {
        self.state = Some(state);
        self
    }

    /// Says that what this audit remembers outlives it.
    #[must_use]
    pub fn kept(mut self, kept: bool) -> Self {
        self.kept = kept;
        self
    }

    /// Says in the report that what was known before was given up.
    #[must_use]
    pub fn rebaselined(mut self, rebaselined: bool) -> Self {
        self.rebaselined = rebaselined;
        self
    }

    /// Takes the log for one that others write in, too: entries under keys that the anchors do not name,
    /// which say nothing in our words, are counted and are no alarm.
    #[must_use]
    pub fn shared(mut self, shared: bool) -> Self {
        self.shared = shared;
        self
    }

    /// Reads the log and judges it.
    ///
    /// # Errors
    /// [`AuditError`] if there is nothing to judge: unusable anchors, or a log that cannot be
    /// reached. Whatever is wrong *in* the log is a finding of the report.
    pub async fn run(&self, log: &LogReader) -> Result<Audited, AuditError> {
        let anchors = self.anchors;
        anchors.log.check().map_err(AuditError::Anchors)?;
        if self.shared && anchors.publishers.is_empty() {
            return Err(AuditError::SharedByNobody);
        }
        let mut findings = Findings::default();
        // Observers first: what they see is then no newer than what the log is about to show.
        let observed = observe(&anchors.observers, &anchors.log, &mut findings).await;
        let ahead = self.state.map(|state| state.ahead().to_vec());
        let mut draft = Draft {
            ahead: ahead.unwrap_or_default(),
            ..Draft::default()
        };
        let Some(shown) = self.checkpoint(log, &mut findings).await? else {
            return Ok(self.finish(draft, None, findings));
        };
        let checkpoint = shown.checkpoint();
        let (counts, replay) = (&mut draft.counts, &mut draft.replay);
        let under = (anchors, self.shared);
        let reading = read_all(log, checkpoint, under, counts, replay, &mut findings).await?;
        check_tree(&reading.tree, checkpoint, anchors, &mut findings);
        let tree = reading.is_whole(checkpoint).then_some(&reading.tree);
        if let Some(tree) = tree {
            check_tiles(log, tree, &mut findings).await?;
        }
        let caught = self
            .state
            .and_then(|state| state.contradiction(&shown, tree));
        draft.grew = tree.is_some() && caught.is_none();
        if let Some(caught) = caught {
            findings.error(&caught.finding, "I1", caught.message.as_str());
            draft.evidence.push(caught);
        }
        let source = (log, &anchors.log);
        let remembering = Remembering {
            before: &draft.ahead,
            kept: self.kept,
        };
        let compared = compare(&observed, remembering, &shown, tree, source, &mut findings).await?;
        draft.evidence.extend(compared.evidence);
        draft.ahead = compared.ahead;
        draft.replay.judge(under, tree, &mut findings);
        Ok(self.finish(draft, Some(shown), findings))
    }

    /// The checkpoint under the log's key. That the log signed it is the least; what its witnesses
    /// say of it is a finding of its own.
    async fn checkpoint(
        &self,
        log: &LogReader,
        findings: &mut Findings,
    ) -> Result<Option<Seen>, AuditError> {
        let anchors = &self.anchors.log;
        let verified = match log.checkpoint().await {
            Ok(note) => Seen::verify(note, anchors).map_err(|e| e.to_string()),
            Err(e @ (RekorError::Damaged(_) | RekorError::TooLong { .. })) => Err(e.to_string()),
            Err(e) => return Err(e.into()),
        };
        match verified {
            Ok(seen) => {
                self.witnesses(&seen, findings);
                Ok(Some(seen))
            }
            Err(e) => {
                let message = format!("the log's checkpoint is not one of the pinned log: {e}");
                findings.error("checkpoint-invalid", "I1", message);
                Ok(None)
            }
        }
    }

    fn witnesses(&self, seen: &Seen, findings: &mut Findings) {
        let anchors = &self.anchors.log;
        if anchors.witnesses.is_none() {
            let message =
                "UNWITNESSED: nobody but the log's operator vouches that all see this log";
            if seen.checkpoint().size > 0 {
                findings.warning("log-unwitnessed", "I1", message);
            }
            return;
        }
        let Err(why) = anchors.verify_checkpoint(seen.note(), self.now) else {
            return;
        };
        let id = match &why {
            ProofError::Witnesses {
                required,
                found,
                stale,
                ..
            } if found.saturating_add(*stale) >= *required => "checkpoint-stale",
            ProofError::Witnesses { .. } => "checkpoint-not-witnessed",
            _ => "cosignature-invalid",
        };
        findings.error(id, "I1", why.to_string());
    }

    /// A choice that was made otherwise before is said: it changes what an alarm is.
    fn judged_as_before(&self, findings: &mut Findings) {
        let Some(state) = self.state.filter(|state| state.last().is_some()) else {
            return;
        };
        match (state.is_shared(), self.shared) {
            (false, true) => {
                let message = "the audits before took this log for one of its own, this one takes it for \
                               one that others write in, too: strangers' entries are no alarm now";
                findings.warning("shared-changed", "I1", message);
            }
            (true, false) => {
                let message = "the audit before took this log for one that others write in, too; this one \
                               does not: strangers' entries are alarms again";
                findings.info("shared-changed", message);
            }
            _ => {}
        }
    }

    fn finish(&self, draft: Draft, shown: Option<Seen>, mut findings: Findings) -> Audited {
        let Draft {
            counts,
            replay,
            evidence,
            ahead,
            grew,
        } = draft;
        if let Some(state) = self.state {
            let standing = state.standing(&evidence);
            standing.into_iter().for_each(|old| findings.add(old));
        }
        // Only where there is something to remember in its place.
        if self.rebaselined && (grew || !evidence.is_empty() || !ahead.is_empty()) {
            let message = "REBASELINED: what was known of this log was given up; if it was \
                           rewritten before, this audit cannot tell";
            findings.warning("rebaselined", "I1", message);
        }
        let before = self.state.and_then(State::last);
        self.judged_as_before(&mut findings);
        let size = shown.as_ref().map_or(0, |shown| shown.checkpoint().size);
        if size > 0 && before.is_none() && self.anchors.known_checkpoints.is_empty() {
            let message = "no earlier checkpoint is known: a log rewritten by its own key cannot be \
                           seen";
            findings.info("anchors-no-checkpoint", message);
        }
        match shown.as_ref().map(|shown| shown.checkpoint().size) {
            Some(0) => {
                let message = "the log is empty: there is nothing to audit";
                findings.info("nothing-to-audit", message);
            }
            Some(_) if !replay.has_runs() => {
                let message = "no run was registered: there was nothing to spend or release";
                findings.info("no-run", message);
            }
            _ => {}
        }
        let (findings, grouped) = findings.finish();
        let ok = !Finding::any_error(&findings);
        let (policies, runs, budgets) = replay.into_reports();
        let checkpoint = shown.as_ref().map(Seen::checkpoint);
        let (note, quorum) = (shown.as_ref().map(Seen::note), &self.anchors.log.witnesses);
        let report = AuditReport {
            ok,
            verdict: match ok {
                true => Verdict::Good,
                false => Verdict::NotTrustworthy,
            },
            at: self.now,
            log: LogReport {
                origin: self.anchors.log.origin.clone(),
                size: checkpoint.map(|checkpoint| checkpoint.size),
                root: checkpoint.map(|checkpoint| checkpoint.root),
                known: before.map(|before| before.checkpoint().size),
                checkpoint: note.map(str::to_owned),
                shared: self.shared,
                witnesses_required: quorum.required,
                witnesses: witnesses(quorum, note),
            },
            entries: counts,
            policies,
            runs,
            budgets,
            evidence,
            findings,
            grouped,
        };
        let verified = shown.filter(|_| grew);
        Audited {
            report,
            verified,
            ahead,
        }
    }
}

/// What an audit has gathered so far.
#[derive(Default)]
struct Draft {
    counts: Counts,
    replay: Replay,
    evidence: Vec<Evidence>,
    /// Notes that are ahead of the log.
    ahead: Vec<Ahead>,
    /// The log is whole, and grew from what is known of it.
    grew: bool,
}

/// A digest short enough for a message.
pub(crate) fn short(digest: &Digest) -> String {
    digest.to_string().chars().take(12).collect()
}
