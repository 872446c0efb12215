//! Runs, and their registration: the whole cost is debited first (I6).

use std::collections::BTreeSet;

use siegel_ident::{
    Budget, Digest, EpochId, Fencing, ObjectDigest, PolicyDigest, ProgramDigest, RunId, Step,
    Timestamp,
};
use siegel_ledger::Fact;

use super::World;
use super::chain::LoggedReceipt;
use super::cluster::{Cluster, Says, words};
use super::facts::running_total;
use crate::report::RunState;

/// A registered run.
pub(crate) struct Run {
    pub(crate) policy: PolicyDigest,
    pub(crate) program: ProgramDigest,
    pub(crate) pipeline: String,
    pub(crate) deadline: Timestamp,
    pub(crate) blob_count: u64,
    pub(crate) cost: Budget,
    pub(crate) used: Budget,
    pub(crate) planned: u64,
    pub(crate) step: Step,
    pub(crate) fencing: Fencing,
    /// What the next step must start from.
    pub(crate) head: Digest,
    pub(crate) releases: Vec<ObjectDigest>,
    /// The same, to look them up (I14: a cluster may claim any number of steps).
    pub(crate) released: BTreeSet<ObjectDigest>,
    pub(crate) state: RunState,
    pub(crate) registered_at: Timestamp,
    pub(crate) ended_at: Option<Timestamp>,
    /// Its keys are gone.
    pub(crate) erased: bool,
}

impl Cluster {
    /// The whole cost is debited before anything else can happen.
    pub(super) fn run_registered(
        &mut self,
        world: &World,
        logged: &LoggedReceipt,
        says: &mut Says<'_>,
    ) {
        let Fact::RunRegistered {
            run,
            policy,
            program,
            pipeline,
            epochs,
            deadline,
            blob_count,
            steps,
            cost,
            spent,
            ..
        } = &logged.fact
        else {
            return;
        };
        self.debit(*run, pipeline, *policy, (*cost, *spent), says);
        self.epochs_fit(*policy, epochs, *deadline, says);
        self.keys_were_offered(world, epochs, logged.index, says);
        self.is_endorsed(world, *policy, logged.index, says);
        if let Some(found) = world.policies.get(policy) {
            let rules = found.policy.rules();
            says.must(
                rules.pipeline == *pipeline,
                "run-other-pipeline",
                "I6",
                "the run's policy is one of another pipeline",
            );
            let allowed = rules.check_program(program);
            allowed.unwrap_or_else(|e| says.error("program-not-allowed", "I3", e));
            let enough = rules.check_blobs(*blob_count);
            enough.unwrap_or_else(|e| says.error("too-few-blobs", "I3", e));
            let open = rules.check_window(self.clock);
            open.unwrap_or_else(|e| says.error("policy-window", "I9", e));
        }
        match world.programs.get(program) {
            Some(index) if *index < logged.index => {}
            Some(_) => says.error(
                "program-logged-late",
                "I1",
                "the program was logged after the run",
            ),
            None => says.error(
                "program-not-logged",
                "I1",
                format!("{program} is not in the log"),
            ),
        }
        let record = Run {
            policy: *policy,
            program: *program,
            pipeline: pipeline.clone(),
            deadline: *deadline,
            blob_count: *blob_count,
            cost: *cost,
            used: Budget::ZERO,
            planned: *steps,
            step: Step(0),
            fencing: Fencing(0),
            head: logged.digest,
            releases: Vec::new(),
            released: BTreeSet::new(),
            state: RunState::Registered,
            registered_at: self.clock,
            ended_at: None,
            erased: false,
        };
        for epoch in epochs {
            self.readers.entry(*epoch).or_default().insert(*run);
        }
        let fresh = self.add_run(*run, record);
        says.must(fresh, "run-twice", "I6", "the run's id was used before");
    }

    /// `cost` and the running total that the receipt states after it.
    fn debit(
        &mut self,
        run: RunId,
        pipeline: &str,
        policy: PolicyDigest,
        (cost, spent): (Budget, Budget),
        says: &mut Says<'_>,
    ) {
        let Some(account) = self.pipelines.get_mut(pipeline) else {
            says.error(
                "run-policy",
                "I3",
                format!("pipeline {pipeline} has no registered policy"),
            );
            return;
        };
        let current = account.current == policy;
        says.must(
            current,
            "run-policy",
            "I3",
            "the run's policy is not the current one",
        );
        if let Err(e) = account.debit(cost) {
            let message = format!("the run costs {}: {e}", words(cost));
            says.error("budget-overspent", "I6", message);
        }
        running_total(account, spent, says);
        account.note(self.clock, Some(run));
    }

    fn epochs_fit(
        &self,
        policy: PolicyDigest,
        epochs: &[EpochId],
        deadline: Timestamp,
        says: &mut Says<'_>,
    ) {
        says.must(
            !epochs.is_empty(),
            "run-epochs",
            "I9",
            "the run reads no epoch",
        );
        says.must(
            self.clock < deadline,
            "run-deadline",
            "I9",
            "the deadline was over already",
        );
        for id in epochs {
            match self
                .epochs
                .get(id)
                .filter(|epoch| !epoch.over && epoch.policy == policy)
            {
                Some(epoch) => {
                    let fits = deadline <= epoch.expires;
                    says.must(fits, "run-deadline", "I9", "the run may outlive its epoch");
                }
                None => says.error(
                    "run-epochs",
                    "I9",
                    format!("epoch {id} is not one of its policy"),
                ),
            }
        }
    }

    /// I1: what the run reads was encrypted to a key whose evidence was public before. That an
    /// epoch has no such key at all is found when all receipts are replayed.
    fn keys_were_offered(
        &self,
        world: &World,
        epochs: &[EpochId],
        index: u64,
        says: &mut Says<'_>,
    ) {
        for id in epochs {
            let Some(epoch) = self.epochs.get(id) else {
                continue;
            };
            let mut keys = world.keys_of(self.id, *id).filter(|key| epoch.is_of(key));
            if keys.next().is_some_and(|first| first.index > index) {
                let why = format!("the key offer of epoch {id} was logged after the run");
                says.error("evidence-late", "I1", why);
            }
        }
    }
}
