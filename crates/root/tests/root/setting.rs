//! The setting of every test: one in-process network.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use prost::Message as _;
use siegel_attest::{Role, RootConfig, worker_config};
use siegel_depot::{Depot, Limits, Store};
use siegel_ident::{
    BlobDigest, BlobId, Budget, Digest, EpochId, Fencing, InputRoot, NodeId, ObjectDigest,
    PrivacyId, RunId, Secret, Step, Timestamp,
};
use siegel_keys::fake::{FakeGrant, FakeNode, NodeScript, World, measured};
use siegel_link::depot::{DepotClient, ObjectKind};
use siegel_link::{Refusal, refusal};
use siegel_platform::{Peer as Placed, StartInfo};
use siegel_policy::{Policy, RunParameters};
use siegel_program::{Bundle, Column, Record};
use siegel_seal::grant::{GrantRole, grant_info};
use siegel_seal::object::{ObjectContext, open_release, unwrap_release_dek};
use siegel_seal::{
    KemPrivate, KemPublic, Suite, UploadContext, derive_kem, seal_upload, sealed_box,
};
use siegel_session::{Peer, PeerKeys};
use siegel_wire::v1::root_client::RootClient;
use siegel_wire::v1::{self, kms_request::Body as Ask, kms_response::Body, run_event};

pub(crate) const RUN: RunId = RunId::from_bytes([1; 16]);
pub(crate) const EPOCH: EpochId = EpochId(3);
const FENCING: Fencing = Fencing(5);
const EPOCH_KEY: Secret<32> = Secret::new([11; 32]);
const RELEASE_KEY: Secret<32> = Secret::new([12; 32]);
const REGISTRATION: Digest = Digest::from_bytes([13; 32]);

/// The program of most tests: two steps, each with its own noise; the second is released.
pub(crate) const DRIVER: &str = "\
def init(public):
    return None

