//! I8, I10: a dead node's place is taken by a fresh process, as a new member; nobody else gets in.

use std::time::Duration;

use prost::Message as _;
use siegel_attest::{KeyBundle, Role};
use siegel_ident::ClusterId;
use siegel_kms::KmsError;
use siegel_platform::StartInfo;
use siegel_wire::v1::peer_message::Body;
use siegel_wire::v1::{self, PeerMessage};
use tokio::net::{TcpListener, TcpStream};

use crate::whole_path::root_keys;
use crate::workload::Workload;
use crate::world::World;

/// A follower dies and comes back as a new member, then the leader. All that was acknowledged is there,
/// a run's keys are the same, and it goes on. Catches a newcomer without the cluster's secrets or
/// state, a swap that costs the quorum, and sessions that still follow the founding list.
#[tokio::test(flavor = "multi_thread")]
async fn replaced_nodes_give_the_same_keys() {
    let mut world = World::founded(None).await;
    let policy = world.register().await;
    let bundle_id = world.request_id();
    let reply = world.bundle(bundle_id.clone(), &policy).await.unwrap();
    let bundle = KeyBundle::parse(&reply.bundle).unwrap();
    let root = world.root();
    let run_id = world.request_id();
    let ask = world.run_request(&policy, bundle.epoch.0);
    let before = root.register(&world, &run_id, ask.clone()).await.unwrap();
    let genesis = world.genesis().await;

    let mut members = vec![1, 2, 3];
    for new_id in [4, 5, 6] {
        // The follower first, then the leader, twice: none of the founders is left at the end.
        let leader = world.leader().await;
        let victim = match new_id {
            4 => (1..=3).find(|node| *node != leader).unwrap(),
            _ => leader,
        };
        let old = world.status(victim).await.member_id;
        world.kill(victim);
        world.join(victim);
        world.whole().await;
        let status = world.status(victim).await;
        assert_eq!((status.member_id, status.node_id), (new_id, victim));
        members.retain(|member| *member != old);
        members.push(new_id);
        let mut found = Vec::new();
        for node in 1..=3 {
            found.push(world.status(node).await.member_id);
        }
        found.sort_unstable();
        assert_eq!(found, members);
    }
    for node in 1..=3 {
        let same = world.client(node).genesis(v1::GenesisRequest {}).await;
        assert_eq!(same.unwrap().into_inner().genesis, genesis);
    }

    // The same epoch, key, run and run keys as before; and a worker joins the run.
    let again = world.bundle(bundle_id, &policy).await.unwrap();
    let again = KeyBundle::parse(&again.bundle).unwrap();
    assert_eq!((again.epoch, again.kem_key), (bundle.epoch, bundle.kem_key));
    let after = root.register(&world, &run_id, ask).await.unwrap();
    assert_eq!(
        (&after.run_id, after.fencing),
        (&before.run_id, before.fencing)
    );
    assert_eq!(root_keys(&root, &after), root_keys(&root, &before));
    let id = world.request_id();
    let grant = world
        .worker()
        .authorize(&world, &id, &before.run_id)
        .await
        .unwrap();
    assert_eq!(grant.root_signing_key, root.identity.signing_key());
}

/// What a node answers to a process that asks for a place.
async fn ask_for(
    world: &World,
    process: &Workload,
    node: u64,
    place: u64,
    cluster: Option<ClusterId>,
) -> Result<v1::Welcome, String> {
    let session = process.session_as(world, node, cluster).await;
    let mut session = session.map_err(|error| error.to_string())?;
    let ask = PeerMessage {
        body: Some(Body::Join(v1::Join { place })),
    };
    let reply = session
        .call(&ask.encode_to_vec(), Duration::from_secs(10))
        .await;
    match PeerMessage::decode(reply.unwrap().as_slice()).unwrap().body {
        Some(Body::Welcome(welcome)) => Ok(welcome),
        Some(Body::Refusal(refusal)) => Err(format!("{} {}", refusal.code, refusal.leader_id)),
        other => panic!("{other:?}"),
    }
}

/// I3, I10: who may not come in, hears why and gets nothing.
#[tokio::test(flavor = "multi_thread")]
async fn who_may_not_come_in() {
    let mut world = World::founded(None).await;
    let cluster = Some(ClusterId::of(&world.genesis().await));
    let leader = world.leader().await;
    let follower = (1..=3).find(|node| *node != leader).unwrap();
    let config = world.config.digest().unwrap();
    let process = world.workload(Role::KmsPeer, "kms", config);
    // Everybody lives.
    tokio::time::sleep(Duration::from_secs(3)).await;
    for place in 1..=3 {
        let refusal = ask_for(&world, &process, leader, place, cluster).await;
        assert_eq!(refusal.unwrap_err(), "member-alive 0");
    }
    let refusal = ask_for(&world, &process, follower, follower, cluster).await;
    assert_eq!(refusal.unwrap_err(), format!("not-leader {leader}"));

    world.kill(follower);
    tokio::time::sleep(Duration::from_secs(4)).await;
    for place in [0, 4, 99] {
        let refusal = ask_for(&world, &process, leader, place, cluster).await;
        assert_eq!(refusal.unwrap_err(), "unknown-place 0");
    }
    // Evidence that binds no cluster could have been made for any.
    let refusal = ask_for(&world, &process, leader, follower, None).await;
    assert_eq!(refusal.unwrap_err(), "not-appraised 0");
    // Another binary, another configuration, another role: no session, so no question.
    let mut other = world.config.clone();
    other.min_voters = 2;
    let mut strangers = vec![
        world.workload(Role::KmsPeer, "another", config),
        world.workload(Role::KmsPeer, "kms", other.digest().unwrap()),
    ];
    strangers[1].config = other.clone();
    for stranger in strangers {
        assert!(
            ask_for(&world, &stranger, leader, follower, cluster)
                .await
                .is_err()
        );
    }
    // A whole process of another configuration does not come in either.
    let start = StartInfo {
        join: true,
        ..world.start_info(follower, &other)
    };
    world.launch(&other, "kms", start);
    tokio::time::sleep(Duration::from_secs(3)).await;
    let status = world.status(follower).await;
    assert_eq!((status.role.as_str(), status.founded), ("joining", false));
    world.kill(follower);

    // The right one does, and none of the others has used up an id.
    world.join(follower);
    world.whole().await;
    assert_eq!(world.status(follower).await.member_id, 4);
}

