//! A log, and the cluster, publisher and endorser in it.

use siegel_attest::simulated::Attester;
use siegel_attest::{ClusterConfig, Genesis, Profile, ReferenceValue};
use siegel_ident::{
    Budget, ClusterId, Delta, Digest, Measurement, NanoRho, PolicyDigest, ProgramDigest, Seconds,
    Secret, Timestamp, WitnessQuorum,
};
use siegel_ledger::Receipt;
use siegel_policy::{
    AccessPolicy, Adjacency, Bounds, Column, ColumnKind, InputSchema, KmsRule, LogRule, Mechanism,
    Privacy, Recipient, RoleRule, Roles, Unit,
};
use siegel_rekor::{Log, LogKey, LogReader, Storage};
use siegel_translog::{Bundle, Envelope, HashedRekord, LogAnchors, Statement, predicate};

use super::{Signer, Told};
use crate::{AuditAnchors, AuditReport, audit};

/// When the first policy begins, and the first receipt is written.
pub const START: u64 = 1_700_000_000;
/// The auditor's clock.
pub const NOW: Timestamp = Timestamp(START);
/// How long keys live, in seconds.
pub const TTL: u64 = 1000;
/// The pipeline of both policies.
pub const PIPELINE: &str = "org.example.words";
/// The bytes of the one program.
pub const PROGRAM: &[u8] = b"a program";
const ORIGIN: &str = "log.example.test";

/// A log, and who writes in it.
pub struct Scene {
    /// Where all of it is written.
    pub log: Log,
    /// Signs receipts and key bundles.
    pub cluster: Signer,
    /// Publishes policies, programs and the genesis.
    pub author: Signer,
    /// Whom the policies believe.
    pub endorser: Signer,
    /// The simulation root.
    pub attester: Attester,
    /// The cluster's birth.
    pub genesis: Genesis,
    /// What is done otherwise than it should be.
    pub told: Told,
}

/// The key of every scene's log.
pub fn log_key() -> LogKey {
    LogKey::from_seed(ORIGIN, &Secret::new([5; 32])).unwrap()
}

/// A note that the scenes' log key signs, whatever it says.
pub fn signed_note(size: u64, root: Digest) -> String {
    let pair = ring::signature::Ed25519KeyPair::from_seed_unchecked(&[5; 32]).unwrap();
    let checkpoint = siegel_translog::Checkpoint {
        origin: ORIGIN.to_owned(),
        size,
        root,
    };
    let signature = pair.sign(checkpoint.note_text().as_bytes());
    let signature = signature.as_ref().try_into().unwrap();
    checkpoint.to_note(&log_key().public_key(), &signature)
}

/// A budget of so much ρ (nano-zCDP) and δ₀ (2⁻⁶⁴).
pub fn budget(rho: u64, delta: u64) -> Budget {
    Budget {
        rho_nano: NanoRho(rho),
        delta0: Delta(delta),
    }
}

/// The simulated measurement of a name.
pub fn reference(name: &str) -> ReferenceValue {
    ReferenceValue::simulated(Measurement::of(name.as_bytes()))
}

