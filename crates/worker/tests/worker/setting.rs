//! The setting of every test: keys, policy, program, uploads, nodes.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use prost::Message as _;
use siegel_attest::{Role, root_config};
use siegel_ident::{
    BlobDigest, BlobId, Digest, EpochId, Fencing, NanoRho, NodeId, PrivacyId, RunId, Secret,
    SecretBytes, Step,
};
use siegel_keys::BootKeys;
use siegel_keys::fake::{FakeGrant, FakeNode, NodeScript, World, measured};
use siegel_link::{Refusal, SessionStream, dial, refusal};
use siegel_platform::{Peer as Placed, Platform, StartInfo};
use siegel_policy::{Column as PolicyColumn, ColumnKind};
use siegel_program::{
    BlockCount, BlockSum, Bundle, Column, HistogramSpec, Intrinsic, Plan, Record, Release, Shape,
    SumPlace, input_root,
};
use siegel_seal::grant::GrantRole;
use siegel_seal::sealed_box::open_box;
use siegel_seal::{KemPublic, Suite, UploadContext, derive_kem, seal_upload};
use siegel_session::{Expect, Peer, PeerKeys, Purpose, Setup};
use siegel_wire::v1::worker_client::WorkerClient;
use siegel_wire::v1::{self, kms_response::Body, worker_request, worker_response};

use siegel_worker::Limits;

use super::depot::LyingDepot;

pub(crate) const RUN: RunId = RunId::from_bytes([1; 16]);
pub(crate) const EPOCH: EpochId = EpochId(3);
pub(crate) const FENCING: Fencing = Fencing(5);
pub(crate) const STEP: Step = Step(1);
const EPOCH_KEY: Secret<32> = Secret::new([11; 32]);

/// What the key service does next.
pub(crate) struct Kms {
    pub(crate) grant: Mutex<FakeGrant>,
    /// Answer to RenewLease.
    pub(crate) renew: Mutex<Result<u64, Refusal>>,
    /// How often it was asked to renew.
    pub(crate) renewals: AtomicUsize,
    /// Answer to Authorize instead of the grant.
    pub(crate) refuse: Mutex<Option<Refusal>>,
}

impl NodeScript for Kms {
    fn session(
        &self,
        _: NodeId,
        peer: &Peer,
        request: v1::KmsRequest,
    ) -> Option<Result<Body, Refusal>> {
        use v1::kms_request::Body as Ask;
        Some(match request.body? {
            Ask::Authorize(_) => match self.refuse.lock().unwrap().clone() {
                Some(refusal) => Err(refusal),
                None => {
                    let grant = self.grant.lock().unwrap().to(peer, GrantRole::Worker, RUN);
                    Ok(Body::WorkerGrant(grant))
                }
            },
            Ask::RenewLease(_) => {
                self.renewals.fetch_add(1, Ordering::SeqCst);
                let lease = self.renew.lock().unwrap().clone();
                lease.map(|lease_seconds| Body::Lease(v1::Lease { lease_seconds }))
            }
            _ => Err(refusal("unexpected", "", "", "not in this test")),
        })
    }
}

pub(crate) struct Setting {
    pub(crate) world: World,
    pub(crate) depot: LyingDepot,
    pub(crate) kms: Arc<Kms>,
    pub(crate) node: FakeNode,
    pub(crate) bundle: Bundle,
    pub(crate) spec: HistogramSpec,
    /// Digests of the registered uploads, ascending.
    pub(crate) uploads: Vec<BlobDigest>,
    root: BootKeys,
    platform: Platform,
    worker_key: Mutex<Vec<u8>>,
}

/// One user's words, as plaintext of an upload.
pub(crate) fn record(user: u8, words: &[&str]) -> SecretBytes {
    columns(user, vec![Column::words("words", words.to_vec())])
}

/// One user's columns, as plaintext of an upload.
pub(crate) fn columns(user: u8, columns: Vec<Column<'_>>) -> SecretBytes {
    let privacy_id = PrivacyId::from_bytes([user; 32]);
    let record = Record {
        privacy_id,
        columns,
    };
    record.encode().unwrap()
}

