use std::time::Duration;

use siegel_ident::RunId;
use siegel_session::{Authenticated, Expect, Purpose, SessionError};

use super::world::*;
use crate::{Endpoint, LinkError, Net, SessionStream, dial};

const ENDPOINTS: [&str; 2] = ["127.0.0.1:0", "pipe:echo"];

async fn dial_worker_to(net: &Net, at: &Endpoint) -> Result<SessionStream, LinkError> {
    let node = worker();
    let setup = node.setup(Expect::Kms(cluster()), None);
    dial(&node.platform, net.channel(at), setup).await
}

#[tokio::test]
async fn a_workload_talks_to_a_kms_node_over_tcp_and_pipe() {
    for endpoint in ENDPOINTS {
        let net = Net::new();
        let (at, _task) = serve_echo(&net, endpoint, kms_node()).await;
        let mut stream = dial_worker_to(&net, &at).await.unwrap();
        assert!(matches!(
            stream.peer().authenticated(),
            Authenticated::Appraised(_)
        ));
        assert_eq!(stream.peer().deployment(), Some(CLUSTER));
        assert_eq!(stream.call(b"abc", SOON).await.unwrap(), b"cba");
        assert_eq!(stream.call(b"", SOON).await.unwrap(), b"");
        // Many frames: more than the queue holds.
        let long: Vec<u8> = (0..3_000_000u32).map(|i| i as u8).collect();
        let mut reversed = long.clone();
        reversed.reverse();
        assert!(stream.call(&long, SOON).await.unwrap() == reversed);
        // Both directions at once.
        let (mut sender, mut receiver, _) = stream.split();
        let sending = tokio::spawn(async move {
            for i in 0..20u8 {
                sender.send(&vec![i; 100_000]).await.unwrap();
            }
            sender.close().await.unwrap();
        });
        for i in 0..20u8 {
            assert!(receiver.recv().await.unwrap().unwrap() == vec![i; 100_000]);
        }
        assert!(
            receiver.recv().await.unwrap().is_none(),
            "the sealed goodbye"
        );
        sending.await.unwrap();
    }
}

#[tokio::test]
async fn a_root_talks_to_the_workers_of_its_run() {
    let net = Net::new();
    let (at, _task) = serve_echo(&net, "pipe:worker-1", worker()).await;
    let root = root();
    let expect = || Expect::Vouched {
        role: siegel_attest::Role::Worker,
        keys: vec![worker().keys()],
    };
    let dial_for = |purpose| {
        let setup = root.setup(expect(), purpose);
        dial(&root.platform, net.channel(&at), setup)
    };
    let mut stream = dial_for(Some(PURPOSE)).await.unwrap();
    assert_eq!(stream.purpose(), Some(PURPOSE));
    assert_eq!(stream.call(b"abc", SOON).await.unwrap(), b"cba");

    // I3: what the acceptor refuses arrives as a typed refusal.
    let other_run = Purpose {
        run: RunId::from_bytes([8; 16]),
        ..PURPOSE
    };
    match dial_for(Some(other_run)).await {
        Err(LinkError::Refused(refusal)) => assert_eq!(refusal.code, "unknown-run"),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("accepted"),
    }
    // I3: another root, with the right purpose.
    let other = node(siegel_attest::Role::Root, 9, 2);
    let setup = other.setup(expect(), Some(PURPOSE));
    match dial(&other.platform, net.channel(&at), setup).await {
        Err(LinkError::Refused(refusal)) => assert_eq!(refusal.code, "handshake"),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("accepted"),
    }
}

// I3: a KMS node with another binary is refused by the dialler, and learns nothing but that.
#[tokio::test]
async fn i3_a_false_kms_node_gets_no_session() {
    let net = Net::new();
    let impostor = node(siegel_attest::Role::KmsPeer, 1, 99);
    let (at, _task) = serve_echo(&net, "127.0.0.1:0", impostor).await;
    let error = dial_worker_to(&net, &at).await.map(|_| ()).unwrap_err();
    assert!(
        matches!(&error, LinkError::Session(SessionError::Appraisal(_))),
        "{error}"
    );
    assert!(!error.is_transient());
}

// Evidence of several frames goes both ways. A KMS node takes a worker's, which it judges later; the
// worker judges the node's, which arrives whole and is no evidence.
#[tokio::test]
async fn a_proof_takes_several_frames() {
    let net = Net::new();
    let more = 100 * 1024;
    let (at, _task) = serve_echo(&net, "127.0.0.1:0", kms_node()).await;
    let node = with_long_evidence(siegel_attest::Role::Worker, 2, 3, more);
    let setup = node.setup(Expect::Kms(cluster()), None);
    let mut stream = dial(&node.platform, net.channel(&at), setup).await.unwrap();
    assert_eq!(stream.call(b"ab", SOON).await.unwrap(), b"ba");

    let long = with_long_evidence(siegel_attest::Role::KmsPeer, 1, 1, more);
    let (at, _task) = serve_echo(&net, "pipe:long", long).await;
    let error = dial_worker_to(&net, &at).await.map(|_| ()).unwrap_err();
    assert!(
        matches!(&error, LinkError::Session(SessionError::Appraisal(_))),
        "{error}"
    );
}

