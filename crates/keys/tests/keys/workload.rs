use siegel_ident::{ClusterId, ConfigDigest, RunId};
use siegel_keys::KeysError;

use super::*;

fn run() -> RunId {
    RunId::from_bytes([1; 16])
}

#[tokio::test]
async fn meets_its_cluster_and_keeps_its_session() {
    let world = World::new(1);
    let script = Script::new(&[]);
    let _nodes = three(&world, &script).await;
    let kms = worker(&world);
    assert_eq!(kms.cluster(), None);
    let lease = kms.renew_lease(run()).await.unwrap();
    assert!(lease.is_live() && lease.left() <= Duration::from_secs(30));
    kms.renew_lease(run()).await.unwrap();
    assert_eq!(kms.cluster(), Some(world.cluster()));
    let seen = script.seen();
    assert_eq!(
        seen.iter().map(|(node, _)| *node).collect::<Vec<_>>(),
        [1, 1]
    );
    assert_ne!(seen[0].1, seen[1].1, "two requests need two ids");
}

#[tokio::test]
async fn follows_redirects_and_reconnects_under_the_same_id() {
    let world = World::new(1);
    let script = Script::new(&[
        (1, Does::Refuse(not_leader(2))),
        (2, Does::Hang),
        (3, Does::Lead),
    ]);
    let _nodes = three(&world, &script).await;
    worker(&world).renew_lease(run()).await.unwrap();
    let seen = script.seen();
    assert_eq!(
        seen.iter().map(|(node, _)| *node).collect::<Vec<_>>(),
        [1, 2, 3]
    );
    assert!(seen.iter().all(|(_, id)| *id == seen[0].1));
}

#[tokio::test]
async fn a_node_that_comes_back_is_dialled_again() {
    let world = World::new(1);
    let script = Script::new(&[]);
    let mut nodes = three(&world, &script).await;
    let kms = worker(&world);
    kms.renew_lease(run()).await.unwrap();
    drop(nodes.remove(0));
    kms.renew_lease(run()).await.unwrap();
    assert_eq!(script.seen().last().unwrap().0, 2);
}

// I3: a session ends after an hour, and the next request goes over a fresh one, with fresh evidence.
#[tokio::test(start_paused = true)]
async fn i3_a_request_after_an_hour_goes_over_a_fresh_session() {
    let world = World::new(1);
    let script = Script::new(&[]);
    let nodes = three(&world, &script).await;
    let kms = worker(&world);
    kms.renew_lease(run()).await.unwrap();
    tokio::time::advance(Duration::from_secs(1800)).await;
    kms.renew_lease(run()).await.unwrap();
    assert_eq!(nodes[0].met().len(), 1);
    tokio::time::advance(Duration::from_secs(1800)).await;
    kms.renew_lease(run()).await.unwrap();
    assert_eq!(nodes[0].met().len(), 2);
    let seen: Vec<u64> = script.seen().into_iter().map(|(node, _)| node).collect();
    assert_eq!(seen, [1, 1, 1]);
}

// I9.
#[tokio::test]
async fn without_a_quorum_there_is_no_lease() {
    let world = World::new(1);
    let script = Script::new(&[(1, Does::Refuse(refusal("no-quorum", "I9", "cluster", "")))]);
    let _one = FakeNode::start(&world, 1, script.clone()).await;
    let error = worker(&world).renew_lease(run()).await.unwrap_err();
    assert!(matches!(error, KeysError::NoQuorum { .. }), "{error}");
    script.set(1, Does::Lead);
    assert!(worker(&world).renew_lease(run()).await.is_ok());
}

// I3: every node is an impostor by one thing. Catches a client that asks before it appraises, or
// appraises against anything but its own measured configuration.
#[tokio::test]
async fn nodes_that_do_not_measure_right_get_no_request() {
    let kms = measured(Role::KmsPeer).measurement().unwrap();
    let other = measured(Role::Worker).measurement().unwrap();
    for (measurement, other_config) in [(other, false), (kms, true)] {
        let world = World::new(1);
        let script = Script::new(&[]);
        let good = world.config_digest();
        let config = if other_config {
            ConfigDigest::from_bytes([9; 32])
        } else {
            good
        };
        let mut nodes = Vec::new();
        for id in 1..=3 {
            let cluster = world.cluster();
            let node = FakeNode::start_as(&world, id, script.clone(), measurement, config, cluster);
            nodes.push(node.await);
        }
        let error = worker(&world).renew_lease(run()).await.unwrap_err();
        assert!(matches!(error, KeysError::NotTrusted { .. }), "{error}");
        assert!(script.seen().is_empty());
    }
}

#[tokio::test]
async fn one_impostor_does_not_stop_the_others() {
    let world = World::new(1);
    let script = Script::new(&[]);
    let wrong = measured(Role::Root).measurement().unwrap();
    let (config, cluster) = (world.config_digest(), world.cluster());
    let _bad = FakeNode::start_as(&world, 1, script.clone(), wrong, config, cluster).await;
    let _good = FakeNode::start(&world, 2, script.clone()).await;
    worker(&world).renew_lease(run()).await.unwrap();
    assert_eq!(script.seen().len(), 1);
}

// Keys of two clusters never mix in one process: the second cluster is refused, even though its
// nodes measure right and have the same configuration.
#[tokio::test]
async fn another_cluster_of_the_same_configuration_is_refused() {
    let world = World::new(1);
    let script = Script::new(&[]);
    let first = FakeNode::start(&world, 1, script.clone()).await;
    let kms = worker(&world);
    kms.renew_lease(run()).await.unwrap();
    drop(first);
    let (measurement, config) = (
        measured(Role::KmsPeer).measurement().unwrap(),
        world.config_digest(),
    );
    let cluster = ClusterId::from_bytes([9; 32]);
    let mut others = Vec::new();
    for id in [2, 3] {
        let node = FakeNode::start_as(&world, id, script.clone(), measurement, config, cluster);
        others.push(node.await);
    }
    let error = kms.renew_lease(run()).await.unwrap_err();
    let KeysError::NoQuorum { last, .. } = &error else {
        panic!("{error}")
    };
    assert!(last.contains("belongs to cluster 0909"), "{last}");
    assert_eq!(script.seen().len(), 1);
}

#[tokio::test]
async fn an_answer_of_another_kind_is_refused() {
    let world = World::new(1);
    let script = Script::new(&[]);
    let _nodes = three(&world, &script).await;
    let error = worker(&world).run_peers(run()).await.unwrap_err();
    assert!(matches!(error, KeysError::BadReply { .. }), "{error}");
}
