//! TakeRun, Authorize, RenewLease: who gets keys, and for how long.

use siegel_attest::{ReferenceValue, Role, root_config, worker_config};
use siegel_ident::{ConfigDigest, PolicyDigest, RunId, Seconds};

use crate::limits::{LEASE, MAX_KEY, MAX_WORKERS};
use crate::query::RunPhase;
use crate::receipt::Fact;
use crate::refusal::bounded;
use crate::{Done, Effect, Ledger, Refusal, Workload, WorkloadRole};

impl Ledger {
    /// Gives a root the run. Every earlier incarnation loses the right to commit; from here on the
    /// run has given keys and there is no refund (I6).
    pub(crate) fn take_run(
        &mut self,
        id: RunId,
        root: &Workload,
        effects: &mut Vec<Effect>,
    ) -> Result<Done, Refusal> {
        let run = self.live_run(id)?;
        let policy = self.known_policy(run.policy)?;
        let config = root_config(self.config, run.program);
        let allowed = policy.allowed(Role::Root);
        root.is_allowed(WorkloadRole::Root, run.policy, allowed, config)?;
        let marks = self.newer(&root.marks)?;
        let fencing = run.fencing.next();
        let draft = self.draft(Fact::RunTaken { run: id, fencing })?;
        let run = self.run_mut(id)?;
        run.fencing = fencing;
        run.root = Some(root.unmarked());
        run.phase = RunPhase::Taken;
        self.state.marks = marks;
        self.record(draft, effects);
        Ok(Done::RunTaken { run: id, fencing })
    }

    /// Gives a worker the run's keys. A worker that has them gets them again.
    pub(crate) fn authorize(&mut self, id: RunId, worker: &Workload) -> Result<Done, Refusal> {
        let run = self.live_run(id)?;
        if run.phase != RunPhase::Taken {
            return Err(Refusal::RunNotTaken { run: id });
        }
        let policy = self.known_policy(run.policy)?;
        let config = worker_config(self.config);
        let allowed = policy.allowed(Role::Worker);
        worker.is_allowed(WorkloadRole::Worker, run.policy, allowed, config)?;
        let marks = self.newer(&worker.marks)?;
        let worker = worker.unmarked();
        let key = hex(&worker.signing_key);
        match run.workers.get(&key) {
            Some(known) if *known == worker => {
                self.state.marks = marks;
                return Ok(Done::WorkerAuthorized { run: id });
            }
            Some(_) => {
                return Err(Refusal::NotTheHolder {
                    run: id,
                    role: worker.role.as_str().to_owned(),
                });
            }
            None => {}
        }
        if run.workers.len() >= MAX_WORKERS {
            return Err(Refusal::Full {
                what: "workers of one run".to_owned(),
                max: MAX_WORKERS as u64,
            });
        }
        self.run_mut(id)?.workers.insert(key, worker);
        self.state.marks = marks;
        Ok(Done::WorkerAuthorized { run: id })
    }

    /// A lease ends at the run's deadline at the latest, and a run that is over gives none (I9).
    pub(crate) fn renew_lease(&self, id: RunId, by: &[u8]) -> Result<Done, Refusal> {
        let run = self.live_run(id)?;
        if !run.workers.contains_key(&hex(by)) {
            return Err(Refusal::NotTheHolder {
                run: id,
                role: WorkloadRole::Worker.as_str().to_owned(),
            });
        }
        let left = run.deadline.since(self.state.clock);
        Ok(Done::LeaseRenewed {
            lease: Seconds(LEASE.0.min(left.0)),
        })
    }
}

impl Workload {
    /// The policy names what was appraised, in this role and for this configuration (I3). The
    /// proposer appraised it; each replica looks again.
    pub(crate) fn is_allowed(
        &self,
        role: WorkloadRole,
        policy: PolicyDigest,
        allowed: &[ReferenceValue],
        config: ConfigDigest,
    ) -> Result<(), Refusal> {
        let refuse = |field: &str, found: String| Refusal::WorkloadNotAllowed {
            role: role.as_str().to_owned(),
            policy,
            field: field.to_owned(),
            found,
        };
        if self.role != role {
            return Err(refuse("role", self.role.as_str().to_owned()));
        }
        if !allowed.iter().any(|value| value.id() == self.measured) {
            return Err(refuse("measurement", self.measured.digest.to_string()));
        }
        if self.config != config {
            return Err(refuse("config", self.config.to_string()));
        }
        if self.signing_key.len() != 32 {
            return Err(refuse(
                "signing key",
                format!("{} bytes long", self.signing_key.len()),
            ));
        }
        bounded("kem_key", self.kem_key.len(), MAX_KEY)
    }
}

/// Signing keys as map keys; at most [`MAX_KEY`] bytes of a hostile one are spelled out.
fn hex(key: &[u8]) -> String {
    use std::fmt::Write as _;
    key.iter()
        .take(MAX_KEY)
        .fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
}
