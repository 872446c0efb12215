//! For the tests inside: grants from a scripted key service, and a program to go with them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use siegel_attest::{Role, worker_config};
use siegel_ident::{
    Digest, EpochId, Fencing, InputRoot, NanoRho, NodeId, PrivacyId, RunId, Secret, SecretBytes,
};
use siegel_keys::fake::{FakeGrant, FakeNode, NodeScript, World, measured};
use siegel_keys::{BootKeys, WorkerGrant, WorkloadKms};
use siegel_link::Refusal;
use siegel_platform::{Platform, StartInfo};
use siegel_program::{Bundle, Column, HistogramSpec, Intrinsic, Plan, Record, Release, Shape};
use siegel_seal::grant::GrantRole;
use siegel_seal::{Suite, derive_kem};
use siegel_session::{Peer, PeerKeys};
use siegel_wire::v1::{self, kms_response::Body};

/// Grants whatever run is asked for.
#[derive(Clone)]
struct Granting(Arc<Mutex<FakeGrant>>);

impl NodeScript for Granting {
    fn session(
        &self,
        _: NodeId,
        peer: &Peer,
        request: v1::KmsRequest,
    ) -> Option<Result<Body, Refusal>> {
        let v1::kms_request::Body::Authorize(ask) = request.body? else {
            return None;
        };
        let run = RunId::try_from_slice(&ask.run_id)?;
        let grant = self.0.lock().unwrap().to(peer, GrantRole::Worker, run);
        Some(Ok(Body::WorkerGrant(grant)))
    }
}

pub(crate) struct Setting {
    pub(crate) world: World,
    pub(crate) platform: Platform,
    pub(crate) bundle: Bundle,
    pub(crate) intrinsic: Intrinsic,
    pub(crate) plan: Plan,
    kms: WorkloadKms,
    granting: Granting,
    _node: FakeNode,
}

impl Setting {
    /// Leases last 30 s.
    pub(crate) async fn new() -> Self {
        let world = World::new(1);
        let assets = [("words.txt".to_owned(), "of\nthe\n".to_owned())];
        let bundle = Bundle::new("demo", "def init(): pass\n", assets.into()).unwrap();
        let spec = HistogramSpec::new(&bundle, "words", "words.txt", 2, NanoRho(1000)).unwrap();
        let release = Release {
            name: "words".into(),
            shape: Shape::Table { rows: 3 },
            bytes: 100,
        };
        let intrinsic = Intrinsic::Histogram(spec);
        let steps = vec![(vec![intrinsic.clone()], Some(release))];
        let plan = Plan::new(BTreeMap::new(), steps, 100).unwrap();
        let kem = |suite| derive_kem(suite, &Secret::new([1; 32]));
        let parameters = plan.run_parameters().unwrap();
        let grant = FakeGrant {
            run: run(1),
            index: [2; 32],
            epochs: vec![(EpochId(4), kem(Suite::X25519).0)],
            root: PeerKeys {
                signing_key: [6; 32],
                kem_key: kem(Suite::XWing).1.to_bytes(),
            },
            fencing: Fencing(1),
            policy: world.policy(bundle.digest()).compile().unwrap(),
            program: bundle.digest(),
            plan: parameters.plan,
            steps: parameters.steps,
            input_root: InputRoot::from_bytes([7; 32]),
            blob_count: 10,
            inputs: Digest::from_bytes([1; 32]),
            lease: 30,
        };
        let granting = Granting(Arc::new(Mutex::new(grant)));
        let node = FakeNode::start(&world, 1, Arc::new(granting.clone())).await;
        let config = worker_config(world.config_digest());
        let measurement = measured(Role::Worker).measurement().unwrap();
        let platform = world.platform(measurement, config, StartInfo::default(), |_| {});
        let keys = BootKeys::generate(&mut platform.rng(), Role::Worker, config).unwrap();
        let (nodes, cluster) = ([node.node.clone()], world.config().clone());
        let kms = WorkloadKms::new(platform.clone(), &world.net, &nodes, cluster, keys);
        Self {
            kms: kms.unwrap(),
            world,
            platform,
            bundle,
            intrinsic,
            plan,
            granting,
            _node: node,
        }
    }

    pub(crate) async fn granted(&self, id: u8) -> WorkerGrant {
        let grant = self.kms.authorize(self.kms.request_id(), run(id)).await;
        grant.unwrap()
    }

    /// Every grant from now on is another one.
    pub(crate) fn edit(&self, edit: impl FnOnce(&mut FakeGrant)) {
        edit(&mut self.granting.0.lock().unwrap());
    }
}

pub(crate) fn run(byte: u8) -> RunId {
    RunId::from_bytes([byte; 16])
}

/// What an upload of this user holds.
pub(crate) fn record(user: u8, words: &[&str]) -> SecretBytes {
    let columns = vec![Column::words("words", words.to_vec())];
    let privacy_id = PrivacyId::from_bytes([user; 32]);
    Record {
        privacy_id,
        columns,
    }
    .encode()
    .unwrap()
}