/// I10: an admission whose process dies does not stick: the next process takes its turn.
#[tokio::test(flavor = "multi_thread")]
async fn a_newcomer_that_dies_makes_room() {
    let mut world = World::founded(None).await;
    let cluster = Some(ClusterId::of(&world.genesis().await));
    let leader = world.leader().await;
    let follower = (1..=3).find(|node| *node != leader).unwrap();
    world.kill(follower);
    let process = world.workload(Role::KmsPeer, "kms", world.config.digest().unwrap());
    // It is admitted, and never heard of again.
    let welcome = loop {
        match ask_for(&world, &process, leader, follower, cluster).await {
            Ok(welcome) => break welcome,
            Err(code) => assert_eq!(code, "member-alive 0"),
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    };
    assert_eq!(welcome.credential.unwrap().member_id, 4);
    // Asked again by the same process: the same id.
    let again = ask_for(&world, &process, leader, follower, cluster)
        .await
        .unwrap();
    assert_eq!(again.credential.unwrap().member_id, 4);
    world.join(follower);
    world.whole().await;
    assert_eq!(world.status(follower).await.member_id, 5);
}

/// One address that leads to one process first, and to another one later.
async fn switch(backends: [String; 2]) -> (String, tokio::sync::watch::Sender<usize>) {
    let front = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = front.local_addr().unwrap().to_string();
    let (turn, at) = tokio::sync::watch::channel(0);
    tokio::spawn(async move {
        while let Ok((mut client, _)) = front.accept().await {
            let backend = backends[*at.borrow()].clone();
            tokio::spawn(async move {
                if let Ok(mut server) = TcpStream::connect(backend).await {
                    let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
                }
            });
        }
    });
    (address, turn)
}

async fn free_address() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    listener.local_addr().unwrap().to_string()
}

/// I10: SIGSTOP, a replacement, SIGCONT. The old process has every key and thinks that it is a member;
/// it gives nothing, learns that it is none, and ends.
#[tokio::test(flavor = "multi_thread")]
async fn a_sleeper_that_was_replaced_gives_nothing() {
    let mut world = World::new(None);
    let backends = [free_address().await, free_address().await];
    let (front, turn) = switch(backends.clone()).await;
    // Node 1 is the founder and leads at first.
    world.addresses.insert(1, front);
    let config = world.config.clone();
    let start = StartInfo {
        founder: true,
        listen: backends[0].clone(),
        ..world.start_info(1, &config)
    };
    world.launch(&config, "kms", start);
    for node in 2..=3 {
        world.start(node, false, &config, "kms");
    }
    world.whole().await;
    let policy = world.register().await;
    let id = world.request_id();
    let before = world.bundle(id, &policy).await.unwrap();

    let mut sleeper = world.nodes.remove(&1).unwrap();
    let wake = sleeper.pause();
    turn.send_replace(1);
    let start = StartInfo {
        join: true,
        listen: backends[1].clone(),
        ..world.start_info(1, &config)
    };
    world.launch(&config, "kms", start);
    world.whole().await;
    assert_eq!(world.status(1).await.member_id, 4);

    drop(wake);
    let mut old = siegel_wire::v1::kms_client::KmsClient::new(
        world.net.channel(&backends[0].parse().unwrap()),
    );
    let ask = v1::KeyBundleRequest {
        request_id: world.request_id(),
        policy_digest: policy.digest().to_vec(),
        checkpoint: world.log.checkpoint().into_bytes(),
    };
    assert!(old.key_bundle(ask).await.is_err(), "it still gives a key");
    let ended = tokio::time::timeout(Duration::from_secs(20), &mut sleeper.ended).await;
    let error = ended.expect("it goes on").unwrap();
    assert!(matches!(error, KmsError::Removed { .. }), "{error}");
    // The group did not notice.
    world.whole().await;
    let id = world.request_id();
    let after = world.bundle(id, &policy).await.unwrap();
    let key = |reply: &v1::KeyBundleReply| KeyBundle::parse(&reply.bundle).unwrap().kem_key;
    assert_eq!(key(&after), key(&before));
}

/// I10: two clusters of one configuration are an alarm, not a choice.
#[tokio::test(flavor = "multi_thread")]
async fn between_two_clusters_nobody_joins() {
    let mut world = World::founded(None).await;
    let mut other = World::with_config_of(&world);
    for node in 1..=3 {
        other.start(node, node == 1, &world.config.clone(), "kms");
    }
    other.whole().await;
    world.kill(3);
    // Place 2 leads to a member of the second cluster.
    let mut start = StartInfo {
        join: true,
        ..world.start_info(3, &world.config.clone())
    };
    start.kms[1].address = "pipe:other-2".to_owned();
    world.launch(&world.config.clone(), "kms", start);
    let joiner = world.nodes.get_mut(&3).unwrap();
    let ended = tokio::time::timeout(Duration::from_secs(20), &mut joiner.ended).await;
    let error = ended.expect("it goes on").unwrap().to_string();
    assert!(error.contains("joins neither"), "{error}");
}