impl Setting {
    /// `seal` makes the uploads; all of them are registered.
    pub(crate) async fn new(seal: impl FnOnce(&Sealer) -> Vec<Vec<u8>>) -> Self {
        Self::within(Limits::default(), seal).await
    }

    /// A worker with these limits.
    pub(crate) async fn within(limits: Limits, seal: impl FnOnce(&Sealer) -> Vec<Vec<u8>>) -> Self {
        let world = World::new(1);
        let assets = [
            ("words.txt", "and\nof\nthe\nto\n"),
            ("letters.txt", "abcdefg \n"),
        ];
        let assets = assets.map(|(name, text)| (name.to_owned(), text.to_owned()));
        let bundle = Bundle::new("demo", "def init(): pass\n", assets.into()).unwrap();
        let spec = HistogramSpec::new(&bundle, "words", "words.txt", 2, NanoRho(1000)).unwrap();
        let mut policy = world.policy(bundle.digest());
        policy.suites = vec![1];
        for (name, kind) in [("text", ColumnKind::Text), ("rows", ColumnKind::Floats)] {
            let name = name.to_owned();
            policy.input.columns.push(PolicyColumn { name, kind });
        }
        let policy = policy.compile().unwrap();

        let depot = LyingDepot::default();
        depot.put(bundle.bytes());
        let (_, public) = derive_kem(Suite::X25519, &EPOCH_KEY);
        let context = UploadContext {
            cluster: world.cluster(),
            epoch: EPOCH,
            policy: policy.digest(),
        };
        let sealed = seal(&Sealer {
            public,
            context,
            count: Mutex::new(0),
        });
        let digests = sealed
            .iter()
            .map(|upload| BlobDigest::from(depot.put(upload)));
        let mut uploads: Vec<BlobDigest> = digests.collect();
        uploads.sort();
        // Two steps of the same kind; the second one has another price.
        let second = priced(&spec, 500);
        let plan = plan(vec![vec![spec.clone()], vec![second]]);

        let kms_config = world.config_digest();
        let config = root_config(kms_config, bundle.digest());
        let start = StartInfo::default();
        let platform = world.platform(
            measured(Role::Root).measurement().unwrap(),
            config,
            start,
            |_| {},
        );
        let root = BootKeys::generate(&mut platform.rng(), Role::Root, config).unwrap();
        let grant = FakeGrant {
            run: RUN,
            index: [2; 32],
            epochs: vec![(EPOCH, derive_kem(Suite::X25519, &EPOCH_KEY).0)],
            root: root.identity().keys(),
            fencing: FENCING,
            policy,
            program: bundle.digest(),
            plan: depot.put(&plan.to_bytes().unwrap()),
            steps: plan.steps.iter().map(|step| step.cost).collect(),
            input_root: input_root(&uploads).unwrap(),
            blob_count: uploads.len() as u64,
            inputs: depot.put(&list(&uploads)),
            lease: 30,
        };
        let kms = Arc::new(Kms {
            grant: Mutex::new(grant),
            renew: Mutex::new(Ok(30)),
            renewals: AtomicUsize::new(0),
            refuse: Mutex::default(),
        });
        let node = FakeNode::start(&world, 1, kms.clone()).await;
        depot.serve(&world.net).await;
        let setting = Self {
            world,
            depot,
            kms,
            node,
            bundle,
            spec,
            uploads,
            root,
            platform,
            worker_key: Mutex::default(),
        };
        setting.start_worker(limits).await;
        setting
    }

    async fn start_worker(&self, limits: Limits) {
        let address = self.node.node.endpoint.to_string();
        let start = StartInfo {
            config: self.world.config().to_bytes().unwrap(),
            listen: "pipe:worker-1".into(),
            kms: vec![Placed {
                node: NodeId(1),
                address,
            }],
            depot: "pipe:depot".into(),
            ..StartInfo::default()
        };
        let config = siegel_attest::worker_config(self.world.config_digest());
        let (ready, mut listens) = tokio::sync::mpsc::unbounded_channel();
        let measurement = measured(Role::Worker).measurement().unwrap();
        let platform = self.world.platform(measurement, config, start, move |at| {
            ready.send(at).ok();
        });
        let net = self.world.net.clone();
        tokio::spawn(siegel_worker::serve_within(platform, net, limits));
        assert_eq!(listens.recv().await.unwrap(), "pipe:worker-1");
    }

