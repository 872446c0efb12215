//! Nodes of a small simulation, each with a platform.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use siegel_attest::simulated::Attester;
use siegel_attest::{
    Binding, ClusterConfig, Profile, ReferenceValue, Role, TeeKind, worker_config,
};
use siegel_ident::{ClusterId, ConfigDigest, Fencing, Measurement, PolicyDigest, RunId, Secret};
use siegel_platform::{
    BoxFuture, Clock, Platform, PlatformError, QuoteSource, StartInfo, SystemClock, TestClock,
};
use siegel_session::hostile::Claim;
use siegel_session::{Expect, Identity, PeerKeys, Purpose, Setup};
use tokio::task::JoinHandle;

use crate::{Acceptor, Endpoint, LinkService, Net, Refusal, SessionStream, refusal, server};

pub(super) const CLUSTER: ClusterId = ClusterId::from_bytes([0xC1; 32]);
pub(super) const PURPOSE: Purpose = Purpose {
    run: RunId::from_bytes([7; 16]),
    policy: PolicyDigest::from_bytes([8; 32]),
    fencing: Fencing(9),
};
pub(super) const SOON: Duration = Duration::from_secs(10);

fn attester() -> Attester {
    Attester::new(&Secret::new([9; 32])).unwrap()
}

pub(super) fn cluster() -> Arc<ClusterConfig> {
    let measurement = Measurement::from_bytes([1; 32]);
    Arc::new(ClusterConfig {
        schema: ClusterConfig::SCHEMA.into(),
        profile: Profile::Simulation,
        simulation_root: Some(attester().public_key()),
        peers: vec![ReferenceValue {
            tee: TeeKind::Simulated,
            measurement,
        }],
        min_voters: 1,
        log_origin: "log".into(),
        log_key: [0; 32],
        witnesses: siegel_ident::WitnessQuorum::none(),
        seed: None,
    })
}

/// Quotes as the launcher would for a process with this measurement and configuration, made so much
/// longer that nobody who judges them takes them.
struct Quotes(Measurement, ConfigDigest, usize, Arc<dyn Clock>);

impl QuoteSource for Quotes {
    fn quote(&self, report_data: [u8; 64]) -> BoxFuture<'_, Result<Vec<u8>, PlatformError>> {
        let now = self.3.now();
        let mut evidence = attester().attest(self.0, self.1, report_data, now);
        evidence.resize(evidence.len() + self.2, 0);
        Box::pin(async move { Ok(evidence) })
    }
}

/// A process.
#[derive(Clone)]
pub(super) struct Node {
    pub(super) platform: Platform,
    pub(super) identity: Arc<Identity>,
    /// How many peers it has let in.
    pub(super) served: Arc<AtomicUsize>,
}

pub(super) fn node(role: Role, seed: u64, measured: u8) -> Node {
    with_long_evidence(role, seed, measured, 0)
}

/// A node whose evidence is `more` bytes longer than it should be.
pub(super) fn with_long_evidence(role: Role, seed: u64, measured: u8, more: usize) -> Node {
    any_node(role, seed, measured, more, Arc::new(SystemClock))
}

/// A node with a clock of its own.
pub(super) fn at_clock(role: Role, seed: u64, measured: u8, clock: &TestClock) -> Node {
    any_node(role, seed, measured, 0, Arc::new(clock.clone()))
}

fn any_node(role: Role, seed: u64, measured: u8, more: usize, clock: Arc<dyn Clock>) -> Node {
    let kms = cluster().digest().unwrap();
    let config = if role == Role::KmsPeer {
        kms
    } else {
        worker_config(kms)
    };
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let identity = Identity::new(&mut rng, role, vec![0, 2, seed as u8], config).unwrap();
    let measured = Measurement::from_bytes([measured; 32]);
    let quotes = Quotes(measured, config, more, clock.clone());
    let platform = Platform::new(clock, Arc::new(quotes), StartInfo::default(), |_| ());
    Node {
        platform,
        identity: Arc::new(identity),
        served: Arc::default(),
    }
}

pub(super) fn kms_node() -> Node {
    node(Role::KmsPeer, 1, 1)
}

