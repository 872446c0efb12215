//! Policies, workloads and claims as the tests use them.

use siegel_attest::{ReferenceValue, root_config, worker_config};
use siegel_ident::{
    Budget, Delta, Digest, EpochId, InputRoot, Measurement, NanoRho, PolicyDigest, ProgramDigest,
    RunId, Seconds, Step, Timestamp,
};
use siegel_ledger::{Effect, Event, FreshRun, RunClaim, Workload, WorkloadRole, Wrapped};
use siegel_policy::testing::sample;
use siegel_policy::{AccessPolicy, KmsRule, RunParameters};

use crate::world::World;

pub(crate) const START: u64 = 1_700_000_000;
pub(crate) const TTL: u64 = 1000;
pub(crate) const PIPELINE: &str = "org.example.words";

pub(crate) fn cost(rho: u64, delta: u64) -> Budget {
    Budget {
        rho_nano: NanoRho(rho),
        delta0: Delta(delta),
    }
}

pub(crate) fn reference(name: &str) -> ReferenceValue {
    ReferenceValue::simulated(Measurement::of(name.as_bytes()))
}

pub(crate) fn program() -> ProgramDigest {
    ProgramDigest::of(b"program")
}

pub(crate) fn run_id(n: u8) -> RunId {
    RunId::from_bytes([n; 16])
}

impl World {
    /// A policy that this cluster takes.
    pub(crate) fn policy(&self) -> AccessPolicy {
        let mut policy = sample();
        policy.pipeline = PIPELINE.to_owned();
        policy.not_before = Timestamp(START);
        policy.not_after = Timestamp(START + 100_000);
        policy.log.origin = self.log.origin().to_owned();
        policy.kms = KmsRule {
            cluster_id: self.ledger.cluster_id(),
            config: self.config,
            reference_values: vec![reference("kms")],
        };
        policy.roles.root.reference_values = vec![reference("root")];
        policy.roles.worker.reference_values = vec![reference("worker")];
        policy.programs = vec![program()];
        policy.key_ttl = Seconds(TTL);
        policy.privacy.total = cost(100, 50);
        policy.min_blobs = 2;
        policy
    }

    /// The same, and its endorser must have vouched for all that it lets in.
    pub(crate) fn demanding(&self) -> AccessPolicy {
        let mut policy = self.policy();
        policy.endorsers = vec![self.endorser.key().digest()];
        policy
    }

    pub(crate) fn root(&self, n: u8) -> Workload {
        Workload {
            role: WorkloadRole::Root,
            measured: reference("root").id(),
            marks: Vec::new(),
            config: root_config(self.config, program()),
            signing_key: vec![n; 32],
            kem_key: vec![n; 1218],
        }
    }

    pub(crate) fn worker(&self, n: u8) -> Workload {
        Workload {
            role: WorkloadRole::Worker,
            measured: reference("worker").id(),
            marks: Vec::new(),
            config: worker_config(self.config),
            signing_key: vec![n; 32],
            kem_key: vec![n; 1218],
        }
    }

    /// A claim of two steps that costs (30, 6) in all.
    pub(crate) fn claim(&self, policy: PolicyDigest, epochs: Vec<EpochId>) -> RunClaim {
        RunClaim {
            policy,
            program: program(),
            parameters: parameters(&[cost(10, 2), cost(20, 4)]),
            epochs,
            deadline: Timestamp(self.now + 500),
            input_root: InputRoot::of(b"inputs"),
            blob_count: 10,
            inputs: Digest::of(b"list of inputs"),
            root: self.root(1),
        }
    }
}

pub(crate) fn parameters(steps: &[Budget]) -> Vec<u8> {
    let plan = Digest::of(b"plan");
    RunParameters::new(plan, steps.to_vec())
        .unwrap()
        .to_bytes()
        .unwrap()
}

pub(crate) fn fresh(n: u8) -> FreshRun {
    FreshRun {
        run: run_id(n),
        secret: Wrapped::new(vec![n; 60]),
    }
}

pub(crate) fn run_event(n: u8, claim: &RunClaim) -> Event {
    Event::RegisterRun {
        claim: claim.clone(),
        fresh: Some(fresh(n)),
    }
}

pub(crate) fn receipts_of(effects: &[Effect]) -> Vec<u64> {
    effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Receipt { seq, .. } => Some(*seq),
            _ => None,
        })
        .collect()
}

pub(crate) fn first_release(run: RunId, bundle: Vec<u8>) -> Event {
    Event::OpenRelease {
        run,
        step: Step(1),
        bundle,
    }
}