    /// The key service has this plan registered from now on.
    pub(crate) fn register(&self, plan: &Plan) {
        let mut grant = self.kms.grant.lock().unwrap();
        grant.plan = self.depot.put(&plan.to_bytes().unwrap());
        grant.steps = plan.steps.iter().map(|step| step.cost).collect();
    }

    /// Asks the worker to take part; returns its refusal, if any.
    pub(crate) async fn prepare(&self) -> Option<Refusal> {
        let channel = self.world.net.channel(&"pipe:worker-1".parse().unwrap());
        let request = v1::PrepareRequest {
            run_id: RUN.to_vec(),
        };
        let reply = WorkerClient::new(channel)
            .prepare(request)
            .await
            .unwrap()
            .into_inner();
        *self.worker_key.lock().unwrap() = reply.signing_key;
        reply.refusal
    }

    /// A session as the granted root.
    pub(crate) async fn session(&self) -> Result<SessionStream, siegel_link::LinkError> {
        self.session_as(&self.root).await
    }

    pub(crate) async fn session_as(
        &self,
        root: &BootKeys,
    ) -> Result<SessionStream, siegel_link::LinkError> {
        self.session_for(root, self.purpose()).await
    }

    /// What the key service grants now.
    pub(crate) fn purpose(&self) -> Purpose {
        let grant = self.kms.grant.lock().unwrap();
        Purpose {
            run: RUN,
            policy: grant.policy.digest(),
            fencing: grant.fencing,
        }
    }

    pub(crate) async fn session_for(
        &self,
        root: &BootKeys,
        purpose: Purpose,
    ) -> Result<SessionStream, siegel_link::LinkError> {
        let channel = self.world.net.channel(&"pipe:worker-1".parse().unwrap());
        let signing_key = self.worker_key.lock().unwrap().clone().try_into().unwrap();
        // The KEM key comes from the key service; here the handshake itself tells it.
        let kem_key = self.kem_key_of_worker();
        let setup = Setup {
            identity: root.identity().clone(),
            deployment: None,
            purpose: Some(purpose),
            expect: Expect::Vouched {
                role: Role::Worker,
                keys: vec![PeerKeys {
                    signing_key,
                    kem_key,
                }],
            },
        };
        dial(&self.platform, channel, setup).await
    }

    fn kem_key_of_worker(&self) -> Vec<u8> {
        self.node
            .met()
            .into_iter()
            .map(|keys| keys.kem_key)
            .next_back()
            .unwrap()
    }

    pub(crate) fn root(&self) -> &BootKeys {
        &self.root
    }

    pub(crate) fn another_root(&self) -> BootKeys {
        BootKeys::generate(
            &mut self.platform.rng(),
            Role::Root,
            self.root.identity().config(),
        )
        .unwrap()
    }

    /// The question for these blocks.
    pub(crate) fn ask(&self, blocks: &[u32]) -> v1::ComputeBlocks {
        v1::ComputeBlocks {
            fencing: FENCING.0,
            step: STEP.0,
            intrinsic: 0,
            spec: bytes(&self.spec),
            block_count: self.blocks().get(),
            blocks: blocks.to_vec(),
            state: Vec::new(),
        }
    }

    pub(crate) fn blocks(&self) -> BlockCount {
        BlockCount::for_blobs(self.kms.grant.lock().unwrap().blob_count)
    }

    /// Opens the sums of an answer to [`Setting::ask`] and adds them up.
    pub(crate) fn total(&self, sums: &v1::BlockSums) -> Vec<i64> {
        self.total_of(&self.ask(&[]), sums)
    }

