//! Sealed grants: who can open what (I3).

use std::sync::{Arc, Mutex};

use siegel_ident::{
    Budget, Delta, Digest, EpochId, Fencing, InputRoot, NanoRho, ProgramDigest, RunId, Secret,
};
use siegel_keys::KeysError;
use siegel_keys::fake::FakeGrant;
use siegel_policy::AccessPolicy;
use siegel_seal::grant::GrantRole;
use siegel_seal::{Suite, derive_kem};
use siegel_session::PeerKeys;

use super::*;

const RUN: RunId = RunId::from_bytes([1; 16]);
const PROGRAM: ProgramDigest = ProgramDigest::from_bytes([3; 32]);

type Spoil = Box<dyn Fn(&mut v1::WorkerGrant) + Send>;

/// Hands out one grant, spoiled as a test wants.
struct Granting {
    grant: FakeGrant,
    role: GrantRole,
    sealed_for: RunId,
    spoil: Mutex<Spoil>,
}

impl NodeScript for Granting {
    fn session(&self, _: NodeId, peer: &Peer, _: v1::KmsRequest) -> Option<Result<Body, Refusal>> {
        let mut wire = self.grant.to(peer, self.role, self.sealed_for);
        (self.spoil.lock().unwrap())(&mut wire);
        Some(Ok(Body::WorkerGrant(wire)))
    }
}

fn grant(world: &World) -> FakeGrant {
    let key = |suite, byte| derive_kem(suite, &Secret::new([byte; 32])).0;
    let root_kem = derive_kem(Suite::XWing, &Secret::new([8; 32])).1;
    FakeGrant {
        run: RUN,
        index: [2; 32],
        epochs: vec![
            (EpochId(4), key(Suite::X25519, 1)),
            (EpochId(4), key(Suite::XWing, 2)),
            (EpochId(5), key(Suite::X25519, 3)),
        ],
        root: PeerKeys {
            signing_key: [6; 32],
            kem_key: root_kem.to_bytes(),
        },
        fencing: Fencing(2),
        policy: world.policy(PROGRAM).compile().unwrap(),
        program: PROGRAM,
        plan: Digest::of(b"plan"),
        steps: vec![Budget {
            rho_nano: NanoRho(1000),
            delta0: Delta(0),
        }],
        input_root: InputRoot::from_bytes([7; 32]),
        blob_count: 10,
        inputs: Digest::of(b"list of inputs"),
        lease: 30,
    }
}

async fn authorize(
    world: &World,
    role: GrantRole,
    sealed_for: RunId,
    change: impl FnOnce(&mut FakeGrant),
    spoil: impl Fn(&mut v1::WorkerGrant) + Send + 'static,
) -> Result<siegel_keys::WorkerGrant, KeysError> {
    let mut grant = grant(world);
    change(&mut grant);
    let spoil: Mutex<Spoil> = Mutex::new(Box::new(spoil));
    let script = Arc::new(Granting {
        grant,
        role,
        sealed_for,
        spoil,
    });
    let _one = FakeNode::start(world, 1, script).await;
    let kms = worker(world);
    kms.authorize(kms.request_id(), RUN).await
}

#[tokio::test]
async fn a_worker_gets_what_was_granted() {
    let world = World::new(1);
    let got = authorize(&world, GrantRole::Worker, RUN, |_| {}, |_| {})
        .await
        .unwrap();
    assert_eq!(
        (got.run, got.cluster, got.fencing),
        (RUN, world.cluster(), Fencing(2))
    );
    assert_eq!(got.index.expose(), &[2; 32]);
    assert_eq!(got.epochs, [EpochId(4), EpochId(5)]);
    assert!(got.epoch_key(EpochId(4), Suite::XWing).is_some());
    assert!(got.epoch_key(EpochId(5), Suite::XWing).is_none());
    assert_eq!(got.root, grant(&world).root);
    assert_eq!(got.inputs, Digest::of(b"list of inputs"));
    assert!(got.lease.left() <= Duration::from_secs(30));
}

// Catches a grant of another role or run that opens.
#[tokio::test]
async fn a_grant_for_another_role_or_run_does_not_open() {
    let other = RunId::from_bytes([9; 16]);
    for (role, run) in [(GrantRole::Root, RUN), (GrantRole::Worker, other)] {
        let world = World::new(1);
        let error = authorize(&world, role, run, |_| {}, |_| {})
            .await
            .err()
            .unwrap();
        assert!(matches!(error, KeysError::Grant(_)), "{error}");
    }
}

// Catches a worker that serves a policy of another cluster, program or suite.
#[tokio::test]
async fn a_policy_that_does_not_allow_the_run_is_refused() {
    type Edit = fn(&mut AccessPolicy);
    let edits: [Edit; 5] = [
        |p| p.kms.cluster_id = siegel_ident::ClusterId::from_bytes([9; 32]),
        |p| p.kms.config = siegel_ident::ConfigDigest::from_bytes([9; 32]),
        |p| p.programs = vec![ProgramDigest::from_bytes([9; 32])],
        |p| p.suites = vec![1],
        |p| p.kms.reference_values = vec![measured(Role::Root)],
    ];
    for edit in edits {
        let world = World::new(1);
        let mut policy = world.policy(PROGRAM);
        edit(&mut policy);
        let policy = policy.compile().unwrap();
        let change = |grant: &mut FakeGrant| grant.policy = policy;
        let error = authorize(&world, GrantRole::Worker, RUN, change, |_| {})
            .await
            .err()
            .unwrap();
        assert!(matches!(error, KeysError::NotAllowed(_)), "{error}");
    }
}

#[tokio::test]
async fn malformed_fields_are_refused() {
    let spoils: [fn(&mut v1::WorkerGrant); 9] = [
        |g| g.epochs = vec![4],
        |g| g.epochs = vec![5, 4],
        |g| g.root_signing_key = vec![1; 31],
        |g| {
            g.root_kem_key = derive_kem(Suite::X25519, &Secret::new([1; 32]))
                .1
                .to_bytes()
        },
        |g| g.input_root.truncate(31),
        |g| g.inputs.clear(),
        |g| g.program_digest.clear(),
        |g| g.parameters.push(b' '),
        |g| g.policy.push(b'\n'),
    ];
    for (i, spoil) in spoils.into_iter().enumerate() {
        let world = World::new(1);
        let result = authorize(&world, GrantRole::Worker, RUN, |_| {}, spoil).await;
        assert!(result.is_err(), "{i}");
    }
}

#[tokio::test]
async fn two_keys_for_one_epoch_and_suite_are_refused() {
    let world = World::new(1);
    let twice = |grant: &mut FakeGrant| {
        let again = derive_kem(Suite::X25519, &Secret::new([9; 32])).0;
        grant.epochs.insert(1, (EpochId(4), again));
    };
    let error = authorize(&world, GrantRole::Worker, RUN, twice, |_| {})
        .await
        .err()
        .unwrap();
    assert!(matches!(error, KeysError::BadReply { .. }), "{error}");
}