def step(state, n, clients):
    return dp_histogram(clients, column = \"words\", vocabulary = \"w.txt\", max_per_user = 2, share = 0.5)

def finish(state):
    return table(\"words\", state)
";

/// What the key service remembers.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) registered: Vec<v1::RegisterRun>,
    pub(crate) commits: Vec<v1::CommitStep>,
    pub(crate) finished: bool,
    root: Option<PeerKeys>,
    workers: Vec<PeerKeys>,
}

/// A key service without ledger or quorum.
pub(crate) struct Kms {
    pub(crate) seen: Mutex<Seen>,
    policy: Policy,
    /// Refuses this request with this code.
    pub(crate) refuse: Mutex<Option<(&'static str, &'static str)>>,
    pub(crate) noise: u8,
}

impl NodeScript for Kms {
    fn session(
        &self,
        _: NodeId,
        peer: &Peer,
        request: v1::KmsRequest,
    ) -> Option<Result<Body, Refusal>> {
        let body = request.body?;
        let name = match &body {
            Ask::RegisterRun(_) => "register",
            Ask::CommitStep(_) => "commit",
            Ask::Authorize(_) => "authorize",
            Ask::RunPeers(_) => "peers",
            _ => "",
        };
        if let Some((what, code)) = *self.refuse.lock().unwrap()
            && what == name
        {
            return Some(Err(refusal(code, "I6", "test", "as told")));
        }
        let mut seen = self.seen.lock().unwrap();
        Some(Ok(match body {
            Ask::RegisterRun(run) => {
                seen.registered.push(run);
                seen.root = Some(peer.keys().clone());
                Body::RunGrant(self.root_grant(peer))
            }
            Ask::Authorize(_) => {
                if !seen.workers.contains(peer.keys()) {
                    seen.workers.push(peer.keys().clone());
                }
                Body::WorkerGrant(self.worker_grant(&seen, peer))
            }
            Ask::RunPeers(_) => Body::PeerKeys(v1::PeerKeys {
                workers: seen.workers.iter().map(peer_key).collect(),
            }),
            Ask::RenewLease(_) => Body::Lease(v1::Lease { lease_seconds: 30 }),
            Ask::CommitStep(commit) => {
                seen.commits.push(commit);
                Body::StepDone(v1::StepDone {
                    receipt: b"{}".to_vec(),
                })
            }
            Ask::FinishRun(_) => {
                seen.finished = true;
                Body::Finished(v1::Finished {})
            }
            Ask::TakeRun(_) => return None,
        }))
    }
}

fn peer_key(keys: &PeerKeys) -> v1::PeerKey {
    v1::PeerKey {
        signing_key: keys.signing_key.to_vec(),
        kem_key: keys.kem_key.clone(),
    }
}

fn release_pair() -> (KemPrivate, KemPublic) {
    derive_kem(Suite::XWing, &RELEASE_KEY)
}

impl Kms {
    fn root_grant(&self, root: &Peer) -> v1::RunGrant {
        let keys = v1::RootKeys {
            noise: vec![self.noise; 32],
            checkpoint: vec![22; 32],
        };
        let info = grant_info(RUN, GrantRole::Root, root.signing_key());
        let to = KemPublic::parse(root.kem_key()).unwrap();
        let mut rng = siegel_platform::rng::os_rng();
        let sealed = sealed_box::seal_box(&mut rng, &to, &info, &keys.encode_to_vec());
        v1::RunGrant {
            run_id: RUN.to_vec(),
            fencing: FENCING.0,
            sealed_keys: sealed.unwrap(),
            release_key: release_pair().1.to_bytes(),
            step: 0,
            previous: REGISTRATION.to_vec(),
            receipt: b"{}".to_vec(),
        }
    }

    fn worker_grant(&self, seen: &Seen, worker: &Peer) -> v1::WorkerGrant {
        let run = seen.registered.last().unwrap();
        let parameters = RunParameters::parse(&run.parameters).unwrap();
        let grant = FakeGrant {
            run: RUN,
            index: [23; 32],
            epochs: vec![(EPOCH, derive_kem(Suite::X25519, &EPOCH_KEY).0)],
            root: seen.root.clone().unwrap(),
            fencing: FENCING,
            policy: self.policy.clone(),
            program: self.policy.programs[0],
            steps: parameters.steps,
            input_root: InputRoot::try_from_slice(&run.input_root).unwrap(),
            blob_count: run.blob_count,
            lease: 30,
        };
        grant.to(worker, GrantRole::Worker, RUN)
    }
}

pub(crate) struct Setting {
    pub(crate) world: World,
    pub(crate) kms: Arc<Kms>,
    pub(crate) policy: Policy,
    pub(crate) bundle: Bundle,
    pub(crate) blobs: Vec<BlobDigest>,
    pub(crate) depot: DepotClient,
    _node: FakeNode,
}

impl Setting {
    /// `users` uploads of two of three words each, and this many workers and noise key.
    pub(crate) async fn new(driver: &str, users: u64, workers: u64, noise: u8) -> Self {
        let world = World::new(1);
        let assets = [("w.txt".to_owned(), "ant\nbee\ncow\n".to_owned())].into();
        let bundle = Bundle::new("test", driver, assets).unwrap();
        let mut policy = world.policy(bundle.digest());
        policy.min_blobs = 10;
        let policy = policy.compile().unwrap();
        let depot = start_depot(&world).await;
        depot
            .put(ObjectKind::Program, bundle.bytes().to_vec().into())
            .await
            .unwrap();
        let mut blobs = Vec::new();
        for user in 0..users {
            let sealed = upload(&world, &policy, user);
            let put = depot.put(ObjectKind::Upload, sealed.into()).await.unwrap();
            blobs.push(BlobDigest::from(put.digest));
        }
        blobs.sort();
        let kms = Arc::new(Kms {
            seen: Mutex::default(),
            policy: policy.clone(),
            refuse: Mutex::default(),
            noise,
        });
        let node = FakeNode::start(&world, 1, kms.clone()).await;
        let setting = Self {
            world,
            kms,
            policy,
            bundle,
            blobs,
            depot,
            _node: node,
        };
        for n in 1..=workers {
            let config = worker_config(setting.world.config_digest());
            let bytes = setting.world.config().to_bytes().unwrap();
            let mut start = setting.start(bytes, format!("pipe:worker-{n}"));
            start.node = NodeId(n);
            setting
                .serve(Role::Worker, config, start, siegel_worker::serve)
                .await;
        }
        let config = RootConfig {
            schema: RootConfig::SCHEMA.into(),
            cluster: setting.world.config().clone(),
            program: setting.bundle.digest(),
        };
        let mut start = setting.start(config.to_bytes().unwrap(), "pipe:root".into());
        start.workers = (1..=workers)
            .map(|n| placed(n, format!("pipe:worker-{n}")))
            .collect();
        setting
            .serve(
                Role::Root,
                config.digest().unwrap(),
                start,
                siegel_root::serve,
            )
            .await;
        setting
    }

    fn start(&self, config: Vec<u8>, listen: String) -> StartInfo {
        StartInfo {
            config,
            listen,
            kms: vec![placed(1, "pipe:kms-1".into())],
            depot: "pipe:depot".into(),
            ..StartInfo::default()
        }
    }

    async fn serve<F, E>(
        &self,
        role: Role,
        config: siegel_ident::ConfigDigest,
        start: StartInfo,
        node: impl FnOnce(siegel_platform::Platform, siegel_link::Net) -> F,
    ) where
        F: Future<Output = Result<(), E>> + Send + 'static,
        E: Send + 'static,
    {
        let (ready, mut listens) = tokio::sync::mpsc::unbounded_channel();
        let measurement = measured(role).measurement;
        let platform = self.world.platform(measurement, config, start, move |at| {
            ready.send(at).ok();
        });
        tokio::spawn(node(platform, self.world.net.clone()));
        listens.recv().await.unwrap();
    }

    pub(crate) fn request(&self) -> v1::RunRequest {
        v1::RunRequest {
            policy_digest: self.policy.digest().to_vec(),
            policy: self.policy.bytes().to_vec(),
            program_digest: self.bundle.digest().to_vec(),
            epochs: vec![EPOCH.0],
            deadline: Timestamp(1 << 39).0,
            params: br#"{"rounds":2}"#.to_vec(),
        }
    }

    pub(crate) fn client(&self) -> RootClient<tonic::transport::Channel> {
        RootClient::new(self.world.net.channel(&"pipe:root".parse().unwrap()))
    }

    /// All events of a run but progress.
    pub(crate) async fn run(&self, request: v1::RunRequest) -> Vec<run_event::Body> {
        let mut events = Vec::new();
        let mut stream = self.client().run(request).await.unwrap().into_inner();
        let read = async {
            while let Some(event) = stream.message().await.unwrap() {
                match event.body.unwrap() {
                    run_event::Body::Progress(_) => {}
                    body => events.push(body),
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(120), read)
            .await
            .unwrap();
        events
    }

    /// Code of the refusal that ends the run.
    pub(crate) async fn fails(&self, request: v1::RunRequest) -> String {
        match self.run(request).await.pop() {
            Some(run_event::Body::Failed(refusal)) => refusal.code,
            other => panic!("{other:?}"),
        }
    }

    /// The released table of a committed step, as the key service would open it.
    pub(crate) async fn release(&self, commit: &v1::CommitStep) -> Vec<u8> {
        let context = ObjectContext {
            run: RUN,
            step: Step(commit.step),
            previous: ObjectDigest::try_from_slice(&commit.previous).unwrap(),
        };
        let dek = unwrap_release_dek(&release_pair().0, &commit.release_header, &context).unwrap();
        let digest = Digest::try_from_slice(&commit.release_digest).unwrap();
        let bytes = self
            .depot
            .get(ObjectKind::Sealed, digest, 1 << 20)
            .await
            .unwrap();
        open_release(&dek, &context, &bytes)
            .unwrap()
            .expose()
            .to_vec()
    }

    pub(crate) fn registration() -> Digest {
        REGISTRATION
    }

    pub(crate) fn total(&self) -> Budget {
        self.policy.privacy.total
    }
}

fn placed(node: u64, address: String) -> Placed {
    Placed {
        node: NodeId(node),
        address,
    }
}

async fn start_depot(world: &World) -> DepotClient {
    let depot = Depot::open(Store::memory(), Limits::default())
        .await
        .unwrap();
    let endpoint = "pipe:depot".parse().unwrap();
    let (_, incoming) = world.net.listen(&endpoint).await.unwrap();
    tokio::spawn(siegel_depot::serve(incoming, depot, std::future::pending()));
    DepotClient::new(world.net.channel(&endpoint)).with_patience(Duration::from_secs(5))
}

fn upload(world: &World, policy: &Policy, user: u64) -> Vec<u8> {
    let mut id = [0; 32];
    id[..8].copy_from_slice(&user.to_be_bytes());
    let words = ["ant", "bee", "yak"]
        .into_iter()
        .cycle()
        .skip(user as usize % 3)
        .take(2)
        .collect();
    let columns = vec![Column {
        name: "words",
        words,
    }];
    let record = Record {
        privacy_id: PrivacyId::from_bytes(id),
        columns,
    }
    .encode()
    .unwrap();
    let (_, key) = derive_kem(Suite::X25519, &EPOCH_KEY);
    let context = UploadContext {
        cluster: world.cluster(),
        epoch: EPOCH,
        policy: policy.digest(),
    };
    let mut blob = [7; 16];
    blob[..8].copy_from_slice(&user.to_be_bytes());
    let mut rng = siegel_platform::rng::os_rng();
    seal_upload(&mut rng, &key, &context, BlobId::from_bytes(blob), &record).unwrap()
}