pub(super) fn worker() -> Node {
    node(Role::Worker, 2, 3)
}

pub(super) fn root() -> Node {
    node(Role::Root, 3, 2)
}

pub(super) fn rng() -> siegel_platform::OsRng {
    siegel_platform::rng::os_rng()
}

impl Node {
    /// What it truly is, with a challenge of its own.
    pub(super) fn claim(&self) -> Claim {
        let role = self.identity.role();
        Claim {
            role,
            deployment: (role == Role::KmsPeer).then_some(CLUSTER),
            keys: self.keys(),
            challenge: [0x11; 32],
        }
    }

    /// What its evidence must bind to answer this peer, as it truly is.
    pub(super) fn binding(&self, peer: &Claim) -> Binding {
        Binding {
            role: self.identity.role(),
            deployment: Some(CLUSTER),
            signing_key: self.keys().signing_key.to_vec(),
            kem_key: self.keys().kem_key,
            config: self.identity.config(),
            challenge: peer.challenge.to_vec(),
            checkpoint: None,
        }
    }

    /// What its launcher says to that.
    pub(super) async fn quote(&self, binding: &Binding) -> Vec<u8> {
        let report_data = binding.report_data().unwrap();
        self.platform.quote(report_data).await.unwrap()
    }

    /// How many peers it has let in.
    pub(super) fn served(&self) -> usize {
        self.served.load(Ordering::SeqCst)
    }

    /// Waits until it has let so many in; more are a failure.
    pub(super) async fn lets_in(&self, count: usize) {
        let waiting = async {
            while self.served() < count {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(SOON, waiting).await.unwrap();
        assert_eq!(self.served(), count);
    }

    pub(super) fn keys(&self) -> PeerKeys {
        self.identity.keys()
    }

    pub(super) fn setup(&self, expect: Expect, purpose: Option<Purpose>) -> Setup {
        let founded = self.identity.role() == Role::KmsPeer;
        let deployment = founded.then_some(CLUSTER);
        Setup {
            identity: self.identity.clone(),
            deployment,
            purpose,
            expect,
        }
    }
}

/// Answers every message with itself reversed. A KMS node accepts everybody, a worker only the
/// root of the run of [`PURPOSE`].
pub(super) struct Echo {
    pub(super) node: Node,
    pub(super) root: PeerKeys,
}

impl Acceptor for Echo {
    async fn setup(&self, purpose: Option<Purpose>) -> Result<Setup, Refusal> {
        match (self.node.identity.role(), purpose) {
            (Role::KmsPeer, _) => Ok(self.node.setup(Expect::KmsOrWorkload(cluster()), purpose)),
            (_, Some(named)) if named.run == PURPOSE.run => {
                let keys = vec![self.root.clone()];
                Ok(self.node.setup(
                    Expect::Vouched {
                        role: Role::Root,
                        keys,
                    },
                    purpose,
                ))
            }
            _ => Err(refusal("unknown-run", "I3", "link", "no such run here")),
        }
    }

    async fn serve(&self, mut stream: SessionStream) {
        self.node.served.fetch_add(1, Ordering::SeqCst);
        while let Ok(Some(mut message)) = stream.recv().await {
            match message.as_slice() {
                b"silence" => continue,
                b"drop" => return,
                b"late" => tokio::time::sleep(Duration::from_millis(300)).await,
                _ => message.reverse(),
            }
            if stream.send(&message).await.is_err() {
                return;
            }
        }
        let _ = stream.close().await;
    }
}

/// An echo node on this endpoint: where it really listens, and the task to abort.
pub(super) async fn serve_echo(
    net: &Net,
    endpoint: &str,
    node: Node,
) -> (Endpoint, JoinHandle<()>) {
    let (at, incoming) = net.listen(&endpoint.parse().unwrap()).await.unwrap();
    let platform = node.platform.clone();
    let echo = Arc::new(Echo {
        node,
        root: root().keys(),
    });
    let service = LinkService::server(platform, echo);
    let serving = server().add_service(service).serve_with_incoming(incoming);
    (at, tokio::spawn(async move { serving.await.unwrap() }))
}
