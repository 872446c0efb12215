//! CommitStep: one step has one result (I6).

use siegel_ident::{Budget, Step};

use crate::limits::MAX_RELEASE_HEADER;
use crate::receipt::Fact;
use crate::refusal::bounded;
use crate::state::Committed;
use crate::{Done, Effect, Ledger, Refusal, StepCommit};

impl Ledger {
    /// Commits the next step by compare-and-set. The very same commit again, from anyone and at any
    /// time, gets the same answer: it is public and holds no key.
    pub(crate) fn commit_step(
        &mut self,
        commit: &StepCommit,
        by: &[u8],
        effects: &mut Vec<Effect>,
    ) -> Result<Done, Refusal> {
        if let Some(receipt) = self.committed_already(commit) {
            return Ok(Done::StepCommitted {
                run: commit.run,
                step: commit.step,
                receipt,
            });
        }
        let run = self.held_run(commit.run, commit.fencing, by)?;
        let planned = run.allotment.len() as u64;
        let next = run.step().next();
        let allotted = run.allotment.get(run.steps.len()).copied();
        let Some(cost) = allotted.filter(|_| commit.step == next) else {
            return Err(Refusal::WrongStep {
                found: commit.step,
                next,
                planned,
            });
        };
        if commit.previous != run.head() {
            return Err(Refusal::WrongPrevious { step: next });
        }
        if commit.cost != cost {
            return Err(Refusal::WrongCost {
                step: next,
                found: commit.cost,
                planned: cost,
            });
        }
        if let Some(release) = &commit.release {
            bounded("release_header", release.header.len(), MAX_RELEASE_HEADER)?;
        }
        let before = run.steps.last().map_or(Budget::ZERO, |last| last.used);
        let used = before.plus(cost).map_err(|_| Refusal::WrongCost {
            step: next,
            found: commit.cost,
            planned: cost,
        })?;
        let draft = self.draft(Fact::StepCommitted {
            run: commit.run,
            policy: run.policy,
            step: next,
            fencing: commit.fencing,
            previous_state: commit.previous,
            checkpoint: commit.next,
            release: commit.release.as_ref().map(|release| release.digest),
            cost,
            used,
        })?;
        let seq = draft.seq;
        let committed = Committed {
            commit: commit.clone(),
            used,
            receipt: seq,
        };
        self.run_mut(commit.run)?.steps.push(committed);
        self.record(draft, effects);
        Ok(Done::StepCommitted {
            run: commit.run,
            step: next,
            receipt: seq,
        })
    }

    fn committed_already(&self, commit: &StepCommit) -> Option<u64> {
        let run = self.state.runs.get(&commit.run)?;
        let committed = run
            .committed(commit.step)
            .filter(|_| commit.step > Step(0))?;
        (committed.commit == *commit).then_some(committed.receipt)
    }
}
