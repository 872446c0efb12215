//! The setting of every test: one in-process network.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use siegel_attest::{Role, RootConfig, worker_config};
use siegel_depot::{Depot, Limits, Store};
use siegel_ident::{
    BlobDigest, BlobId, Budget, ConfigDigest, Digest, NodeId, ObjectDigest, PrivacyId, Seconds,
    Step, Timestamp,
};
use siegel_keys::fake::{FakeNode, World, measured};
use siegel_link::depot::{DepotClient, ObjectKind};
use siegel_platform::{Clock, Peer as Placed, Platform, StartInfo, SystemClock};
use siegel_policy::{Column as PolicyColumn, ColumnKind, Policy};
use siegel_program::{Bundle, Column, Record};
use siegel_seal::object::{ObjectContext, open_release, unwrap_release_dek};
use siegel_seal::{Suite, UploadContext, derive_kem, seal_upload};
use siegel_wire::v1::root_client::RootClient;
use siegel_wire::v1::{self, run_event};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::kms::{EPOCH, EPOCH_KEY, Kms, RUN, Trusted, release_pair};

/// The program of most tests: two steps, each with its own noise; the second is released.
pub(crate) const DRIVER: &str = "\
def init(public):
    return None

def step(state, n, clients):
    return dp_histogram(clients, column = \"words\", vocabulary = \"w.txt\", max_per_user = 2, share = 0.5)

def finish(state):
    return table(\"words\", state)
";

/// Six steps; what is released depends on all of them: on the noise of each and on the state that
/// goes from one to the next. Its plan depends on the number of uploads: whether they are 12.
pub(crate) const LONG: &str = "\
def init(public):
    return {\"twelve\": public[\"blobs\"] == 12, \"best\": None}

def step(state, n, clients):
    share = 0.125 if state[\"twelve\"] else 0.1
    best = dp_histogram(clients, column = \"words\", vocabulary = \"w.txt\", max_per_user = 2, share = share)
    if n > 1 and state[\"best\"][0] > best[0]:
        best = state[\"best\"]
    return {\"twelve\": state[\"twelve\"], \"best\": best}

def finish(state):
    return table(\"words\", state[\"best\"])
";
pub(crate) const LONG_STEPS: u64 = 6;

/// Trains a model; each of its three steps releases it.
pub(crate) const TRAIN: &str = "\
MODEL = next_char(alphabet = \"a.txt\", context = 2, embedding = 3, hidden = 4)

def init(public):
    return {\"weights\": initial(MODEL, seed = 1), \"velocity\": zeros(MODEL)}

def step(state, n, clients):
    update = dp_clipped_sum(
        clients, model = MODEL, at = state[\"weights\"], column = \"text\", max_per_user = 16,
        epochs = 1, batch = 4, rate = 0.5, clip = 1.0, scale = 65536, share = 0.25,
    )
    velocity = 0.5 * state[\"velocity\"] + update / 60
    return {\"weights\": state[\"weights\"] + velocity, \"velocity\": velocity}

def snapshot(state):
    return tensors(\"model-by-round\", MODEL, state[\"weights\"])

def finish(state):
    return tensors(\"model\", MODEL, state[\"weights\"])
";
pub(crate) const TRAIN_STEPS: u64 = 3;

pub(crate) struct Setting {
    pub(crate) world: World,
    pub(crate) kms: Arc<Kms>,
    pub(crate) policy: Policy,
    pub(crate) bundle: Bundle,
    pub(crate) blobs: Vec<BlobDigest>,
    pub(crate) depot: DepotClient,
    /// Answers every request to "the" root.
    pub(crate) root: Root,
    /// How many seconds the clocks of root and workers are ahead.
    pub(crate) ahead: Arc<AtomicU64>,
    workers: u64,
    deadline: Timestamp,
    _node: FakeNode,
}

/// A host clock that is ahead.
struct Ahead(Arc<AtomicU64>);

impl Clock for Ahead {
    fn now(&self) -> Timestamp {
        let ahead = self.0.load(Ordering::SeqCst);
        SystemClock.now().plus(Seconds(ahead))
    }
}

/// A root process. It has a runtime of its own: dropping it is `kill -9`.
pub(crate) struct Root {
    address: String,
    runtime: Option<Runtime>,
}

impl Drop for Root {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Setting {
    /// `users` uploads of two of three words each, and this many workers and noise key.
    pub(crate) async fn new(driver: &str, users: u64, workers: u64, noise: u8) -> Self {
        let mut trusted = Trusted::new();
        let assets = [("w.txt", "ant\nbee\ncow\n"), ("a.txt", "abeyntk \n")];
        let assets = assets.map(|(name, text)| (name.to_owned(), text.to_owned()));
        let assets = assets.into();
        let bundle = Bundle::new("test", driver, assets).unwrap();
        let mut policy = trusted.world.policy(bundle.digest());
        policy.min_blobs = 10;
        policy.input.columns.push(PolicyColumn {
            name: "text".into(),
            kind: ColumnKind::Text,
        });
        let policy = policy.compile().unwrap();
        let kms = Arc::new(Kms::new(&mut trusted, &policy, noise));
        let world = trusted.world;
        let depot = start_depot(&world).await;
        depot
            .put(ObjectKind::Program, bundle.bytes().to_vec().into())
            .await
            .unwrap();
        let node = FakeNode::start(&world, 1, kms.clone()).await;
        let mut setting = Self {
            world,
            kms,
            policy,
            bundle,
            blobs: Vec::new(),
            depot,
            root: Root {
                address: String::new(),
                runtime: None,
            },
            ahead: Arc::default(),
            workers,
            deadline: SystemClock.now().plus(Seconds(1800)),
            _node: node,
        };
        for user in 0..users {
            let blob = setting.upload(user).await;
            setting.blobs.push(blob);
        }
        setting.blobs.sort();
        for n in 1..=workers {
            setting.start_worker(n).await;
        }
        setting.root = setting.start_root("pipe:root", "pipe:depot").await;
        setting
    }

    /// Stores the upload of one user.
    pub(crate) async fn upload(&self, user: u64) -> BlobDigest {
        let sealed = upload(&self.world, &self.policy, user);
        let put = self.depot.put(ObjectKind::Upload, sealed.into()).await;
        BlobDigest::from(put.unwrap().digest)
    }

    /// Another root process, with this depot.
    pub(crate) async fn start_root(&self, address: &str, depot: &str) -> Root {
        let config = RootConfig {
            schema: RootConfig::SCHEMA.into(),
            cluster: self.world.config().clone(),
            program: self.bundle.digest(),
        };
        let mut start = self.start(config.to_bytes().unwrap(), address.into());
        start.depot = depot.into();
        start.workers = (1..=self.workers)
            .map(|n| placed(n, format!("pipe:worker-{n}")))
            .collect();
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let digest = config.digest().unwrap();
        let (ready, mut listens) = unbounded_channel();
        let platform = self.platform(Role::Root, digest, start, ready);
        runtime.spawn(siegel_root::serve(platform, self.world.net.clone()));
        listens.recv().await.unwrap();
        Root {
            address: address.to_owned(),
            runtime: Some(runtime),
        }
    }

    /// The root dies; another process takes its place.
    pub(crate) async fn replace_root(&mut self, address: &str) {
        self.root = self.start_root(address, "pipe:depot").await;
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

    fn platform(
        &self,
        role: Role,
        config: ConfigDigest,
        start: StartInfo,
        ready: UnboundedSender<String>,
    ) -> Platform {
        let measurement = measured(role).measurement().unwrap();
        let mut platform = self.world.platform(measurement, config, start, move |at| {
            ready.send(at).ok();
        });
        platform.clock = Arc::new(Ahead(self.ahead.clone()));
        platform
    }

    async fn start_worker(&self, n: u64) {
        let config = worker_config(self.world.config_digest());
        let bytes = self.world.config().to_bytes().unwrap();
        let mut start = self.start(bytes, format!("pipe:worker-{n}"));
        start.node = NodeId(n);
        let (ready, mut listens) = unbounded_channel();
        let platform = self.platform(Role::Worker, config, start, ready);
        tokio::spawn(siegel_worker::serve(platform, self.world.net.clone()));
        listens.recv().await.unwrap();
    }

    pub(crate) fn request(&self) -> v1::RunRequest {
        v1::RunRequest {
            policy_digest: self.policy.digest().to_vec(),
            policy: self.policy.bytes().to_vec(),
            program_digest: self.bundle.digest().to_vec(),
            epochs: vec![EPOCH.0],
            deadline: self.deadline.0,
            params: br#"{"rounds":2}"#.to_vec(),
            resume_run_id: Vec::new(),
        }
    }

    /// The same request for the registered run, as an operator sends it whose root has died.
    pub(crate) fn resume(&self, steps: u64) -> v1::RunRequest {
        v1::RunRequest {
            resume_run_id: RUN.to_vec(),
            ..self.request_for(steps)
        }
    }

    /// A request for so many steps.
    pub(crate) fn request_for(&self, steps: u64) -> v1::RunRequest {
        v1::RunRequest {
            params: format!("{{\"rounds\":{steps}}}").into_bytes(),
            ..self.request()
        }
    }

    pub(crate) fn client(&self) -> RootClient<tonic::transport::Channel> {
        self.client_of(&self.root)
    }

    pub(crate) fn client_of(&self, root: &Root) -> RootClient<tonic::transport::Channel> {
        RootClient::new(self.world.net.channel(&root.address.parse().unwrap()))
    }

    /// All events of a run but progress.
    pub(crate) async fn run(&self, request: v1::RunRequest) -> Vec<run_event::Body> {
        self.run_on(&self.root, request).await
    }

    /// The same, on one of several roots.
    pub(crate) async fn run_on(
        &self,
        root: &Root,
        request: v1::RunRequest,
    ) -> Vec<run_event::Body> {
        let mut events = Vec::new();
        let stream = self.client_of(root).run(request).await;
        let mut stream = stream.unwrap().into_inner();
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
        failure(&self.run(request).await).code
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

    /// What the first step starts from.
    pub(crate) fn registration(&self) -> Digest {
        let seen = self.kms.seen.lock().unwrap();
        let number = seen.ledger.run(RUN).unwrap().registration;
        Digest::of(seen.ledger.receipt(number).unwrap())
    }

    pub(crate) fn total(&self) -> Budget {
        self.policy.privacy.total
    }
}

/// The refusal that ended a run.
pub(crate) fn failure(events: &[run_event::Body]) -> v1::Refusal {
    match events.last() {
        Some(run_event::Body::Failed(refusal)) => refusal.clone(),
        other => panic!("{other:?}"),
    }
}

/// Waits until something is so, but not for ever.
pub(crate) async fn until(so: impl Fn() -> bool) {
    for _ in 0..6000 {
        if so() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("waited in vain");
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
    let words: Vec<&str> = ["ant", "bee", "yak"]
        .into_iter()
        .cycle()
        .skip(user as usize % 3)
        .take(2)
        .collect();
    let text = words.join(" ");
    let columns = vec![Column::words("words", words), Column::text("text", &text)];
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
