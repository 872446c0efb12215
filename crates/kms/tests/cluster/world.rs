//! A cluster inside one process, a fake log, and workloads with simulated evidence. Each node has a
//! runtime of its own, so that killing one ends its connections too, as `kill -9` would.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use siegel_attest::simulated::Attester;
use siegel_attest::{
    ClusterConfig, Genesis, Profile, ReferenceValue, Role, TeeKind, root_config, worker_config,
};
use siegel_ident::{
    Budget, ClusterId, ConfigDigest, Delta, Digest, Measurement, NanoRho, NodeId, ProgramDigest,
    RequestId, Seconds, Secret, Timestamp,
};
use siegel_kms::KmsError;
use siegel_link::{Net, Refusal, status_to_refusal};
use siegel_platform::{
    BoxFuture, Clock as _, Peer, Platform, PlatformError, QuoteSource, StartInfo, TestClock,
};
use siegel_policy::testing::sample;
use siegel_policy::{AccessPolicy, KmsRule, Policy, RunParameters};
use siegel_seal::{Suite, generate_kem};
use siegel_session::Identity;
use siegel_translog::predicate;
use siegel_translog::testing::{TestLog, TestSigner};
use siegel_wire::v1;
use siegel_wire::v1::kms_client::KmsClient;
use tokio::runtime::Runtime;
use tokio::sync::oneshot;
use tokio::time::Instant;
use tonic::Status;
use tonic::transport::Channel;

use crate::workload::Workload;

pub(crate) const START: Timestamp = Timestamp(1_900_000_000);
pub(crate) const TTL: Seconds = Seconds(3600);
pub(crate) const COST: Budget = Budget {
    rho_nano: NanoRho(1_000_000),
    delta0: Delta(0),
};

pub(crate) fn measured(name: &str) -> ReferenceValue {
    ReferenceValue {
        tee: TeeKind::Simulated,
        measurement: Measurement::of(name.as_bytes()),
    }
}

pub(crate) fn program() -> ProgramDigest {
    ProgramDigest::of(b"program")
}

/// Stands for the launcher: attests what it says it measured.
struct Quotes {
    attester: Arc<Attester>,
    measurement: Measurement,
    config: ConfigDigest,
    clock: TestClock,
    given: Arc<AtomicUsize>,
}

impl QuoteSource for Quotes {
    fn quote(&self, report_data: [u8; 64]) -> BoxFuture<'_, Result<Vec<u8>, PlatformError>> {
        let now = self.clock.now();
        self.given.fetch_add(1, Ordering::SeqCst);
        let evidence = self
            .attester
            .attest(self.measurement, self.config, report_data, now);
        Box::pin(async move { Ok(evidence) })
    }
}

pub(crate) struct NodeProcess {
    runtime: Option<Runtime>,
    pub(crate) ended: oneshot::Receiver<KmsError>,
}

impl NodeProcess {
    /// As SIGSTOP: nothing of it runs until the returned sender is dropped or used.
    pub(crate) fn pause(&self) -> std::sync::mpsc::Sender<()> {
        let (wake, asleep) = std::sync::mpsc::channel();
        let runtime = self.runtime.as_ref().unwrap();
        // The runtime has one worker; this task blocks it.
        runtime.spawn(async move {
            let _: Result<(), _> = asleep.recv();
        });
        wake
    }

    fn kill(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // Until its tasks are gone it holds its address: who comes next at this place could not listen.
            // A paused one never lets go, and is not waited for.
            let gone = move || runtime.shutdown_timeout(Duration::from_secs(2));
            let _ = std::thread::spawn(gone).join();
        }
    }
}

impl Drop for NodeProcess {
    fn drop(&mut self) {
        self.kill();
    }
}

pub(crate) struct World {
    pub(crate) net: Net,
    pub(crate) clock: TestClock,
    attester: Arc<Attester>,
    /// How many quotes its processes were given.
    pub(crate) quotes: Arc<AtomicUsize>,
    pub(crate) config: ClusterConfig,
    pub(crate) nodes: BTreeMap<u64, NodeProcess>,
    pub(crate) log: TestLog,
    author: TestSigner,
    next_request: u64,
    /// Where each place is dialled.
    pub(crate) addresses: BTreeMap<u64, String>,
}

impl World {
    /// Nobody runs yet.
    pub(crate) fn new(seed: Option<[u8; 32]>) -> Self {
        let attester = Attester::new(&Secret::new([5; 32])).unwrap();
        let log = TestLog::new("log.example", [7; 32]);
        let config = ClusterConfig {
            schema: ClusterConfig::SCHEMA.to_owned(),
            profile: Profile::Simulation,
            simulation_root: Some(attester.public_key()),
            peers: vec![measured("kms")],
            min_voters: 3,
            log_origin: log.origin().to_owned(),
            log_key: log.key(),
            witnesses: siegel_ident::WitnessQuorum::none(),
            seed,
        };
        Self {
            net: Net::new(),
            clock: TestClock::at(START),
            attester: Arc::new(attester),
            quotes: Arc::default(),
            config,
            nodes: BTreeMap::new(),
            log,
            author: TestSigner::generate().unwrap(),
            next_request: 0,
            addresses: (1..=3).map(|n| (n, format!("pipe:kms-{n}"))).collect(),
        }
    }

