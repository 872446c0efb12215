//! What happens to a registered run: taken, stepped, ended (I6).

use siegel_ident::{Budget, Fencing, RunId, Step, Timestamp};
use siegel_ledger::Fact;

use super::cluster::{Cluster, Says};
use super::facts::running_total;
use super::runs::Run;
use crate::report::RunState;

impl Cluster {
    /// Everything that happens to a run after its registration.
    pub(super) fn run_fact(&mut self, fact: &Fact, says: &mut Says<'_>) {
        let (Fact::RunTaken { run: id, .. }
        | Fact::StepCommitted { run: id, .. }
        | Fact::RunCancelled { run: id, .. }
        | Fact::RunAbandoned { run: id, .. }
        | Fact::RunFinished { run: id, .. }
        | Fact::RunExpired { run: id, .. }) = fact
        else {
            return;
        };
        let clock = self.clock;
        let Some(run) = self.runs.get_mut(id) else {
            says.error(
                "run-unknown",
                "I6",
                format!("run {id} was never registered"),
            );
            return;
        };
        says.must(run.is_open(), "run-after-end", "I6", "the run had ended");
        match fact {
            Fact::RunTaken { fencing, .. } => {
                says.must(
                    *fencing > run.fencing,
                    "fencing",
                    "I6",
                    "the fencing number did not grow",
                );
                (run.fencing, run.state) = (*fencing, RunState::Taken);
            }
            Fact::StepCommitted { .. } => run.commit(fact, clock, says),
            Fact::RunCancelled {
                pipeline,
                refund,
                spent,
                ..
            } => {
                let untouched = run.fencing == Fencing(0);
                says.must(
                    untouched,
                    "refund-after-keys",
                    "I6",
                    "a run that had keys was refunded",
                );
                let whole = *refund == run.cost && *pipeline == run.pipeline;
                says.must(
                    whole,
                    "refund",
                    "I6",
                    "the refund is not what the run was debited",
                );
                (run.state, run.erased) = (RunState::Cancelled, true);
                run.ended_at = Some(clock);
                self.refund(*id, pipeline, (*refund, *spent), says);
            }
            Fact::RunAbandoned { step, .. } => run.end(RunState::Abandoned, *step, clock, says),
            Fact::RunExpired { step, .. } => {
                says.must(
                    run.deadline <= clock,
                    "run-early",
                    "I9",
                    "it expired before its deadline",
                );
                run.end(RunState::Expired, *step, clock, says);
            }
            Fact::RunFinished { step, .. } => {
                let whole = step.0 == run.planned && run.used == run.cost;
                says.must(
                    whole,
                    "run-unfinished",
                    "I6",
                    "it finished before its last step",
                );
                run.end(RunState::Finished, *step, clock, says);
            }
            _ => {}
        }
    }

    /// `refund` and the running total that the receipt states after it.
    fn refund(
        &mut self,
        run: RunId,
        pipeline: &str,
        (refund, spent): (Budget, Budget),
        says: &mut Says<'_>,
    ) {
        if let Some(account) = self.pipelines.get_mut(pipeline) {
            if let Err(e) = account.refund(refund) {
                says.error(
                    "refund-beyond-debit",
                    "I6",
                    format!("more was returned than debited: {e}"),
                );
            }
            running_total(account, spent, says);
            account.note(self.clock, Some(run));
        }
    }
}

impl Run {
    /// One result per step, by compare-and-set, paid from the allotment.
    fn commit(&mut self, fact: &Fact, clock: Timestamp, says: &mut Says<'_>) {
        let Fact::StepCommitted {
            policy,
            step,
            fencing,
            previous_state,
            checkpoint,
            release,
            cost,
            used,
            ..
        } = fact
        else {
            return;
        };
        let taken = self.fencing > Fencing(0) && *fencing == self.fencing;
        says.must(
            taken,
            "fencing",
            "I6",
            "committed by a root that did not hold the run",
        );
        says.must(
            *policy == self.policy,
            "step-policy",
            "I3",
            "committed under another policy",
        );
        let next = *step == self.step.next() && step.0 <= self.planned;
        says.must(
            next,
            "step-order",
            "I6",
            "not the run's next step: a step has one result",
        );
        says.must(
            *previous_state == self.head,
            "step-state",
            "I6",
            "does not follow the last state",
        );
        says.must(
            clock < self.deadline,
            "step-late",
            "I9",
            "committed after the deadline",
        );
        match self.used.plus(*cost) {
            Ok(sum) if sum == *used && sum.within(self.cost) => {}
            _ => says.error(
                "step-cost",
                "I6",
                "the steps cost more than, or other than, was debited",
            ),
        }
        if let Some(release) = release {
            says.must(
                self.released.insert(*release),
                "release-twice",
                "I6",
                "names the release of an earlier step as its own",
            );
        }
        (self.step, self.head, self.used) = (*step, checkpoint.digest(), *used);
        self.releases.extend(*release);
    }

    fn end(&mut self, state: RunState, step: Step, clock: Timestamp, says: &mut Says<'_>) {
        says.must(
            step == self.step,
            "run-end",
            "I6",
            "its last step is not the last committed one",
        );
        (self.state, self.ended_at) = (state, Some(clock));
        // A step after the end is an error, whatever it releases.
        self.released.clear();
    }
}
