//! Where a run stands, from the root's news and the receipts together. Pure.

use siegel_ident::{InputRoot, RunId, Step};

use super::{CommittedStep, FinishedRun, RunEvent};
use crate::OperatorError;

/// What is known of the run so far.
#[derive(Default)]
pub(super) struct Course {
    registered: Option<Registered>,
    steps: Vec<CommittedStep>,
    over: bool,
}

/// The run that pays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Registered {
    pub(super) run: RunId,
    pub(super) input_root: InputRoot,
    pub(super) blobs: u64,
}

/// What a committed step means.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum News {
    /// The next step.
    Next(RunEvent),
    /// It is known already.
    Old,
    /// Steps before it are not known yet: the receipts have them.
    Gap,
}

impl Course {
    /// Takes note of the registration; returns the event if it is new.
    ///
    /// # Errors
    /// Another run, or other inputs, than before.
    pub(super) fn registered(
        &mut self,
        now: Registered,
    ) -> Result<Option<RunEvent>, OperatorError> {
        match &self.registered {
            None => {
                let event = RunEvent::Registered {
                    run: now.run,
                    blobs: now.blobs,
                };
                self.registered = Some(now);
                Ok(Some(event))
            }
            Some(before) if *before == now => Ok(None),
            Some(before) => Err(OperatorError::document(
                "run event",
                format!(
                    "run {} over {} blobs, after run {} over {}",
                    now.run, now.blobs, before.run, before.blobs
                ),
            )),
        }
    }

    /// Takes note of a step. Each counts once, in order.
    ///
    /// # Errors
    /// A second result of one step (I6), or a step of a run that is not registered.
    pub(super) fn committed(&mut self, step: CommittedStep) -> Result<News, OperatorError> {
        if self.registered.is_none() {
            return Err(OperatorError::document("run event", "never registered"));
        }
        let known = self.steps.iter().find(|known| known.step == step.step);
        if let Some(known) = known {
            let digest = |step: &CommittedStep| step.release.as_ref().map(|(_, digest)| *digest);
            return match digest(known) == digest(&step) {
                true => Ok(News::Old),
                false => Err(OperatorError::document(
                    "run event",
                    format!("two results of step {}", step.step),
                )),
            };
        }
        if step.step.0 != self.last().0 + 1 {
            return Ok(News::Gap);
        }
        self.steps.push(step.clone());
        Ok(News::Next(RunEvent::Committed(step)))
    }

    /// The run has its last step and is closed.
    pub(super) fn finish(&mut self) {
        self.over = true;
    }

    pub(super) fn is_over(&self) -> bool {
        self.over
    }

    pub(super) fn run(&self) -> Option<RunId> {
        Some(self.registered.as_ref()?.run)
    }

    /// The last step that is known; 0 before the first.
    pub(super) fn last(&self) -> Step {
        self.steps.last().map_or(Step(0), |step| step.step)
    }

    /// Grows with everything that is learned.
    pub(super) fn news(&self) -> usize {
        usize::from(self.registered.is_some()) + self.steps.len() + usize::from(self.over)
    }

    /// The whole run.
    ///
    /// # Errors
    /// It was never registered.
    pub(super) fn finished(self) -> Result<FinishedRun, OperatorError> {
        let Registered {
            run,
            input_root,
            blobs,
        } = self
            .registered
            .ok_or(OperatorError::document("run", "never registered"))?;
        Ok(FinishedRun {
            run,
            input_root,
            blobs,
            steps: self.steps,
        })
    }
}

#[cfg(test)]
mod tests {
    use siegel_ident::ObjectDigest;

    use super::*;

    fn registered(n: u8) -> Registered {
        Registered {
            run: RunId::from_bytes([n; 16]),
            input_root: InputRoot::of(b"inputs"),
            blobs: 3,
        }
    }

    fn step(n: u64, release: &[u8]) -> CommittedStep {
        CommittedStep {
            step: Step(n),
            release: Some((String::new(), ObjectDigest::of(release))),
        }
    }

    // I6: catches a step that counts twice, one that is skipped, and a second result of a step.
    #[test]
    fn each_step_counts_once_and_in_order() {
        let mut course = Course::default();
        assert!(course.committed(step(1, b"a")).is_err(), "not registered");
        assert!(course.registered(registered(1)).unwrap().is_some());
        assert!(course.registered(registered(1)).unwrap().is_none());
        assert!(course.registered(registered(2)).is_err(), "another run");
        assert_eq!(course.committed(step(2, b"b")).unwrap(), News::Gap);
        let next = News::Next(RunEvent::Committed(step(1, b"a")));
        assert_eq!(course.committed(step(1, b"a")).unwrap(), next);
        assert_eq!(course.committed(step(1, b"a")).unwrap(), News::Old);
        assert!(course.committed(step(1, b"other")).is_err());
        assert!(matches!(
            course.committed(step(2, b"b")).unwrap(),
            News::Next(_)
        ));
        let run = course.finished().unwrap();
        assert_eq!(run.steps.len(), 2);
    }
}
