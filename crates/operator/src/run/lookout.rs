//! What the receipts say about the run that was ordered.

use siegel_ident::{ObjectDigest, PolicyDigest, RunId};
use siegel_ledger::{Fact, Receipt};

use super::course::{News, Registered};
use super::{CommittedStep, Course, RunEvent, RunOrder};
use crate::{Operator, OperatorError};

/// How far the receipts are read, and what of them may matter.
pub(super) struct Lookout {
    next: u64,
    /// Runs that were registered for exactly this order.
    ours: Vec<Registered>,
    /// Facts about runs of ours.
    facts: Vec<(RunId, Happened)>,
}

enum Happened {
    Committed(CommittedStep),
    Finished,
    /// Ended before its last step; how.
    Ended(&'static str),
}

impl Lookout {
    /// Reads from this receipt on.
    pub(super) fn from(next: u64) -> Self {
        Self {
            next,
            ours: Vec::new(),
            facts: Vec::new(),
        }
    }

    fn read(&mut self, order: &RunOrder, body: &[u8]) -> Result<(), OperatorError> {
        let wrong = |why: &dyn std::fmt::Display| OperatorError::document("receipt", why);
        let receipt = Receipt::parse(body).map_err(|why| wrong(&why))?;
        if receipt.seq != self.next {
            let (found, due) = (receipt.seq, self.next);
            return Err(wrong(&format!("number {found} where {due} is due")));
        }
        self.next += 1;
        match receipt.fact {
            Fact::RunRegistered {
                run,
                policy,
                program,
                epochs,
                deadline,
                input_root,
                blob_count,
                ..
            } if policy == PolicyDigest::of(&order.policy)
                && program == order.program
                && epochs == order.epochs
                && deadline == order.deadline =>
            {
                self.ours.push(Registered {
                    run,
                    input_root,
                    blobs: blob_count,
                });
            }
            Fact::StepCommitted {
                run, step, release, ..
            } => {
                // A receipt does not name what was released.
                let release = release.map(|digest: ObjectDigest| (String::new(), digest));
                self.note(run, Happened::Committed(CommittedStep { step, release }));
            }
            Fact::RunFinished { run, .. } => self.note(run, Happened::Finished),
            Fact::RunAbandoned { run, .. } => self.note(run, Happened::Ended("was abandoned")),
            Fact::RunCancelled { run, .. } => self.note(run, Happened::Ended("was cancelled")),
            Fact::RunExpired { run, .. } => self.note(run, Happened::Ended("expired")),
            _ => {}
        }
        Ok(())
    }

    fn note(&mut self, run: RunId, what: Happened) {
        if self.ours.iter().any(|ours| ours.run == run) {
            self.facts.push((run, what));
        }
    }

    /// The run that was registered last: an earlier one lost its root before it could be known.
    fn registration(&self) -> Option<Registered> {
        self.ours.last().cloned()
    }

    /// The facts about a run that were read since the last time.
    fn take(&mut self, run: RunId) -> Vec<Happened> {
        let all = std::mem::take(&mut self.facts);
        let (of_run, others) = all.into_iter().partition(|(of, _)| *of == run);
        self.facts = others;
        let of_run: Vec<(RunId, Happened)> = of_run;
        of_run.into_iter().map(|(_, what)| what).collect()
    }
}

impl Operator {
    /// How many receipts there are now.
    pub(super) async fn receipt_count(&self) -> Result<u64, OperatorError> {
        let errand = "asking the key service for its state";
        let mut most = None;
        let mut failed = None;
        for (_, status) in self.courier.status().await {
            match status {
                Ok(status) => most = most.max(Some(status.receipts)),
                Err(source) => failed = Some(source),
            }
        }
        match (most, failed) {
            (Some(count), _) => Ok(count),
            (None, Some(source)) => Err(OperatorError::Kms { errand, source }),
            (None, None) => Ok(0),
        }
    }

    /// Learns from the receipts what the root could not say any more.
    pub(super) async fn catch_up(
        &self,
        order: &RunOrder,
        lookout: &mut Lookout,
        course: &mut Course,
        on_event: &mut impl FnMut(&RunEvent),
    ) -> Result<(), OperatorError> {
        let errand = "looking for the run in the receipts";
        loop {
            let page = self.courier.receipts(lookout.next).await;
            let page = page.map_err(|source| OperatorError::Kms { errand, source })?;
            if page.is_empty() {
                break;
            }
            for signed in page {
                lookout.read(order, &signed.body)?;
            }
        }
        if course.run().is_none()
            && let Some(registration) = lookout.registration()
        {
            let event = course.registered(registration)?;
            event.iter().for_each(&mut *on_event);
        }
        let Some(run) = course.run() else {
            return Ok(());
        };
        for what in lookout.take(run) {
            match what {
                Happened::Committed(step) => match course.committed(step)? {
                    News::Next(event) => on_event(&event),
                    News::Old => {}
                    News::Gap => {
                        let why = "a step is committed before the one before it";
                        return Err(OperatorError::document("receipt", why));
                    }
                },
                Happened::Finished => course.finish(),
                Happened::Ended(how) => {
                    return Err(OperatorError::Stopped {
                        code: "run-over".into(),
                        invariant: String::new(),
                        place: "run".into(),
                        message: format!("run {run} {how} after step {}", course.last()),
                    });
                }
            }
        }
        Ok(())
    }
}
