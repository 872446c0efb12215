//! RegisterRun: the whole cost is debited before any key is released (I6).

use siegel_attest::{Role, root_config};
use siegel_ident::{Budget, Digest, EpochId, Fencing, PolicyDigest, RunId, Timestamp, Transcript};
use siegel_policy::{AccessPolicy, RunParameters};

use crate::limits::{MAX_INTEGER, MAX_LIVE_RUNS, MAX_RUN_EPOCHS, MAX_RUNS, MAX_WRAPPED};
use crate::query::RunPhase;
use crate::receipt::Fact;
use crate::refusal::{bounded, detail};
use crate::state::{Run, RunSecret};
use crate::{Done, Effect, FreshRun, Ledger, Refusal, RunClaim, WorkloadRole};

impl Ledger {
    /// Registers a run and debits its whole cost. Nobody gets a key: that is what TakeRun is for,
    /// and until then the run can be cancelled.
    pub(crate) fn register_run(
        &mut self,
        claim: &RunClaim,
        fresh: Option<&FreshRun>,
        effects: &mut Vec<Effect>,
    ) -> Result<Done, Refusal> {
        let parameters = RunParameters::parse(&claim.parameters)
            .map_err(|e| Refusal::BadParameters { detail: detail(&e) })?;
        let policy = &self.current_policy(claim.policy)?.policy;
        self.policy_allows(policy, claim)?;
        let expires = self.first_expiry(claim.policy, &claim.epochs)?;
        self.deadline_fits(claim.deadline, expires)?;
        let pipeline = policy.pipeline.clone();
        let spent = self.debit(&pipeline, parameters.total)?;
        let ordinal = self.state.last_ordinal.saturating_add(1);
        let (id, secret) = self.new_run(ordinal, fresh)?;
        self.room_for_a_run()?;
        let marks = self.newer(&claim.root.marks)?;

        let draft = self.draft(Fact::RunRegistered {
            run: id,
            policy: claim.policy,
            program: claim.program,
            pipeline: pipeline.clone(),
            parameters: Digest::of(&claim.parameters),
            epochs: claim.epochs.clone(),
            deadline: claim.deadline,
            input_root: claim.input_root,
            blob_count: claim.blob_count,
            steps: parameters.steps.len() as u64,
            cost: parameters.total,
            spent,
        })?;
        if let Some(account) = self.state.pipelines.get_mut(&pipeline) {
            account.spent = spent;
        }
        self.state.last_ordinal = ordinal;
        self.state.marks = marks;
        self.forget_oldest_run();
        let (registration, registration_digest) = self.record(draft, effects);
        let run = Run {
            ordinal,
            policy: claim.policy,
            pipeline,
            program: claim.program,
            parameters: claim.parameters.clone(),
            allotment: parameters.steps,
            total: parameters.total,
            epochs: claim.epochs.clone(),
            deadline: claim.deadline,
            expires,
            input_root: claim.input_root,
            blob_count: claim.blob_count,
            inputs: claim.inputs,
            registration,
            registration_digest,
            secret,
            phase: RunPhase::Registered,
            fencing: Fencing(0),
            root: None,
            workers: Default::default(),
            steps: Vec::new(),
        };
        self.state.runs.insert(id, run);
        Ok(Done::RunRegistered {
            run: id,
            receipt: registration,
        })
    }

    /// Program, asking root and number of blobs are what the policy names (I3).
    fn policy_allows(&self, policy: &AccessPolicy, claim: &RunClaim) -> Result<(), Refusal> {
        policy
            .check_program(&claim.program)
            .map_err(|_| Refusal::ProgramNotAllowed {
                program: claim.program,
                policy: claim.policy,
            })?;
        let config = root_config(self.config, claim.program);
        let allowed = policy.allowed(Role::Root);
        claim
            .root
            .is_allowed(WorkloadRole::Root, claim.policy, allowed, config)?;
        policy
            .check_blobs(claim.blob_count)
            .map_err(|_| Refusal::TooFewBlobs {
                count: claim.blob_count,
                min: policy.min_blobs,
            })?;
        bounded("blob_count", claim.blob_count, MAX_INTEGER)
    }

