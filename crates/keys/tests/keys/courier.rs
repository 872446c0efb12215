use std::time::Instant;

use siegel_ident::{RequestId, RunId, Step};
use siegel_keys::{Courier, EndorsementProof, KeysError};

use super::*;

fn courier(world: &World) -> Courier {
    Courier::new(&world.net, &placement())
        .unwrap()
        .with_patience(short())
}

fn id(byte: u8) -> RequestId {
    RequestId::from_bytes([byte; 16])
}

#[tokio::test]
async fn follows_the_leader_with_the_same_request_id_and_stays_there() {
    let world = World::new(1);
    let script = Script::new(&[
        (1, Does::Refuse(not_leader(3))),
        (2, Does::Refuse(not_leader(3))),
    ]);
    let _nodes = three(&world, &script).await;
    let courier = courier(&world);
    courier
        .cancel_run(id(7), RunId::from_bytes([1; 16]))
        .await
        .unwrap();
    courier
        .cancel_run(id(8), RunId::from_bytes([1; 16]))
        .await
        .unwrap();
    // Catches a retry under a new id (the service would do it twice, I6), and a client that asks
    // the wrong node first every time.
    assert_eq!(
        script.seen(),
        [(1, vec![7; 16]), (3, vec![7; 16]), (3, vec![8; 16])]
    );
}

// I3: catches a courier that loses endorsements, or mixes documents and proofs up.
#[tokio::test]
async fn a_policy_arrives_with_its_endorsements() {
    let world = World::new(1);
    let script = Script::new(&[]);
    let _nodes = three(&world, &script).await;
    let proof = |n: u8| EndorsementProof {
        document: vec![n; 3],
        bundle: vec![n + 1; 5],
    };
    let sent = [proof(1), proof(3)];
    courier(&world)
        .register_policy(id(1), b"policy", b"bundle", &sent)
        .await
        .unwrap();
    let seen = script.policies.lock().unwrap();
    let [request] = &seen[..] else {
        panic!("{seen:?}")
    };
    assert_eq!(
        (&request.policy[..], &request.bundle[..]),
        (&b"policy"[..], &b"bundle"[..])
    );
    let found: Vec<_> = request.endorsements.iter().collect();
    assert_eq!(found.len(), 2);
    for (found, sent) in found.iter().zip(&sent) {
        assert_eq!(
            (&found.document, &found.bundle),
            (&sent.document, &sent.bundle)
        );
    }
}

#[tokio::test]
async fn goes_on_when_a_node_is_down_or_busy() {
    let world = World::new(1);
    let busy = refusal("busy", "", "node", "later");
    let script = Script::new(&[(2, Does::Refuse(busy))]);
    let mut nodes = three(&world, &script).await;
    drop(nodes.remove(0));
    tokio::task::yield_now().await;
    let run = RunId::from_bytes([1; 16]);
    let dek = courier(&world)
        .open_release(id(1), run, Step(1), b"bundle")
        .await
        .unwrap();
    assert_eq!(dek.expose(), &[5; 32]);
    assert_eq!(script.seen().last().unwrap().0, 3);
}

// I9: two of three are dead, the third leads nobody: a clear error within seconds, naming the
// nodes. Catches a client that waits for ever, and one that gives up before all were asked.
#[tokio::test]
async fn no_quorum_is_a_typed_error_within_seconds() {
    let world = World::new(1);
    let script = Script::new(&[(2, Does::Refuse(not_leader(0)))]);
    let _one = FakeNode::start(&world, 2, script.clone()).await;
    let started = Instant::now();
    let error = courier(&world).genesis().await.unwrap_err();
    assert!(
        started.elapsed() < Duration::from_secs(3),
        "{:?}",
        started.elapsed()
    );
    let KeysError::NoQuorum {
        asked,
        waited,
        last,
    } = error
    else {
        panic!("{error}")
    };
    assert_eq!(asked, [NodeId(1), NodeId(2), NodeId(3)]);
    assert!(waited >= short().overall);
    assert!(!last.is_empty());
}

// Two nodes that name each other as leader must not make a hot loop.
#[tokio::test]
async fn redirects_in_a_circle_end() {
    let world = World::new(1);
    let script = Script::new(&[
        (1, Does::Refuse(not_leader(2))),
        (2, Does::Refuse(not_leader(1))),
    ]);
    let _nodes = three(&world, &script).await;
    let error = courier(&world).genesis().await.unwrap_err();
    assert!(matches!(error, KeysError::NoQuorum { .. }), "{error}");
    assert!(script.seen().len() < 200, "{}", script.seen().len());
}

#[tokio::test]
async fn a_refusal_of_the_leader_is_final() {
    let world = World::new(1);
    let refused = refusal("run-has-keys", "I6", "run_id", "abandon it");
    let script = Script::new(&[(1, Does::Refuse(refused.clone()))]);
    let _nodes = three(&world, &script).await;
    let error = courier(&world)
        .cancel_run(id(1), RunId::from_bytes([1; 16]))
        .await
        .unwrap_err();
    let KeysError::Refused(got) = error else {
        panic!("{error}")
    };
    assert_eq!(*got, refused);
    assert_eq!(script.seen().len(), 1);
}

#[tokio::test]
async fn status_asks_each_node_once() {
    let world = World::new(1);
    let script = Script::new(&[]);
    let _one = FakeNode::start(&world, 2, script.clone()).await;
    let answers = courier(&world).status().await;
    let up: Vec<_> = answers
        .iter()
        .map(|(id, status)| (id.0, status.is_ok()))
        .collect();
    assert_eq!(up, [(1, false), (2, true), (3, false)]);
}

#[test]
fn an_empty_or_double_list_is_refused() {
    let world = World::new(1);
    assert!(matches!(
        Courier::new(&world.net, &[]),
        Err(KeysError::Nodes)
    ));
    let twice = [placement(), placement()].concat();
    assert!(matches!(
        Courier::new(&world.net, &twice),
        Err(KeysError::Nodes)
    ));
}
