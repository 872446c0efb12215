//! CancelRun, AbandonRun, FinishRun: how a run ends before its deadline.

use siegel_ident::{Budget, Delta, Fencing, NanoRho, RunId};

use crate::query::RunPhase;
use crate::receipt::Fact;
use crate::{Done, Effect, Ledger, Refusal};

impl Ledger {
    /// Takes back a run that nobody has taken and returns its whole cost: the only refund (I6). No
    /// key was made for it, so nothing can have been learnt.
    pub(crate) fn cancel_run(
        &mut self,
        id: RunId,
        effects: &mut Vec<Effect>,
    ) -> Result<Done, Refusal> {
        if self.has_ended_as(id, RunPhase::Cancelled) {
            return Ok(Done::RunCancelled { run: id });
        }
        let run = self.live_run(id)?;
        if run.phase != RunPhase::Registered {
            return Err(Refusal::RunHasKeys { run: id });
        }
        let (pipeline, refund) = (run.pipeline.clone(), run.total);
        let account = self.state.pipelines.get(&pipeline);
        let spent = account.map_or(Budget::ZERO, |account| less(account.spent, refund));
        let draft = self.draft(Fact::RunCancelled {
            run: id,
            pipeline: pipeline.clone(),
            refund,
            spent,
        })?;
        if let Some(account) = self.state.pipelines.get_mut(&pipeline) {
            account.spent = spent;
        }
        let run = self.run_mut(id)?;
        run.phase = RunPhase::Cancelled;
        run.erase();
        effects.push(Effect::EraseRun(id));
        self.record(draft, effects);
        Ok(Done::RunCancelled { run: id })
    }

    /// Ends a run early, whatever it has committed. Nothing is returned, also for steps that were
    /// never made: its root may have looked (I6).
    pub(crate) fn abandon_run(
        &mut self,
        id: RunId,
        fencing: Fencing,
        by: &[u8],
        effects: &mut Vec<Effect>,
    ) -> Result<Done, Refusal> {
        if self.has_ended_as(id, RunPhase::Abandoned) {
            return Ok(Done::RunAbandoned { run: id });
        }
        let step = self.held_run(id, fencing, by)?.step();
        self.end(
            id,
            RunPhase::Abandoned,
            Fact::RunAbandoned { run: id, step },
            effects,
        )?;
        Ok(Done::RunAbandoned { run: id })
    }

    /// Ends a run whose planned steps are all committed. Its secret then serves only to open its
    /// releases, until the first of its epochs expires.
    pub(crate) fn finish_run(
        &mut self,
        id: RunId,
        fencing: Fencing,
        by: &[u8],
        effects: &mut Vec<Effect>,
    ) -> Result<Done, Refusal> {
        if self.has_ended_as(id, RunPhase::Finished) {
            return Ok(Done::RunFinished { run: id });
        }
        let run = self.held_run(id, fencing, by)?;
        let (step, planned) = (run.step(), run.allotment.len() as u64);
        if step.0 != planned {
            return Err(Refusal::RunUnfinished {
                run: id,
                done: step,
                planned,
            });
        }
        self.end(
            id,
            RunPhase::Finished,
            Fact::RunFinished { run: id, step },
            effects,
        )?;
        Ok(Done::RunFinished { run: id })
    }

    fn end(
        &mut self,
        id: RunId,
        phase: RunPhase,
        fact: Fact,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Refusal> {
        let draft = self.draft(fact)?;
        self.run_mut(id)?.phase = phase;
        effects.push(Effect::EndRun(id));
        self.record(draft, effects);
        Ok(())
    }

    fn has_ended_as(&self, id: RunId, phase: RunPhase) -> bool {
        self.state
            .runs
            .get(&id)
            .is_some_and(|run| run.phase == phase)
    }
}

fn less(spent: Budget, refund: Budget) -> Budget {
    Budget {
        rho_nano: NanoRho(spent.rho_nano.0.saturating_sub(refund.rho_nano.0)),
        delta0: Delta(spent.delta0.0.saturating_sub(refund.delta0.0)),
    }
}