    /// The epochs are live, of this policy and in one order; returns the first expiry among them.
    fn first_expiry(&self, policy: PolicyDigest, epochs: &[EpochId]) -> Result<Timestamp, Refusal> {
        let bad = Refusal::BadEpochs {
            max: MAX_RUN_EPOCHS as u64,
        };
        if epochs.len() > MAX_RUN_EPOCHS || !epochs.is_sorted_by(|a, b| a < b) {
            return Err(bad);
        }
        let mut first = None;
        for id in epochs {
            let epoch = self.live_epoch(*id)?;
            if epoch.policy != policy {
                return Err(Refusal::ForeignEpoch {
                    epoch: *id,
                    owner: epoch.policy,
                });
            }
            first = Some(first.map_or(epoch.expires, |first: Timestamp| first.min(epoch.expires)));
        }
        first.ok_or(bad)
    }

    fn deadline_fits(&self, deadline: Timestamp, latest: Timestamp) -> Result<(), Refusal> {
        let clock = self.state.clock;
        if clock < deadline && deadline <= latest {
            return Ok(());
        }
        Err(Refusal::BadDeadline {
            deadline,
            clock,
            latest,
        })
    }

    /// The pipeline's running total after paying `cost`, if that much is left (I6).
    fn debit(&self, pipeline: &str, cost: Budget) -> Result<Budget, Refusal> {
        let Some(account) = self.state.pipelines.get(pipeline) else {
            return Err(Refusal::BudgetExhausted {
                pipeline: pipeline.to_owned(),
                asked: cost,
                left: Budget::ZERO,
            });
        };
        // The sum must fit, not only the cost: where a new version lowered one part of the total
        // below what was spent, a run that costs nothing of that part would still break its promise.
        match account.spent.plus(cost) {
            Ok(spent) if spent.within(account.total) => Ok(spent),
            _ => Err(Refusal::BudgetExhausted {
                pipeline: pipeline.to_owned(),
                asked: cost,
                left: account.left(),
            }),
        }
    }

    /// Id and secret: the proposer's, or those of the genesis' seed, never a mixture (I7, I11).
    fn new_run(
        &self,
        ordinal: u64,
        fresh: Option<&FreshRun>,
    ) -> Result<(RunId, RunSecret), Refusal> {
        let (id, secret) = match (&self.genesis.config.seed, fresh) {
            (Some(seed), None) => (seeded_run_id(seed, ordinal), RunSecret::Seeded),
            (None, Some(fresh)) => {
                bounded("secret", fresh.secret.as_bytes().len(), MAX_WRAPPED)?;
                (fresh.run, RunSecret::Wrapped(fresh.secret.clone()))
            }
            _ => return Err(Refusal::FreshValues {}),
        };
        if self.state.runs.contains_key(&id) {
            return Err(Refusal::RunExists { run: id });
        }
        Ok((id, secret))
    }

    fn room_for_a_run(&self) -> Result<(), Refusal> {
        let live = self.state.runs.values().filter(|run| !run.erased()).count();
        if live < MAX_LIVE_RUNS {
            return Ok(());
        }
        Err(Refusal::Full {
            what: "runs with keys".to_owned(),
            max: MAX_LIVE_RUNS as u64,
        })
    }

    /// Keeps the table of runs bounded; only a run without secrets is forgotten.
    fn forget_oldest_run(&mut self) {
        if self.state.runs.len() < MAX_RUNS {
            return;
        }
        let erased = self.state.runs.iter().filter(|(_, run)| run.erased());
        let oldest = erased.min_by_key(|(_, run)| run.ordinal).map(|(id, _)| *id);
        if let Some(id) = oldest {
            self.state.runs.remove(&id);
        }
    }
}

/// The id of the `ordinal`-th run of a cluster with a seed. It binds nothing random, so that the
/// same simulation has the same ids (DESIGN section 10).
fn seeded_run_id(seed: &[u8; 32], ordinal: u64) -> RunId {
    let digest = Transcript::new("siegel/seeded-run-id/v1")
        .field(seed)
        .u64(ordinal)
        .digest();
    let mut id = [0u8; 16];
    for (to, from) in id.iter_mut().zip(digest.as_bytes()) {
        *to = *from;
    }
    RunId::from_bytes(id)
}