    /// A second cluster with the same configuration and launcher, elsewhere on the same network.
    pub(crate) fn with_config_of(other: &Self) -> Self {
        Self {
            net: other.net.clone(),
            clock: other.clock.clone(),
            attester: other.attester.clone(),
            config: other.config.clone(),
            addresses: (1..=3).map(|n| (n, format!("pipe:other-{n}"))).collect(),
            ..Self::new(None)
        }
    }

    /// Three founded nodes.
    pub(crate) async fn founded(seed: Option<[u8; 32]>) -> Self {
        let mut world = Self::new(seed);
        for node in 1..=3 {
            world.start(node, node == 1, &world.config.clone(), "kms");
        }
        world
            .wait(Duration::from_secs(30), "a leader", |status| {
                status.leader_id != 0
            })
            .await;
        world
    }

    pub(crate) fn start(&mut self, node: u64, founder: bool, config: &ClusterConfig, exe: &str) {
        let start = StartInfo {
            founder,
            ..self.start_info(node, config)
        };
        self.launch(config, exe, start);
    }

    /// A fresh process in a dead one's place.
    pub(crate) fn join(&mut self, node: u64) {
        let config = self.config.clone();
        let start = StartInfo {
            join: true,
            ..self.start_info(node, &config)
        };
        self.launch(&config, "kms", start);
    }

    pub(crate) fn start_info(&self, node: u64, config: &ClusterConfig) -> StartInfo {
        let peer = |(n, address): (&u64, &String)| Peer {
            node: NodeId(*n),
            address: address.clone(),
        };
        StartInfo {
            config: config.to_bytes().unwrap(),
            listen: self.addresses[&node].clone(),
            node: NodeId(node),
            kms: self.addresses.iter().map(peer).collect(),
            ..StartInfo::default()
        }
    }

    /// Starts a process; the one that stood for its place before is dropped from the table.
    pub(crate) fn launch(&mut self, config: &ClusterConfig, exe: &str, start: StartInfo) {
        let node = start.node.0;
        let platform = self.platform(exe, config.digest().unwrap(), start);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build();
        let runtime = runtime.unwrap();
        let (tell, ended) = oneshot::channel();
        let net = self.net.clone();
        runtime.spawn(async move {
            if let Err(error) = siegel_kms::serve(platform, net).await {
                // Says why, where a test waits for this node in vain.
                println!("node {node} ended: {error}");
                let _ = tell.send(error);
            }
        });
        self.nodes.insert(
            node,
            NodeProcess {
                runtime: Some(runtime),
                ended,
            },
        );
    }

    fn platform(&self, exe: &str, config: ConfigDigest, start: StartInfo) -> Platform {
        let quotes = Quotes {
            attester: self.attester.clone(),
            measurement: measured(exe).measurement,
            config,
            clock: self.clock.clone(),
            given: self.quotes.clone(),
        };
        Platform::new(
            Arc::new(self.clock.clone()),
            Arc::new(quotes),
            start,
            |_| {},
        )
    }

    pub(crate) fn kill(&mut self, node: u64) {
        self.nodes.remove(&node);
    }

    pub(crate) fn client(&self, node: u64) -> KmsClient<Channel> {
        KmsClient::new(self.net.channel(&self.addresses[&node].parse().unwrap()))
    }

