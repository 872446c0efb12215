//! I3, I10: who may be there when a cluster is born.

use std::time::Duration;

use prost::Message as _;
use siegel_attest::Role;
use siegel_ident::ClusterId;
use siegel_kms::KmsError;
use siegel_wire::v1::{self, PeerMessage, peer_message};

use crate::world::World;

async fn founder_error(world: &mut World) -> String {
    let founder = world.nodes.get_mut(&1).unwrap();
    let ended = tokio::time::timeout(Duration::from_secs(30), &mut founder.ended).await;
    ended.expect("the founder goes on").unwrap().to_string()
}

/// A peer with another executable or another configuration gets no secrets, and there is no cluster.
#[tokio::test(flavor = "multi_thread")]
async fn a_peer_that_differs_is_not_let_in() {
    for other_exe in [true, false] {
        let mut world = World::new(None);
        let config = world.config.clone();
        let mut other = config.clone();
        if !other_exe {
            other.min_voters = 2;
        }
        world.start(1, true, &config, "kms");
        world.start(2, false, &config, "kms");
        world.start(3, false, &other, if other_exe { "another" } else { "kms" });
        let error = founder_error(&mut world).await;
        assert!(error.contains("node 3"), "{error}");
        let status = world
            .client(2)
            .status(v1::StatusRequest {})
            .await
            .unwrap()
            .into_inner();
        assert!(!status.founded, "founded with a stranger around");
    }
}

/// Placement is not trusted: two numbers that lead to one process would give it two votes.
#[tokio::test(flavor = "multi_thread")]
async fn fewer_nodes_than_the_configuration_asks_for_make_no_cluster() {
    let mut world = World::new(None);
    let mut config = world.config.clone();
    config.min_voters = 4;
    world.start(1, true, &config, "kms");
    let ended = tokio::time::timeout(
        Duration::from_secs(5),
        &mut world.nodes.get_mut(&1).unwrap().ended,
    );
    assert!(matches!(
        ended.await.unwrap().unwrap(),
        KmsError::Placement(_)
    ));
}

/// I3, I10: a process of the very same binary and configuration is appraised like a member, but has no
/// voice in Raft, and a member is invited to no second cluster.
#[tokio::test(flavor = "multi_thread")]
async fn an_appraised_stranger_has_no_voice() {
    let world = World::founded(None).await;
    let cluster = ClusterId::of(&world.genesis().await);
    let leader = world.leader().await;
    let stranger = world.workload(Role::KmsPeer, "kms", world.config.digest().unwrap());
    let before = world
        .client(leader)
        .status(v1::StatusRequest {})
        .await
        .unwrap()
        .into_inner();

    let mut session = stranger
        .session_as(&world, leader, Some(cluster))
        .await
        .unwrap();
    let from = (1..=3).find(|node| *node != leader).unwrap();
    // An append from a later term, as another leader would send: it would depose this one.
    let message = v1::RaftMessage {
        msg_type: 3,
        to: leader,
        from,
        term: before.term + 100,
        ..v1::RaftMessage::default()
    };
    let raft = PeerMessage {
        body: Some(peer_message::Body::Raft(message)),
    };
    session.send(&raft.encode_to_vec()).await.unwrap();
    let ended = tokio::time::timeout(Duration::from_secs(10), session.recv()).await;
    assert!(
        ended.is_ok_and(|ended| ended.is_err()),
        "the session goes on"
    );
    let after = world
        .client(leader)
        .status(v1::StatusRequest {})
        .await
        .unwrap()
        .into_inner();
    assert_eq!((after.term, after.leader_id), (before.term, leader));

    let mut session = stranger
        .session_as(&world, leader, Some(cluster))
        .await
        .unwrap();
    let genesis = world.genesis().await;
    let found = v1::Found {
        genesis,
        sealed_secrets: vec![0; 100],
    };
    let found = PeerMessage {
        body: Some(peer_message::Body::Found(found)),
    };
    let reply = session
        .call(&found.encode_to_vec(), Duration::from_secs(10))
        .await
        .unwrap();
    match PeerMessage::decode(reply.as_slice()).unwrap().body {
        Some(peer_message::Body::FoundReply(reply)) => {
            assert!(!reply.accepted);
            assert!(reply.code.contains("already"), "{}", reply.code);
        }
        other => panic!("{other:?}"),
    }
}
