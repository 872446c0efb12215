//! A log, a cluster and a publisher that do what they are told, right or wrong.

use siegel_attest::{ClusterConfig, Genesis, Profile, ReferenceValue, TeeKind};
use siegel_ident::{
    Budget, ClusterId, Delta, Digest, Measurement, NanoRho, ProgramDigest, Seconds, Secret,
    Timestamp,
};
use siegel_ledger::Receipt;
use siegel_policy::{
    AccessPolicy, Adjacency, Bounds, Column, ColumnKind, InputSchema, KmsRule, LogRule, Mechanism,
    Privacy, Recipient, RoleRule, Roles, Unit,
};
use siegel_rekor::{Log, LogKey, LogReader, PolicySigner, Storage};
use siegel_translog::{HashedRekord, LogAnchors, Statement, predicate};

use crate::{AuditAnchors, AuditReport, audit};

pub(super) const START: u64 = 1_700_000_000;
pub(super) const TTL: u64 = 1000;
pub(super) const PIPELINE: &str = "org.example.words";
pub(super) const PROGRAM: &[u8] = b"a program";
const ORIGIN: &str = "log.example.test";

pub(super) struct Scene {
    pub(super) log: Log,
    pub(super) cluster: PolicySigner,
    pub(super) author: PolicySigner,
    pub(super) genesis: Genesis,
}

pub(super) fn log_key() -> LogKey {
    LogKey::from_seed(ORIGIN, &Secret::new([5; 32])).unwrap()
}

pub(super) fn budget(rho: u64, delta: u64) -> Budget {
    Budget {
        rho_nano: NanoRho(rho),
        delta0: Delta(delta),
    }
}

pub(super) fn reference(name: &str) -> ReferenceValue {
    ReferenceValue {
        tee: TeeKind::Simulated,
        measurement: Measurement::of(name.as_bytes()),
    }
}

impl Scene {
    pub(super) fn new() -> Self {
        Self::over(Log::open(&Storage::Memory, log_key()).unwrap())
    }

    /// On a given log.
    pub(super) fn over(log: Log) -> Self {
        let cluster = PolicySigner::generate().unwrap();
        let LogAnchors { origin, key, .. } = log.anchors();
        let config = ClusterConfig {
            schema: ClusterConfig::SCHEMA.to_owned(),
            profile: Profile::Simulation,
            simulation_root: Some([5; 32]),
            peers: vec![reference("kms")],
            min_voters: 3,
            log_origin: origin,
            log_key: key,
            witnesses: 0,
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
            author: PolicySigner::generate().unwrap(),
            genesis,
        }
    }

    pub(super) fn id(&self) -> ClusterId {
        self.genesis.cluster_id().unwrap()
    }

    pub(super) fn policy(&self) -> AccessPolicy {
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
            suites: vec![1],
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
            rebuilders: 0,
        }
    }

    /// Archives and logs a statement; returns its place in the log and its proof.
    pub(super) async fn publish(
        &self,
        signer: &PolicySigner,
        kind: &str,
        artifact: &[u8],
    ) -> (u64, Vec<u8>) {
        self.archive(artifact).await;
        self.publish_bare(signer, kind, artifact, true).await
    }

    /// Logs a statement without its artifact, and with or without the signed bytes.
    pub(super) async fn publish_bare(
        &self,
        signer: &PolicySigner,
        kind: &str,
        artifact: &[u8],
        with_statement: bool,
    ) -> (u64, Vec<u8>) {
        let envelope = signer
            .sign(&Statement::about("test", artifact, kind))
            .unwrap();
        if with_statement {
            self.archive(&envelope.pae()).await;
        }
        let entry = self
            .log
            .submit(&HashedRekord::of(&envelope, &signer.key()))
            .await
            .unwrap();
        let index = entry.log_index;
        let bundle = siegel_translog::Bundle::new(envelope, &signer.key(), entry);
        (index, bundle.to_json().unwrap())
    }

    pub(super) async fn archive(&self, bytes: &[u8]) {
        self.log
            .archive_put(Digest::of(bytes), bytes.to_vec())
            .await
            .unwrap();
    }

    /// Genesis and program, as they are logged at the birth of a cluster.
    pub(super) async fn birth(&self) {
        let genesis = self.genesis.to_bytes().unwrap();
        self.publish(&self.author, predicate::GENESIS, &genesis)
            .await;
        self.publish(&self.author, predicate::PROGRAM, PROGRAM)
            .await;
    }

    /// Numbers, chains, signs and logs receipts.
    pub(super) async fn log_receipts(&self, receipts: &[Receipt]) {
        for body in chained(self.id(), receipts) {
            self.publish(&self.cluster, predicate::RECEIPT, &body).await;
        }
    }

    pub(super) fn anchors(&self) -> AuditAnchors {
        AuditAnchors::of(self.log.anchors())
    }

    pub(super) async fn audit(&self) -> AuditReport {
        audit(&LogReader::Open(self.log.clone()), &self.anchors())
            .await
            .unwrap()
    }
}

/// The bodies of receipts, numbered from 1 and chained to the genesis, whatever they said before.
/// The first step of a run starts from its registration, so that reference moves along.
pub(super) fn chained(cluster: ClusterId, receipts: &[Receipt]) -> Vec<Vec<u8>> {
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
