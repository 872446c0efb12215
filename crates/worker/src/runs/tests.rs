use std::time::Duration;

use siegel_attest::{Role, worker_config};
use siegel_ident::{
    Budget, EpochId, Fencing, InputRoot, NanoRho, NodeId, ProgramDigest, RunId, Secret,
};
use siegel_keys::fake::{FakeGrant, FakeNode, NodeScript, World, measured};
use siegel_keys::{BootKeys, WorkloadKms};
use siegel_link::Refusal;
use siegel_platform::StartInfo;
use siegel_seal::grant::GrantRole;
use siegel_seal::{Suite, derive_kem};
use siegel_session::{Peer, PeerKeys};
use siegel_wire::v1::{self, kms_response::Body};

use super::*;

const PROGRAM: ProgramDigest = ProgramDigest::from_bytes([3; 32]);

/// Grants whatever run is asked for, for 30 s.
struct Granting(FakeGrant);

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
        let grant = self.0.to(peer, GrantRole::Worker, run);
        Some(Ok(Body::WorkerGrant(grant)))
    }
}

struct Setting {
    kms: WorkloadKms,
    _node: FakeNode,
}

impl Setting {
    async fn new() -> Self {
        let world = World::new(1);
        let kem = |suite| derive_kem(suite, &Secret::new([1; 32]));
        let grant = FakeGrant {
            run: run(1),
            index: [2; 32],
            epochs: vec![(EpochId(4), kem(Suite::X25519).0)],
            root: PeerKeys {
                signing_key: [6; 32],
                kem_key: kem(Suite::XWing).1.to_bytes(),
            },
            fencing: Fencing(1),
            policy: world.policy(PROGRAM).compile().unwrap(),
            program: PROGRAM,
            steps: vec![Budget {
                rho_nano: NanoRho(1),
                ..Budget::ZERO
            }],
            input_root: InputRoot::from_bytes([7; 32]),
            blob_count: 10,
            lease: 30,
        };
        let node = FakeNode::start(&world, 1, Arc::new(Granting(grant))).await;
        let config = worker_config(world.config_digest());
        let measurement = measured(Role::Worker).measurement;
        let platform = world.platform(measurement, config, StartInfo::default(), |_| {});
        let keys = BootKeys::generate(&mut platform.rng(), Role::Worker, config).unwrap();
        let nodes = [node.node.clone()];
        let cluster = world.config().clone();
        let kms = WorkloadKms::new(platform, &world.net, &nodes, cluster, keys).unwrap();
        Self { kms, _node: node }
    }

    async fn granted(&self, id: u8) -> Run {
        let grant = self.kms.authorize(self.kms.request_id(), run(id)).await;
        Run::new(grant.unwrap())
    }
}

fn run(byte: u8) -> RunId {
    RunId::from_bytes([byte; 16])
}

// I9: the process was paused, so that nobody erased in time. Catches a table that serves what it
// should have erased.
#[tokio::test(start_paused = true)]
async fn a_paused_process_erases_before_it_serves() {
    let setting = Setting::new().await;
    let runs = Runs::default();
    runs.insert(setting.granted(1).await);
    assert!(runs.get(run(1)).is_ok());
    tokio::time::advance(Duration::from_secs(30)).await;
    assert!(matches!(runs.get(run(1)), Err(Stop::NotPrepared(_))));
    assert!(runs.lock().is_empty());
}

// I9: catches keys that lie about until somebody asks for them.
#[tokio::test(start_paused = true)]
async fn nobody_has_to_ask() {
    let setting = Setting::new().await;
    let runs = Arc::new(Runs::default());
    let eraser = tokio::spawn({
        let runs = runs.clone();
        async move { runs.keep_erasing().await }
    });
    runs.insert(setting.granted(1).await);
    let held = Arc::downgrade(&runs.get(run(1)).unwrap());
    tokio::time::sleep(Duration::from_secs(29)).await;
    assert!(held.upgrade().is_some());
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(held.upgrade().is_none());
    eraser.abort();
}

// Catches an erasure of the old grant that takes a fresh one with it, and a table without bound.
#[tokio::test(start_paused = true)]
async fn the_table_is_bounded_and_erases_exactly_one_grant() {
    let setting = Setting::new().await;
    let runs = Runs::default();
    runs.insert(setting.granted(1).await);
    let old = runs.get(run(1)).unwrap();
    runs.insert(setting.granted(1).await);
    runs.erase(&old);
    let fresh = runs.get(run(1)).unwrap();
    runs.erase(&fresh);
    assert!(runs.get(run(1)).is_err());

    for id in 0..=MAX as u8 {
        runs.insert(setting.granted(id).await);
        tokio::time::advance(Duration::from_millis(1)).await;
    }
    assert_eq!(runs.lock().len(), MAX);
    assert!(runs.get(run(0)).is_err() && runs.get(run(MAX as u8)).is_ok());
}
