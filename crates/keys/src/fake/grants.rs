//! Grants as the real service would make them.

use prost::Message as _;
use siegel_attest::Role;
use siegel_dp::zcdp;
use siegel_ident::{
    Budget, Delta, Digest, EpochId, Fencing, InputRoot, ProgramDigest, RunId, Seconds, Timestamp,
};
use siegel_policy::{
    AccessPolicy, Adjacency, Bounds, Column, ColumnKind, InputSchema, KmsRule, LogRule, Mechanism,
    Policy, Privacy, Recipient, RoleRule, Roles, RunParameters, Unit,
};
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
    #[allow(clippy::unwrap_used)]
    pub fn policy(&self, program: ProgramDigest) -> AccessPolicy {
        let (epsilon, delta) = ("2".parse().unwrap(), "0.000001".parse().unwrap());
        let role = |role| RoleRule {
            reference_values: vec![measured(role)],
        };
        AccessPolicy {
            schema: AccessPolicy::SCHEMA.into(),
            name: "word-histogram".into(),
            pipeline: "org.example.words".into(),
            predecessor: None,
            not_before: Timestamp(0),
            not_after: Timestamp(1 << 40),
            profile: self.config().profile,
            log: LogRule {
                origin: self.config().log_origin.clone(),
                witnesses: 0,
            },
            kms: KmsRule {
                cluster_id: self.cluster(),
                config: self.config_digest(),
                reference_values: self.config().peers.clone(),
            },
            roles: Roles {
                root: role(Role::Root),
                worker: role(Role::Worker),
            },
            programs: vec![program],
            sideloads: vec![],
            input: InputSchema {
                columns: vec![Column {
                    name: "words".into(),
                    kind: ColumnKind::Words,
                }],
            },
            suites: vec![1, 2],
            key_ttl: Seconds(3600),
            privacy: Privacy {
                unit: Unit::Installation,
                adjacency: Adjacency::ZeroOut,
                mechanisms: vec![Mechanism::DiscreteGaussian],
                total: Budget {
                    rho_nano: zcdp::max_rho(1.9, 0.000_000_9),
                    delta0: Delta(0),
                },
                epsilon,
                delta,
            },
            bounds: Bounds {
                max_items_per_user: 32,
            },
            min_blobs: 1,
            public_counters: vec!["blobs".into()],
            recipients: vec![Recipient::Public],
            rebuilders: 0,
        }
    }
}