impl Scene {
    /// In memory.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        Self::over(Log::open(&Storage::Memory, log_key()).unwrap())
    }

    /// On a given log.
    pub fn over(log: Log) -> Self {
        let cluster = Signer::generate();
        let attester = Attester::new(&Secret::new([4; 32])).unwrap();
        let LogAnchors { origin, key, .. } = log.anchors();
        let config = ClusterConfig {
            schema: ClusterConfig::SCHEMA.to_owned(),
            profile: Profile::Simulation,
            simulation_root: Some(attester.public_key()),
            peers: vec![reference("kms")],
            min_voters: 3,
            log_origin: origin,
            log_key: key,
            witnesses: WitnessQuorum::none(),
            seed: None,
        };
        let genesis = Genesis {
            schema: Genesis::SCHEMA.to_owned(),
            random: [3; 32],
            cluster_key: *cluster.key().point(),
            config,
        };
        Self {
            log,
            cluster,
            author: Signer::generate(),
            endorser: Signer::generate(),
            attester,
            genesis,
            told: Told::default(),
        }
    }

    /// The cluster's id.
    pub fn id(&self) -> ClusterId {
        self.genesis.cluster_id().unwrap()
    }

    /// The first policy of [`super::lived`].
    pub fn policy(&self) -> AccessPolicy {
        AccessPolicy {
            schema: AccessPolicy::SCHEMA.to_owned(),
            name: "words".to_owned(),
            pipeline: PIPELINE.to_owned(),
            predecessor: None,
            not_before: Timestamp(START),
            not_after: Timestamp(START + 100_000),
            profile: Profile::Simulation,
            log: LogRule {
                origin: ORIGIN.to_owned(),
                witnesses: 0,
            },
            kms: KmsRule {
                cluster_id: self.id(),
                config: self.genesis.config.digest().unwrap(),
                reference_values: vec![reference("kms")],
            },
            roles: Roles {
                root: RoleRule {
                    reference_values: vec![reference("root")],
                },
                worker: RoleRule {
                    reference_values: vec![reference("worker")],
                },
            },
            programs: vec![ProgramDigest::of(PROGRAM)],
            sideloads: Vec::new(),
            input: InputSchema {
                columns: vec![Column {
                    name: "words".to_owned(),
                    kind: ColumnKind::Words,
                }],
            },
            suites: vec![1, 2],
            key_ttl: Seconds(TTL),
            privacy: Privacy {
                unit: Unit::Installation,
                adjacency: Adjacency::ZeroOut,
                mechanisms: vec![Mechanism::DiscreteGaussian],
                total: budget(100, 50),
                epsilon: "4".parse().unwrap(),
                delta: "0.000001".parse().unwrap(),
            },
            bounds: Bounds {
                max_items_per_user: 32,
            },
            min_blobs: 2,
            public_counters: Vec::new(),
            recipients: vec![Recipient::Public],
            endorsers: vec![self.endorser.key().digest()],
            rebuilders: 0,
        }
    }

    /// The second one: it replaces `first` and lowers the total.
    pub fn successor(&self, first: PolicyDigest) -> AccessPolicy {
        let mut policy = self.policy();
        (policy.predecessor, policy.privacy.total) = (Some(first), budget(95, 50));
        policy
    }

    /// Archives and logs a statement; returns its place in the log and its proof.
    pub async fn publish(&self, signer: &Signer, kind: &str, artifact: &[u8]) -> (u64, Vec<u8>) {
        self.archive(artifact).await;
        self.publish_bare(signer, kind, artifact, true).await
    }

    /// Logs a statement in another log, without the bytes.
    pub(super) async fn publish_in(
        &self,
        log: &Log,
        signer: &Signer,
        kind: &str,
        artifact: &[u8],
    ) -> (u64, Vec<u8>) {
        let envelope = signer.sign(&Statement::about("test", artifact, kind));
        submit(log, envelope, signer).await
    }

    /// Logs a statement without its artifact, and with or without the signed bytes.
    pub async fn publish_bare(
        &self,
        signer: &Signer,
        kind: &str,
        artifact: &[u8],
        with_statement: bool,
    ) -> (u64, Vec<u8>) {
        let envelope = signer.sign(&Statement::about("test", artifact, kind));
        if with_statement {
            self.archive(&envelope.pae()).await;
        }
        submit(&self.log, envelope, signer).await
    }

    /// Puts bytes into the archive.
    pub async fn archive(&self, bytes: &[u8]) {
        self.log
            .archive_put(Digest::of(bytes), bytes.to_vec())
            .await
            .unwrap();
    }

    /// Genesis and program, as they are logged at the birth of a cluster.
    pub async fn birth(&self) {
        let genesis = self.genesis.to_bytes().unwrap();
        self.publish(&self.author, predicate::GENESIS, &genesis)
            .await;
        self.publish(&self.author, predicate::PROGRAM, PROGRAM)
            .await;
    }

    /// Numbers, chains, signs and logs receipts.
    pub async fn log_receipts(&self, receipts: &[Receipt]) {
        for body in chained(self.id(), receipts) {
            self.publish(&self.cluster, predicate::RECEIPT, &body).await;
        }
    }

    /// Anchors that pin the log and nothing else.
    pub fn anchors(&self) -> AuditAnchors {
        AuditAnchors::of(self.log.anchors())
    }

    /// Audits the log as it stands, under [`Self::anchors`].
    pub async fn audit(&self) -> AuditReport {
        audit(&LogReader::Open(self.log.clone()), &self.anchors(), NOW)
            .await
            .unwrap()
    }
}

async fn submit(log: &Log, envelope: Envelope, signer: &Signer) -> (u64, Vec<u8>) {
    let record = HashedRekord::of(&envelope, &signer.key());
    let entry = log.submit(&record).await.unwrap();
    let index = entry.log_index;
    let bundle = Bundle::new(envelope, &signer.key(), entry);
    (index, bundle.to_json().unwrap())
}

/// The bodies of receipts, numbered from 1 and chained to the genesis, whatever they said before.
/// The first step of a run starts from its registration, so that reference moves along.
pub fn chained(cluster: ClusterId, receipts: &[Receipt]) -> Vec<Vec<u8>> {
    let mut previous = cluster.digest();
    let mut renamed = std::collections::BTreeMap::new();
    (1..)
        .zip(receipts)
        .map(|(seq, receipt)| {
            let mut receipt = receipt.clone();
            let was = Digest::of(&receipt.to_bytes().unwrap());
            (receipt.cluster, receipt.seq, receipt.previous) = (cluster, seq, previous);
            if let siegel_ledger::Fact::StepCommitted { previous_state, .. } = &mut receipt.fact
                && let Some(now) = renamed.get(previous_state)
            {
                *previous_state = *now;
            }
            let body = receipt.to_bytes().unwrap();
            previous = Digest::of(&body);
            renamed.insert(was, previous);
            body
        })
        .collect()
}
