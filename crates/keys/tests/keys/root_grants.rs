//! A root's grant: what the run was registered with, and where it stands (I2, I6).

use prost::Message as _;
use siegel_ident::{Digest, EpochId, Fencing, InputRoot, RunId, Secret, Step, Timestamp};
use siegel_keys::{KeysError, RootGrant};
use siegel_seal::grant::{GrantRole, grant_info};
use siegel_seal::{KemPublic, Suite, derive_kem, sealed_box};

use super::*;

const RUN: RunId = RunId::from_bytes([1; 16]);

type Spoil = fn(&mut v1::RunGrant);

/// Grants a run whose second step is committed, spoiled as a test wants.
struct Granting(Spoil);

impl NodeScript for Granting {
    fn session(&self, _: NodeId, peer: &Peer, _: v1::KmsRequest) -> Option<Result<Body, Refusal>> {
        let keys = v1::RootKeys {
            noise: vec![2; 32],
            checkpoint: vec![3; 32],
        };
        let info = grant_info(RUN, GrantRole::Root, peer.signing_key());
        let to = KemPublic::parse(peer.kem_key()).unwrap();
        let mut rng = siegel_platform::rng::os_rng();
        let sealed = sealed_box::seal_box(&mut rng, &to, &info, &keys.encode_to_vec());
        let release_key = derive_kem(Suite::XWing, &Secret::new([4; 32])).1;
        let mut grant = v1::RunGrant {
            run_id: RUN.to_vec(),
            fencing: 7,
            sealed_keys: sealed.unwrap(),
            release_key: release_key.to_bytes(),
            step: 2,
            previous: vec![5; 32],
            before: vec![6; 32],
            registered: Some(v1::RegisterRun {
                policy_digest: vec![7; 32],
                program_digest: vec![8; 32],
                parameters: b"parameters".to_vec(),
                epochs: vec![3, 4],
                deadline: 99,
                input_root: vec![9; 32],
                blob_count: 12,
                inputs: vec![10; 32],
            }),
        };
        (self.0)(&mut grant);
        Some(Ok(Body::RunGrant(grant)))
    }
}

async fn taken(spoil: Spoil) -> Result<RootGrant, KeysError> {
    let world = World::new(1);
    let _one = FakeNode::start(&world, 1, Arc::new(Granting(spoil))).await;
    let kms = worker(&world);
    kms.take_run(kms.request_id(), RUN).await
}

#[tokio::test]
async fn a_root_learns_what_is_registered_and_where_the_run_stands() {
    let grant = taken(|_| {}).await.unwrap();
    assert_eq!(
        (grant.run, grant.fencing, grant.step),
        (RUN, Fencing(7), Step(2))
    );
    assert_eq!(grant.previous, Digest::from_bytes([5; 32]));
    assert_eq!(grant.before, Some(Digest::from_bytes([6; 32])));
    let registered = &grant.registered;
    assert_eq!(registered.policy.as_bytes(), &[7; 32]);
    assert_eq!(registered.program.as_bytes(), &[8; 32]);
    assert_eq!(registered.parameters, b"parameters");
    assert_eq!(registered.epochs, [EpochId(3), EpochId(4)]);
    assert_eq!(registered.deadline, Timestamp(99));
    assert_eq!(registered.input_root, InputRoot::from_bytes([9; 32]));
    assert_eq!(
        (registered.blob_count, registered.inputs.as_bytes()),
        (12, &[10; 32])
    );
    // Before the first step there is nothing that it started from.
    let first = taken(|g| (g.step, g.before) = (0, Vec::new())).await;
    assert_eq!(first.unwrap().before, None);
}

// I6: catches a grant in which a step has no beginning, or that says nothing of the registration.
#[tokio::test]
async fn grants_that_do_not_fit_together_are_refused() {
    fn registered(grant: &mut v1::RunGrant) -> &mut v1::RegisterRun {
        grant.registered.as_mut().unwrap()
    }
    let spoils: [Spoil; 9] = [
        |g| g.run_id = vec![9; 16],
        |g| g.step = 0,
        |g| g.before.clear(),
        |g| g.before.truncate(31),
        |g| g.registered = None,
        |g| registered(g).policy_digest.clear(),
        |g| registered(g).program_digest.truncate(31),
        |g| registered(g).input_root.push(1),
        |g| registered(g).inputs.clear(),
    ];
    for (i, spoil) in spoils.into_iter().enumerate() {
        assert!(taken(spoil).await.is_err(), "{i}");
    }
}
