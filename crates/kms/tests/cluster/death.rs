//! I8, I9, I10: nodes die, keys expire.

use std::time::Duration;

use siegel_attest::KeyBundle;
use siegel_ident::Seconds;
use siegel_kms::KmsError;
use siegel_link::status_to_refusal;
use siegel_wire::v1::{self, kms_request};
use tokio::time::Instant;

use crate::whole_path::root_keys;
use crate::world::{TTL, World};

/// One node of three may die at any time, the leader too, and nothing acknowledged is lost; two
/// dead nodes end all releases within seconds, with a clear code.
#[tokio::test(flavor = "multi_thread")]
async fn one_dead_goes_on_two_dead_stop() {
    let mut world = World::founded(None).await;
    let policy = world.register().await;
    let bundle_id = world.request_id();
    let reply = world.bundle(bundle_id.clone(), &policy).await.unwrap();
    let bundle = KeyBundle::parse(&reply.bundle).unwrap();
    let root = world.root();
    let run_id = world.request_id();
    let ask = world.run_request(&policy, bundle.epoch.0);
    let before = root.register(&world, &run_id, ask.clone()).await.unwrap();

    let leader = world.leader().await;
    world.kill(leader);
    // Retries under the same ids reach another leader and mean the same.
    let again = world.bundle(bundle_id, &policy).await.unwrap();
    let again = KeyBundle::parse(&again.bundle).unwrap();
    assert_eq!((again.epoch, again.kem_key), (bundle.epoch, bundle.kem_key));
    let after = root.register(&world, &run_id, ask).await.unwrap();
    assert_eq!(
        (&after.run_id, after.fencing),
        (&before.run_id, before.fencing)
    );
    assert_eq!(root_keys(&root, &after), root_keys(&root, &before));

    // A restarted process is a stranger: the member died with its keys (I10).
    world.start(leader, false, &world.config.clone(), "kms");
    tokio::time::sleep(Duration::from_secs(2)).await;
    let status = world
        .client(leader)
        .status(v1::StatusRequest {})
        .await
        .unwrap()
        .into_inner();
    assert!(!status.founded, "a restarted node came back by itself");
    let stranger = world
        .client(leader)
        .receipts(v1::ReceiptsRequest { from: 1 })
        .await;
    assert_eq!(
        status_to_refusal(&stranger.unwrap_err()).unwrap().code,
        "not-founded"
    );
    world.kill(leader);

    let survivor = world.leader().await;
    let other = *world.nodes.keys().find(|node| **node != survivor).unwrap();
    world.kill(other);
    let begun = Instant::now();
    loop {
        let ask = v1::ReceiptsRequest { from: 1 };
        let status = world.client(survivor).receipts(ask).await.unwrap_err();
        let refusal = status_to_refusal(&status).unwrap();
        if refusal.code == "no-quorum" {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(10), "{refusal:?}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let id = world.request_id();
    let ask = v1::KeyBundleRequest {
        request_id: id,
        policy_digest: policy.digest().to_vec(),
        checkpoint: world.log.checkpoint().into_bytes(),
    };
    let status = world.client(survivor).key_bundle(ask).await.unwrap_err();
    assert_eq!(status_to_refusal(&status).unwrap().code, "no-quorum");
    assert!(begun.elapsed() < Duration::from_secs(20));
}

/// I9: after the TTL no key of the epoch or of a run over it is given again, and the nodes erase
/// without being asked.
#[tokio::test(flavor = "multi_thread")]
async fn expired_keys_are_gone() {
    let mut world = World::founded(None).await;
    let policy = world.register().await;
    let id = world.request_id();
    let reply = world.bundle(id, &policy).await.unwrap();
    let bundle = KeyBundle::parse(&reply.bundle).unwrap();
    let root = world.root();
    let run_request = world.request_id();
    let ask = world.run_request(&policy, bundle.epoch.0);
    let grant = root
        .register(&world, &run_request, ask.clone())
        .await
        .unwrap();

    world.clock.advance(Seconds(TTL.0 + 1));
    // Nobody asks: policy, epoch, run, taken, then the run's end and the epoch's.
    let erased = |status: &v1::StatusReply| status.receipts == 6;
    world.wait(Duration::from_secs(10), "erasure", erased).await;

    let refusal = root.register(&world, &run_request, ask).await.unwrap_err();
    assert_eq!(refusal.invariant, "I9", "{refusal:?}");
    let take = v1::TakeRun {
        run_id: grant.run_id.clone(),
    };
    let id = world.request_id();
    let refusal = world
        .root()
        .ask(&world, &id, kms_request::Body::TakeRun(take))
        .await
        .unwrap_err();
    assert_eq!(refusal.invariant, "I9", "{refusal:?}");
    let id = world.request_id();
    let refusal = world
        .worker()
        .authorize(&world, &id, &grant.run_id)
        .await
        .unwrap_err();
    assert_eq!(refusal.invariant, "I9", "{refusal:?}");
    // A new epoch has another key.
    let id = world.request_id();
    let reply = world.bundle(id, &policy).await.unwrap();
    let fresh = KeyBundle::parse(&reply.bundle).unwrap();
    assert!(fresh.epoch > bundle.epoch);
    assert_ne!(fresh.kem_key, bundle.kem_key);
}

/// I9: a node that cannot erase by agreement, since its cluster is dead, ends itself.
#[tokio::test(flavor = "multi_thread")]
async fn a_lone_node_ends_with_its_expired_keys() {
    let mut world = World::founded(None).await;
    let policy = world.register().await;
    let id = world.request_id();
    world.bundle(id, &policy).await.unwrap();
    let receipts = |status: &v1::StatusReply| status.receipts == 2;
    world.wait(Duration::from_secs(10), "epoch", receipts).await;
    world.kill(1);
    world.kill(2);
    world.clock.advance(Seconds(TTL.0));
    let mut node = world.nodes.remove(&3).unwrap();
    let ended = tokio::time::timeout(Duration::from_secs(40), &mut node.ended).await;
    assert!(matches!(
        ended.unwrap().unwrap(),
        KmsError::ExpiredWithoutQuorum { .. }
    ));
}
