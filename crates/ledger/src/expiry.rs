//! What is over is erased (I9).

use siegel_ident::{EpochId, RunId};

use crate::query::RunPhase;
use crate::receipt::Fact;
use crate::state::{Run, RunSecret};
use crate::{Effect, Ledger};

impl Ledger {
    /// Ends runs past their deadline, then erases epochs past their TTL and every run over them.
    pub(crate) fn expire(&mut self, effects: &mut Vec<Effect>) {
        self.end_late_runs(effects);
        let clock = self.state.clock;
        let over: Vec<EpochId> = self
            .state
            .epochs
            .iter()
            .filter(|(_, epoch)| epoch.expires <= clock)
            .map(|(id, _)| *id)
            .collect();
        for epoch in over {
            self.erase_epoch(epoch, effects);
        }
    }

    /// A deadline is never after the expiry of the run's epochs, so that every run is over before
    /// it is erased.
    fn end_late_runs(&mut self, effects: &mut Vec<Effect>) {
        let clock = self.state.clock;
        let late: Vec<RunId> = self
            .state
            .runs
            .iter()
            .filter(|(_, run)| run.is_open() && run.deadline <= clock)
            .map(|(id, _)| *id)
            .collect();
        for id in late {
            let Some(run) = self.state.runs.get_mut(&id) else {
                continue;
            };
            run.phase = RunPhase::Expired;
            let step = run.step();
            effects.push(Effect::EndRun(id));
            self.note(Fact::RunExpired { run: id, step }, effects);
        }
    }

    fn erase_epoch(&mut self, epoch: EpochId, effects: &mut Vec<Effect>) {
        self.state.epochs.remove(&epoch);
        effects.push(Effect::EraseEpoch(epoch));
        let mut erased = Vec::new();
        for (id, run) in &mut self.state.runs {
            if run.epochs.contains(&epoch) && !run.erased() {
                run.erase();
                effects.push(Effect::EraseRun(*id));
                erased.push(*id);
            }
        }
        self.note(
            Fact::EpochExpired {
                epoch,
                runs: erased,
            },
            effects,
        );
    }

    /// Adds the receipt of something that cannot be refused. Its length is bounded by the number of
    /// live runs, so that it always fits.
    fn note(&mut self, fact: Fact, effects: &mut Vec<Effect>) {
        if let Ok(draft) = self.draft(fact) {
            self.record(draft, effects);
        }
    }
}

impl Run {
    /// Drops the secret and all that served only to use it.
    pub(crate) fn erase(&mut self) {
        self.secret = RunSecret::Erased;
        self.parameters = Vec::new();
        self.root = None;
        self.workers.clear();
        for step in &mut self.steps {
            if let Some(release) = &mut step.commit.release {
                release.header = Vec::new();
            }
        }
    }
}