    /// The same for any question.
    pub(crate) fn total_of(&self, ask: &v1::ComputeBlocks, sums: &v1::BlockSums) -> Vec<i64> {
        let mut total = vec![0; Intrinsic::parse(&ask.spec).unwrap().dimension()];
        for sum in &sums.blocks {
            let place = SumPlace {
                step: Step(ask.step),
                intrinsic: ask.intrinsic,
                spec: &ask.spec,
                state: Digest::of(&ask.state),
                blocks: self.blocks(),
                block: sum.block,
            };
            let info = BlockSum::seal_info(&RUN, Fencing(ask.fencing), &place);
            let opened = open_box(self.root.kem(), &info, &sum.sealed).unwrap();
            let (numbers, rest) = opened.expose().as_chunks::<8>();
            assert!(rest.is_empty() && numbers.len() == total.len());
            for (slot, number) in total.iter_mut().zip(numbers) {
                *slot += i64::from_le_bytes(*number);
            }
        }
        total
    }
}

/// Makes uploads for the epoch of the run.
pub(crate) struct Sealer {
    pub(crate) public: KemPublic,
    pub(crate) context: UploadContext,
    count: Mutex<u8>,
}

impl Sealer {
    pub(crate) fn seal(&self, plaintext: &SecretBytes) -> Vec<u8> {
        self.seal_for(&self.context, plaintext)
    }

    pub(crate) fn seal_for(&self, context: &UploadContext, plaintext: &SecretBytes) -> Vec<u8> {
        let mut count = self.count.lock().unwrap();
        *count += 1;
        let mut rng = siegel_platform::rng::os_rng();
        let blob = BlobId::from_bytes([*count; 16]);
        seal_upload(&mut rng, &self.public, context, blob, plaintext).unwrap()
    }
}

/// The same at another price.
pub(crate) fn priced(spec: &HistogramSpec, rho: u64) -> HistogramSpec {
    let mut spec = spec.clone();
    spec.rho_nano = NanoRho(rho);
    spec
}

/// A list of uploads as it is stored.
pub(crate) fn list(uploads: &[BlobDigest]) -> Vec<u8> {
    uploads.iter().flat_map(|blob| blob.to_vec()).collect()
}

/// Canonical bytes of a histogram, as they stand in a question.
pub(crate) fn bytes(spec: &HistogramSpec) -> Vec<u8> {
    Intrinsic::Histogram(spec.clone()).to_bytes().unwrap()
}

/// A plan of histograms by step.
pub(crate) fn plan(steps: Vec<Vec<HistogramSpec>>) -> Plan {
    let step = |specs: Vec<_>| specs.into_iter().map(Intrinsic::Histogram).collect();
    plan_of(steps.into_iter().map(step).collect())
}

/// A plan of intrinsics by step.
pub(crate) fn plan_of(steps: Vec<Vec<Intrinsic>>) -> Plan {
    let release = Release {
        name: "words".into(),
        shape: Shape::Table { rows: 5 },
        bytes: 100,
    };
    let steps = steps.into_iter().map(|step| (step, Some(release.clone())));
    Plan::new(BTreeMap::new(), steps.collect(), 100).unwrap()
}

/// One question, one answer.
pub(crate) async fn compute(
    session: &mut SessionStream,
    ask: v1::ComputeBlocks,
) -> Result<v1::BlockSums, Refusal> {
    let request = v1::WorkerRequest {
        body: Some(worker_request::Body::Compute(ask)),
    };
    let reply = session
        .call(&request.encode_to_vec(), Duration::from_secs(60))
        .await
        .unwrap();
    match v1::WorkerResponse::decode(reply.as_slice())
        .unwrap()
        .body
        .unwrap()
    {
        worker_response::Body::Sums(sums) => Ok(sums),
        worker_response::Body::Refusal(refusal) => Err(refusal),
    }
}

/// Code of the refusal.
pub(crate) async fn refused(session: &mut SessionStream, ask: v1::ComputeBlocks) -> String {
    compute(session, ask).await.unwrap_err().code
}
