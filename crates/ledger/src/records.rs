//! Finding a record or saying why not, and adding receipts.

use siegel_ident::{EpochId, Fencing, PolicyDigest, ReceiptDigest, RunId};
use siegel_policy::{AccessPolicy, Policy};

use crate::chain::Draft;
use crate::query::RunPhase;
use crate::receipt::Fact;
use crate::state::{Epoch, PolicyRecord, Run};
use crate::{Effect, Ledger, Refusal};

impl Ledger {
    /// A registered policy, current or not.
    pub(crate) fn known_policy(&self, digest: PolicyDigest) -> Result<&Policy, Refusal> {
        self.policy_record(digest).map(|record| &record.policy)
    }

    fn policy_record(&self, digest: PolicyDigest) -> Result<&PolicyRecord, Refusal> {
        let record = self.state.policies.get(&digest);
        record.ok_or(Refusal::UnknownPolicy { policy: digest })
    }

    /// A policy under which something new may start: the current one of its pipeline, in its window,
    /// and endorsed. What has started ends with the epochs, which end with both.
    pub(crate) fn current_policy(&self, digest: PolicyDigest) -> Result<&PolicyRecord, Refusal> {
        let record = self.policy_record(digest)?;
        let current = self
            .state
            .pipelines
            .get(&record.policy.pipeline)
            .map(|pipeline| pipeline.current)
            .ok_or(Refusal::UnknownPolicy { policy: digest })?;
        if current != digest {
            return Err(Refusal::PolicySuperseded {
                policy: digest,
                current,
            });
        }
        self.in_window(&record.policy)?;
        self.is_endorsed(record)?;
        Ok(record)
    }

    /// Valid while `not_before <= clock < not_after` (I9).
    pub(crate) fn in_window(&self, policy: &AccessPolicy) -> Result<(), Refusal> {
        let clock = self.state.clock;
        policy
            .check_window(clock)
            .map_err(|_| Refusal::OutsideWindow {
                not_before: policy.not_before,
                not_after: policy.not_after,
                clock,
            })
    }

    /// An epoch whose keys exist.
    pub(crate) fn live_epoch(&self, epoch: EpochId) -> Result<&Epoch, Refusal> {
        match self.state.epochs.get(&epoch) {
            Some(live) => Ok(live),
            None if epoch.0 >= 1 && epoch <= self.state.last_epoch => {
                Err(Refusal::EpochExpired { epoch })
            }
            None => Err(Refusal::UnknownEpoch { epoch }),
        }
    }

    /// A run whose secret exists, over or not.
    pub(crate) fn kept_run(&self, id: RunId) -> Result<&Run, Refusal> {
        let run = self
            .state
            .runs
            .get(&id)
            .ok_or(Refusal::UnknownRun { run: id })?;
        if run.phase == RunPhase::Cancelled {
            return Err(Refusal::RunOver {
                run: id,
                phase: run.phase,
            });
        }
        if run.erased() {
            return Err(Refusal::RunErased {
                run: id,
                expires: run.expires,
            });
        }
        Ok(run)
    }

    /// A run that may still give keys and take steps (I3, I9).
    pub(crate) fn live_run(&self, id: RunId) -> Result<&Run, Refusal> {
        let run = self.kept_run(id)?;
        if run.is_open() {
            Ok(run)
        } else {
            Err(Refusal::RunOver {
                run: id,
                phase: run.phase,
            })
        }
    }

    /// A live run, asked for by the root that holds it.
    pub(crate) fn held_run(&self, id: RunId, fencing: Fencing, by: &[u8]) -> Result<&Run, Refusal> {
        let run = self.live_run(id)?;
        let Some(root) = &run.root else {
            return Err(Refusal::RunNotTaken { run: id });
        };
        run.fenced(fencing)?;
        if root.signing_key != by {
            return Err(Refusal::NotTheHolder {
                run: id,
                role: root.role.as_str().to_owned(),
            });
        }
        Ok(run)
    }

    /// For changing a run that one of the above has found.
    pub(crate) fn run_mut(&mut self, id: RunId) -> Result<&mut Run, Refusal> {
        self.state
            .runs
            .get_mut(&id)
            .ok_or(Refusal::UnknownRun { run: id })
    }

    /// Writes the next receipt. Drafted before anything changes, so that a failure changes nothing.
    pub(crate) fn draft(&self, fact: Fact) -> Result<Draft, Refusal> {
        self.state.chain.draft(self.cluster, self.state.clock, fact)
    }

    /// Adds a drafted receipt to the chain and tells the shell to sign it (I17).
    pub(crate) fn record(
        &mut self,
        draft: Draft,
        effects: &mut Vec<Effect>,
    ) -> (u64, ReceiptDigest) {
        let (seq, digest) = self.state.chain.push(draft);
        effects.push(Effect::Receipt { seq, digest });
        (seq, digest)
    }
}

impl Run {
    /// Neither ended nor past its deadline.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.phase, RunPhase::Registered | RunPhase::Taken)
    }

    /// Only the largest fencing number may act (I6).
    pub(crate) fn fenced(&self, fencing: Fencing) -> Result<(), Refusal> {
        if fencing == self.fencing {
            Ok(())
        } else {
            Err(Refusal::StaleFencing {
                found: fencing,
                current: self.fencing,
            })
        }
    }
}