    /// Waits until every live node's status satisfies `holds`.
    pub(crate) async fn wait(
        &self,
        patience: Duration,
        what: &str,
        holds: impl Fn(&v1::StatusReply) -> bool,
    ) {
        let begun = Instant::now();
        for node in self.nodes.keys() {
            loop {
                let status = self.client(*node).status(v1::StatusRequest {}).await;
                if status.is_ok_and(|status| holds(status.get_ref())) {
                    break;
                }
                assert!(
                    begun.elapsed() < patience,
                    "node {node}: no {what} in {patience:?}"
                );
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }

    /// Waits until all places vote under one leader: the group may lose a node again.
    pub(crate) async fn whole(&self) {
        self.wait(Duration::from_secs(150), "full membership", |status| {
            status.role == "voter" && status.leader_id != 0
        })
        .await;
    }

    /// What a node says of itself.
    pub(crate) async fn status(&self, node: u64) -> v1::StatusReply {
        let reply = self.client(node).status(v1::StatusRequest {}).await;
        reply.unwrap().into_inner()
    }

    /// The leader that a majority of the live nodes agree on, itself included.
    pub(crate) async fn leader(&self) -> u64 {
        let begun = Instant::now();
        loop {
            for node in self.nodes.keys() {
                if let Ok(status) = self.client(*node).status(v1::StatusRequest {}).await
                    && status.get_ref().leader_id == *node
                {
                    return *node;
                }
            }
            assert!(begun.elapsed() < Duration::from_secs(15), "no leader");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Asks the leader, and the next one if it changes meanwhile.
    pub(crate) async fn ask<T, F: Future<Output = Result<tonic::Response<T>, Status>>>(
        &self,
        call: impl Fn(KmsClient<Channel>) -> F,
    ) -> Result<T, Refusal> {
        for _ in 0..40 {
            let leader = self.leader().await;
            match call(self.client(leader)).await {
                Ok(reply) => return Ok(reply.into_inner()),
                Err(status) => {
                    let refusal = status_to_refusal(&status).unwrap_or_else(|| panic!("{status}"));
                    if refusal.code != "not-leader" && refusal.code != "busy" {
                        return Err(refusal);
                    }
                }
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("no leader answers");
    }

    pub(crate) async fn genesis(&self) -> Vec<u8> {
        self.ask(|mut kms| async move { kms.genesis(v1::GenesisRequest {}).await })
            .await
            .unwrap()
            .genesis
    }

    pub(crate) fn request_id(&mut self) -> Vec<u8> {
        self.next_request += 1;
        RequestId::from_bytes(u128::from(self.next_request).to_be_bytes()).to_vec()
    }

    /// A policy that this cluster takes.
    pub(crate) fn policy(&self, genesis: &[u8]) -> AccessPolicy {
        let parsed = Genesis::parse(genesis).unwrap();
        let mut policy = sample();
        policy.not_before = START;
        policy.not_after = START.plus(Seconds(1_000_000));
        policy.log.origin = self.log.origin().to_owned();
        policy.kms = KmsRule {
            cluster_id: ClusterId::of(genesis),
            config: parsed.config.digest().unwrap(),
            reference_values: vec![measured("kms")],
        };
        policy.roles.root.reference_values = vec![measured("root")];
        policy.roles.worker.reference_values = vec![measured("worker")];
        policy.programs = vec![program()];
        policy.key_ttl = TTL;
        policy.privacy.total.rho_nano = NanoRho(10_000_000);
        policy.min_blobs = 2;
        policy
    }

    pub(crate) fn publish(&mut self, artifact: &[u8], predicate_type: &str) -> Vec<u8> {
        self.log
            .publish(&self.author, "artifact", artifact, predicate_type)
            .unwrap()
    }

    /// Logs and registers the sample policy.
    pub(crate) async fn register(&mut self) -> Policy {
        let policy = self.policy(&self.genesis().await).compile().unwrap();
        let ask = self.registration(&policy, Vec::new());
        self.register_policy(&ask).await.unwrap();
        policy
    }

    /// A request to register a policy, which is logged, under a fresh request id.
    pub(crate) fn registration(
        &mut self,
        policy: &Policy,
        endorsements: Vec<v1::EndorsementProof>,
    ) -> v1::RegisterPolicyRequest {
        v1::RegisterPolicyRequest {
            request_id: self.request_id(),
            policy: policy.bytes().to_vec(),
            bundle: self.publish(policy.bytes(), predicate::POLICY),
            endorsements,
        }
    }

    pub(crate) async fn register_policy(
        &self,
        ask: &v1::RegisterPolicyRequest,
    ) -> Result<(), Refusal> {
        self.ask(|mut kms| {
            let ask = ask.clone();
            async move { kms.register_policy(ask).await }
        })
        .await
        .map(drop)
    }

    pub(crate) async fn bundle(
        &self,
        request_id: Vec<u8>,
        policy: &Policy,
    ) -> Result<v1::KeyBundleReply, Refusal> {
        let ask = v1::KeyBundleRequest {
            request_id,
            policy_digest: policy.digest().to_vec(),
            checkpoint: self.log.checkpoint().into_bytes(),
        };
        self.ask(|mut kms| {
            let ask = ask.clone();
            async move { kms.key_bundle(ask).await }
        })
        .await
    }

    pub(crate) fn run_request(&self, policy: &Policy, epoch: u64) -> v1::RegisterRun {
        let plan = Digest::of(b"plan");
        let parameters = RunParameters::new(plan, vec![COST, COST])
            .unwrap()
            .to_bytes()
            .unwrap();
        v1::RegisterRun {
            policy_digest: policy.digest().to_vec(),
            program_digest: program().to_vec(),
            parameters,
            epochs: vec![epoch],
            deadline: self.clock.now().plus(Seconds(1000)).0,
            input_root: vec![9; 32],
            blob_count: 3,
            inputs: vec![8; 32],
        }
    }

    /// A freshly started root of the sample program.
    pub(crate) fn root(&self) -> Workload {
        let config = root_config(self.config.digest().unwrap(), program());
        self.workload(Role::Root, "root", config)
    }

    /// A freshly started worker.
    pub(crate) fn worker(&self) -> Workload {
        let config = worker_config(self.config.digest().unwrap());
        self.workload(Role::Worker, "worker", config)
    }

    pub(crate) fn workload(&self, role: Role, exe: &str, config: ConfigDigest) -> Workload {
        let platform = self.platform(exe, config, StartInfo::default());
        let rng = &mut platform.rng();
        let (kem, public) = generate_kem(Suite::XWing, rng);
        let identity = Identity::new(rng, role, public.to_bytes(), config).unwrap();
        Workload {
            platform,
            identity: Arc::new(identity),
            kem,
            config: self.config.clone(),
        }
    }
}
