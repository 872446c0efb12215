//! Grants as the real service would make them.

use prost::Message as _;
use siegel_attest::Role;
use siegel_ident::{
    Budget, Digest, EpochId, Fencing, InputRoot, ProgramDigest, RunId, Seconds, Timestamp,
};
use siegel_policy::testing::sample;
use siegel_policy::{AccessPolicy, KmsRule, Policy, RunParameters};
use siegel_seal::grant::{GrantRole, grant_info};
use siegel_seal::{KemPrivate, KemPublic, sealed_box};
use siegel_session::{Peer, PeerKeys};
use siegel_wire::v1;

use super::{World, measured};

/// What a worker is granted. Fields are public, so that a test can make one of them wrong.
pub struct FakeGrant {
    /// The run.
    pub run: RunId,
    /// Index key.
    pub index: [u8; 32],
    /// Epoch keys.
    pub epochs: Vec<(EpochId, KemPrivate)>,
    /// The granted root.
    pub root: PeerKeys,
    /// Its fencing number.
    pub fencing: Fencing,
    /// The policy.
    pub policy: Policy,
    /// The program.
    pub program: ProgramDigest,
    /// Digest of the plan.
    pub plan: Digest,
    /// Cost of each step.
    pub steps: Vec<Budget>,
    /// The registered inputs.
    pub input_root: InputRoot,
    /// Their number.
    pub blob_count: u64,
    /// Digest of the stored list of them.
    pub inputs: Digest,
    /// Length of the lease in seconds.
    pub lease: u64,
}

impl FakeGrant {
    /// Sealed to this worker, for the role and run as given.
    #[allow(clippy::unwrap_used)]
    pub fn to(&self, worker: &Peer, role: GrantRole, run: RunId) -> v1::WorkerGrant {
        let epochs = self.epochs.iter().map(|(epoch, key)| v1::EpochKey {
            epoch: epoch.0,
            kem_private: key.expose_bytes().to_vec(),
            suite: key.suite().number().into(),
        });
        let keys = v1::WorkerKeys {
            index: self.index.to_vec(),
            epochs: epochs.collect(),
        };
        let mut listed: Vec<u64> = self.epochs.iter().map(|(epoch, _)| epoch.0).collect();
        listed.dedup();
        let info = grant_info(run, role, worker.signing_key());
        let to = KemPublic::parse(worker.kem_key()).unwrap();
        let mut rng = siegel_platform::rng::os_rng();
        let sealed_keys = sealed_box::seal_box(&mut rng, &to, &info, &keys.encode_to_vec());
        let parameters = RunParameters::new(self.plan, self.steps.clone()).unwrap();
        v1::WorkerGrant {
            sealed_keys: sealed_keys.unwrap(),
            root_signing_key: self.root.signing_key.to_vec(),
            root_kem_key: self.root.kem_key.clone(),
            fencing: self.fencing.0,
            policy: self.policy.bytes().to_vec(),
            program_digest: self.program.to_vec(),
            parameters: parameters.to_bytes().unwrap(),
            input_root: self.input_root.to_vec(),
            blob_count: self.blob_count,
            epochs: listed,
            lease_seconds: self.lease,
            inputs: self.inputs.to_vec(),
        }
    }
}

impl World {
    /// A policy of this cluster that allows this program.
    pub fn policy(&self, program: ProgramDigest) -> AccessPolicy {
        let mut policy = sample();
        policy.not_before = Timestamp(0);
        policy.not_after = Timestamp(1 << 40);
        policy.log.origin = self.config().log_origin.clone();
        policy.kms = KmsRule {
            cluster_id: self.cluster(),
            config: self.config_digest(),
            reference_values: self.config().peers.clone(),
        };
        policy.roles.root.reference_values = vec![measured(Role::Root)];
        policy.roles.worker.reference_values = vec![measured(Role::Worker)];
        policy.programs = vec![program];
        policy.key_ttl = Seconds(3600);
        policy.min_blobs = 1;
        policy
    }
}
