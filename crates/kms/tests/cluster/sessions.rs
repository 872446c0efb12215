//! I3: sessions with real nodes end, and are made anew with fresh evidence.

use std::sync::atomic::Ordering;
use std::time::Duration;

use siegel_attest::{KeyBundle, Role};
use siegel_ident::{ClusterId, Seconds};
use siegel_link::LinkError;
use siegel_session::{SESSION_LIFETIME, SessionError};
use tokio::time::Instant;

use crate::world::World;

/// The links between members are as long-lived as the cluster. Catches links that live longer than
/// the evidence they began with, and a group that does not come together again; a clock that is set
/// back changes neither.
#[tokio::test(flavor = "multi_thread")]
async fn i3_links_between_members_are_dialled_anew() {
    let mut world = World::founded(None).await;
    let policy = world.register().await;
    let quotes = world.quotes.clone();
    for set_back in [false, true] {
        // Nobody but the members dials anybody.
        let before = quotes.load(Ordering::SeqCst);
        world.clock.advance(SESSION_LIFETIME);
        if set_back {
            world.clock.advance(SESSION_LIFETIME);
        }
        // Between the leader and two others, both ways, two quotes each. The others have nothing to say
        // to each other: their link is dialled anew when they have.
        let begun = Instant::now();
        while quotes.load(Ordering::SeqCst) < before + 8 {
            assert!(begun.elapsed() < Duration::from_secs(10), "no fresh links");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        if set_back {
            let now = siegel_platform::Clock::now(&world.clock);
            world.clock.set(now.minus(Seconds(2 * SESSION_LIFETIME.0)));
        }
        // What needs a quorum goes on.
        let id = world.request_id();
        world.bundle(id, &policy).await.unwrap();
    }
}

/// Genuine evidence of a KMS node does not make it a root or a worker: no policy names it as one.
#[tokio::test(flavor = "multi_thread")]
async fn i3_kms_evidence_as_workload_gets_no_key() {
    let mut world = World::founded(None).await;
    let policy = world.register().await;
    let id = world.request_id();
    let bundle = world.bundle(id, &policy).await.unwrap().bundle;
    let ask = world.run_request(&policy, KeyBundle::parse(&bundle).unwrap().epoch.0);
    let id = world.request_id();
    let grant = world
        .root()
        .register(&world, &id, ask.clone())
        .await
        .unwrap();
    let kms = world.config.digest().unwrap();
    let id = world.request_id();
    let node = world.workload(Role::Root, "kms", kms);
    let refusal = node.register(&world, &id, ask).await.unwrap_err();
    assert_eq!(refusal.invariant, "I3", "{refusal:?}");
    assert!(refusal.code.starts_with("evidence-"), "{refusal:?}");
    let id = world.request_id();
    let node = world.workload(Role::Worker, "kms", kms);
    let refusal = node
        .authorize(&world, &id, &grant.run_id)
        .await
        .unwrap_err();
    assert_eq!(refusal.invariant, "I3", "{refusal:?}");
    assert!(refusal.code.starts_with("evidence-"), "{refusal:?}");
}

/// A workload that belongs elsewhere finds out before it shows anything.
#[tokio::test(flavor = "multi_thread")]
async fn i3_a_workload_of_another_cluster_gets_no_session() {
    let world = World::founded(None).await;
    let other = ClusterId::from_bytes([9; 32]);
    for workload in [world.root(), world.worker()] {
        let dialled = workload.session_as(&world, 1, Some(other)).await;
        match dialled.map(|_| ()) {
            Err(LinkError::Session(SessionError::Cluster { expected, .. })) => {
                assert_eq!(expected, other);
            }
            other => panic!("{other:?}"),
        }
    }
}