// I8: a peer that dies is an error within seconds, and a channel reconnects by itself. A runtime
// of its own stands for the peer's process: all its tasks and connections die with it.
#[tokio::test]
async fn i8_a_dead_peer_is_noticed_and_a_new_one_found() {
    for endpoint in ENDPOINTS {
        let process = tokio::runtime::Runtime::new().unwrap();
        let net = Net::new();
        let serving = {
            let net = net.clone();
            process.spawn(async move { serve_echo(&net, endpoint, kms_node()).await.0 })
        };
        let at = serving.await.unwrap();
        let node = worker();
        let channel = net.channel(&at);
        let setup = || node.setup(Expect::Kms(cluster()), None);
        let mut stream = dial(&node.platform, channel.clone(), setup())
            .await
            .unwrap();
        assert!(stream.call(b"x", SOON).await.is_ok());
        process.shutdown_background();
        let ended = tokio::time::timeout(SOON, stream.recv())
            .await
            .expect("within seconds");
        assert!(ended.is_err(), "a death must not look like a goodbye");

        let gone = tokio::time::timeout(SOON, dial(&node.platform, channel.clone(), setup()));
        let error = gone.await.expect("within seconds").map(|_| ()).unwrap_err();
        assert!(error.is_transient(), "{error}");
        let (_, _task) = serve_echo(&net, &at.to_string(), kms_node()).await;
        let mut stream = dial(&node.platform, channel, setup()).await.unwrap();
        assert_eq!(stream.call(b"ab", SOON).await.unwrap(), b"ba");
    }
}

// I3: an end without the sealed goodbye is a cut, whoever made it.
#[tokio::test]
async fn i3_a_cut_is_not_an_end() {
    let net = Net::new();
    let (at, _task) = serve_echo(&net, "pipe:echo", kms_node()).await;
    let mut stream = dial_worker_to(&net, &at).await.unwrap();
    stream.send(b"drop").await.unwrap();
    let error = stream.recv().await.map(|_| ()).unwrap_err();
    assert!(matches!(error, LinkError::Cut), "{error}");
}

// After a timeout a late reply must not be taken for the answer to the next request.
#[tokio::test]
async fn a_timed_out_session_is_over() {
    let net = Net::new();
    let (at, _task) = serve_echo(&net, "pipe:echo", kms_node()).await;
    let mut stream = dial_worker_to(&net, &at).await.unwrap();
    let error = stream
        .call(b"silence", Duration::from_millis(50))
        .await
        .unwrap_err();
    assert!(matches!(error, LinkError::Timeout { .. }), "{error}");
    assert!(stream.call(b"x", SOON).await.is_err());
    assert!(matches!(stream.recv().await, Ok(None)));
}

// A send that is given up half-way has lost frames: the session refuses to go on.
#[tokio::test]
async fn a_half_sent_message_ends_the_session() {
    let net = Net::new();
    let (at, _task) = serve_echo(&net, "pipe:echo", kms_node()).await;
    let mut stream = dial_worker_to(&net, &at).await.unwrap();
    let long = vec![0; 16 << 20];
    let given_up = tokio::time::timeout(Duration::ZERO, stream.send(&long)).await;
    assert!(given_up.is_err());
    let error = stream.send(b"x").await.unwrap_err();
    assert!(
        matches!(error, LinkError::Session(SessionError::Broken)),
        "{error}"
    );
}

#[tokio::test]
async fn taken_addresses_are_named() {
    for endpoint in ENDPOINTS {
        let net = Net::new();
        let (at, _incoming) = net.listen(&endpoint.parse().unwrap()).await.unwrap();
        let error = net.listen(&at).await.map(|_| ()).unwrap_err();
        assert!(error.to_string().contains(&at.to_string()), "{error}");
    }
    // A dropped listener frees its pipe.
    let net = Net::new();
    let pipe: Endpoint = "pipe:x".parse().unwrap();
    drop(net.listen(&pipe).await.unwrap());
    assert!(net.listen(&pipe).await.is_ok());
}

#[tokio::test]
async fn nobody_there_is_transient() {
    let net = Net::new();
    // Bound and freed at once: nobody listens there.
    let (free, incoming) = net.listen(&"127.0.0.1:0".parse().unwrap()).await.unwrap();
    drop(incoming);
    for at in [free, "pipe:nobody".parse().unwrap()] {
        let error = dial_worker_to(&net, &at).await.map(|_| ()).unwrap_err();
        assert!(error.is_transient(), "{error}");
    }
}
