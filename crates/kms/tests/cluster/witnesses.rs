//! I1: a group that demands witnesses takes nothing that they have not seen, by its own clock.

use std::time::Duration;

use siegel_ident::Seconds;
use siegel_platform::Clock as _;
use siegel_translog::testing::{TestLog, TestWitness};

use crate::world::World;

const MAX_AGE: u64 = 600;

fn witnesses() -> [TestWitness; 2] {
    [1, 2].map(TestWitness::new)
}

/// Catches a door of the key service that judges proofs or checkpoints without the genesis' witnesses,
/// or by another clock than its own.
#[tokio::test(flavor = "multi_thread")]
async fn i1_a_policy_needs_fresh_witnesses() {
    let mut world = World::new(None);
    world.config.witnesses = TestWitness::quorum(&witnesses(), 2, Seconds(MAX_AGE));
    for node in 1..=3 {
        world.start(node, node == 1, &world.config.clone(), "kms");
    }
    let leads = |status: &siegel_wire::v1::StatusReply| status.leader_id != 0;
    world.wait(Duration::from_secs(30), "a leader", leads).await;
    let policy = world.policy(&world.genesis().await).compile().unwrap();

    // Nobody has cosigned.
    let unwitnessed = world.registration(&policy, Vec::new());
    let refused = world.register_policy(&unwitnessed).await.unwrap_err();
    assert_eq!(refused.code, "bad-proof");

    world.log =
        TestLog::new("log.example", [7; 32]).witnessed(witnesses().into(), Seconds(MAX_AGE));
    world.log.set_time(world.clock.now());
    let fresh = world.registration(&policy, Vec::new());
    world.clock.advance(Seconds(MAX_AGE + 60));
    let refused = world.register_policy(&fresh).await.unwrap_err();
    assert_eq!(refused.code, "bad-proof", "stale by now");
    world.log.set_time(world.clock.now());
    let fresh = world.registration(&policy, Vec::new());
    world.register_policy(&fresh).await.unwrap();

    // The checkpoint that a key's evidence carries is held to the same.
    let id = world.request_id();
    world.bundle(id, &policy).await.unwrap();
    world.clock.advance(Seconds(MAX_AGE + 60));
    let id = world.request_id();
    let refused = world.bundle(id, &policy).await.unwrap_err();
    assert_eq!(refused.code, "bad-checkpoint", "stale by now");
    world.log = TestLog::new("log.example", [7; 32]);
    let id = world.request_id();
    let refused = world.bundle(id, &policy).await.unwrap_err();
    assert_eq!(refused.code, "bad-checkpoint", "nobody has cosigned");
}
