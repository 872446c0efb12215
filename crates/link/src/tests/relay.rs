//! I3, on the wire: proofs that are genuine, and not of this channel. Mallory holds every byte between
//! two honest processes, has Noise channels of its own to each, and may hold a genuine process too.

use siegel_attest::Role;
use siegel_session::hostile::prove;
use siegel_session::{Expect, SessionError};
use siegel_wire::v1::Frame;
use siegel_wire::v1::link_client::LinkClient;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

use super::raw::{Raw, Shaken};
use super::world::*;
use crate::{Endpoint, LinkError, Net, SessionStream, dial};

const NODE: &str = "127.0.0.1:0";

/// An honest dial in a task of its own.
fn dialling(
    node: &Node,
    net: &Net,
    at: &Endpoint,
) -> tokio::task::JoinHandle<Result<SessionStream, LinkError>> {
    let (node, channel) = (node.clone(), net.channel(at));
    tokio::spawn(async move {
        let setup = node.setup(Expect::Kms(cluster()), None);
        dial(&node.platform, channel, setup).await
    })
}

/// Why an honest dial came to nothing.
async fn refused(
    dialled: tokio::task::JoinHandle<Result<SessionStream, LinkError>>,
) -> SessionError {
    match dialled.await.unwrap() {
        Err(LinkError::Session(error)) => error,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("a session"),
    }
}

/// Mallory between a worker and a KMS node: Noise done on both sides, Hellos carried across.
async fn between(net: &Net, node: &Endpoint, own: Option<&Node>) -> (Shaken, Shaken, Dialled) {
    let (at, mut streams) = Raw::serve(net, "pipe:mallory").await;
    let honest = worker();
    let dialled = dialling(&honest, net, &at);
    let from_worker = streams.recv().await.unwrap();
    // The node's Hello goes to the worker as it is; only then is the worker's known. So Mallory is
    // half-way into both handshakes at once.
    let raw = Raw::dial(net, node).await;
    let (hello, theirs) = tokio::sync::oneshot::channel();
    let (claim, ours) = tokio::sync::oneshot::channel();
    let own = own.map(Node::claim);
    let to_node = tokio::spawn(raw.shake_when(hello, ours));
    let to_worker = from_worker.accept_with(theirs.await.unwrap()).await;
    // The challenge is the worker's in any case, so that the node's evidence will answer it.
    let mut says = own.unwrap_or_else(|| to_worker.peer.clone());
    says.challenge = to_worker.peer.challenge;
    claim.send(says).unwrap();
    (to_worker, to_node.await.unwrap(), dialled)
}

type Dialled = tokio::task::JoinHandle<Result<SessionStream, LinkError>>;

// Catches a signature that does not cover the channel: everything else here is genuine and fresh.
#[tokio::test]
async fn i3_a_proof_carried_to_another_channel_is_refused_by_the_node() {
    let (net, kms) = (Net::new(), kms_node());
    let (node, _task) = serve_echo(&net, NODE, kms.clone()).await;
    let (mut to_worker, mut to_node, dialled) = between(&net, &node, None).await;
    let proof = to_worker.proof().await;
    to_node.prove(&proof).await;
    let told = to_node.raw.refused().await;
    assert_eq!(told.code, "handshake");
    assert!(
        told.message.contains("did not sign this channel"),
        "{told:?}"
    );
    // Nothing to carry back: the worker gets no session, either.
    drop(to_worker);
    assert!(matches!(dialled.await.unwrap(), Err(LinkError::Cut)));
    assert_eq!(kms.served(), 0);
}

// The other way round. Mallory is let in by the node, as the worker that it holds, and gets evidence
// that answers the honest worker's challenge. Catches a dialler that looks at evidence alone.
#[tokio::test]
async fn i3_a_proof_carried_to_another_channel_is_refused_by_the_worker() {
    let (net, kms) = (Net::new(), kms_node());
    let (node, _task) = serve_echo(&net, NODE, kms.clone()).await;
    let held = super::world::node(Role::Worker, 66, 3);
    let (mut to_worker, mut to_node, dialled) = between(&net, &node, Some(&held)).await;
    let evidence = held.quote(&held.binding(&to_node.peer)).await;
    let (own, peer) = (to_node.own.clone(), to_node.peer.clone());
    let hash = to_node.channel.hash;
    let proof = prove(&held.identity, true, hash, &own, &peer, evidence);
    to_node.prove(&proof).await;
    let carried = to_node.proof().await;
    to_worker.proof().await;
    to_worker.prove(&carried).await;
    let error = refused(dialled).await;
    assert!(
        matches!(
            error,
            SessionError::Signature {
                role: Role::KmsPeer
            }
        ),
        "{error}"
    );
    // It is in as itself, and as nobody else.
    kms.lets_in(1).await;
}

// Catches evidence that is not held against the signing key: the same, signed by Mallory itself.
#[tokio::test]
async fn i3_evidence_of_another_process_is_refused() {
    let (net, kms) = (Net::new(), kms_node());
    let (at, _task) = serve_echo(&net, NODE, kms.clone()).await;
    // A KMS node asks another one, honestly, through Mallory, who has no enclave at all.
    let (mallory, other) = (node(Role::KmsPeer, 66, 99), node(Role::KmsPeer, 7, 1));
    let mut to_node = Raw::dial(&net, &at).await.shake_as(mallory.claim()).await;
    let evidence = other.quote(&other.binding(&to_node.peer)).await;
    let (own, peer) = (to_node.own.clone(), to_node.peer.clone());
    let hash = to_node.channel.hash;
    let proof = prove(&mallory.identity, true, hash, &own, &peer, evidence);
    to_node.prove(&proof).await;
    let told = to_node.raw.refused().await;
    assert_eq!(told.invariant, "I3", "{told:?}");
    assert!(told.message.contains("evidence refused"), "{told:?}");
    assert_eq!(kms.served(), 0);
}

// A node that meets itself: its own Hello, and its own proof, come back to it.
#[tokio::test]
async fn i3_evidence_reflected_to_its_sender_is_refused() {
    let (net, kms) = (Net::new(), kms_node());
    let (at, _task) = serve_echo(&net, NODE, kms.clone()).await;
    let (mallory, mut streams) = Raw::serve(&net, "pipe:mallory").await;
    // Its Hello, from another connection.
    let stranger = node(Role::KmsPeer, 66, 99);
    let shaken = Raw::dial(&net, &at).await.shake_as(stranger.claim()).await;
    let dialled = dialling(&kms, &net, &mallory);
    let accepting = streams.recv().await.unwrap();
    let reflected = tokio::spawn(accepting.accept_with(shaken.peer));
    let error = refused(dialled).await;
    assert!(matches!(error, SessionError::Reflection), "{error}");
    reflected.abort();

    // Its proof, under Mallory's name.
    let dialled = dialling(&kms, &net, &mallory);
    let accepting = streams.recv().await.unwrap();
    let mut to_node = accepting.accept_with(stranger.claim()).await;
    let proof = to_node.proof().await;
    to_node.prove(&proof).await;
    let error = refused(dialled).await;
    assert!(
        matches!(
            error,
            SessionError::Signature {
                role: Role::KmsPeer
            }
        ),
        "{error}"
    );
    assert_eq!(kms.served(), 0);
}

/// Carries the frames of an honest dial and keeps them: what the dialler sent, what it got.
async fn recorded(net: &Net, at: &Endpoint) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let (proxy, mut streams) = Raw::serve(net, "pipe:recorder").await;
    let dialled = dialling(&worker(), net, &proxy);
    let mut from_worker = streams.recv().await.unwrap();
    let (out, queue) = mpsc::channel::<Frame>(16);
    let mut client = LinkClient::new(net.channel(at));
    let mut from_node = client
        .open(ReceiverStream::new(queue))
        .await
        .unwrap()
        .into_inner();
    let (mut sent, mut got) = (Vec::new(), Vec::new());
    while got.len() < 2 {
        tokio::select! {
            frame = from_worker.recv() => {
                let data = frame.unwrap();
                sent.push(data.clone());
                out.send(Frame { data, purpose: None }).await.unwrap();
            }
            frame = from_node.message() => {
                let data = frame.unwrap().unwrap().data;
                got.push(data.clone());
                from_worker.send(data).await;
            }
        }
    }
    assert!(dialled.await.unwrap().is_ok());
    assert_eq!(sent.len(), 3);
    (sent, got)
}

// Catches keys or challenges that are not fresh: all of this was once accepted.
#[tokio::test]
async fn i3_a_recorded_handshake_is_refused_later() {
    let (net, kms) = (Net::new(), kms_node());
    let (at, _task) = serve_echo(&net, NODE, kms.clone()).await;
    let (sent, got) = recorded(&net, &at).await;
    kms.lets_in(1).await;

    // To the node, as the worker.
    let mut raw = Raw::dial(&net, &at).await;
    raw.send(sent[0].clone()).await;
    raw.recv().await.unwrap();
    for frame in &sent[1..] {
        raw.send(frame.clone()).await;
    }
    let told = raw.refused().await;
    assert_eq!(told.code, "handshake");
    assert!(told.message.contains("frame 3"), "{told:?}");

    // To the worker, as the node.
    let (mallory, mut streams) = Raw::serve(&net, "pipe:mallory").await;
    let dialled = dialling(&worker(), &net, &mallory);
    let mut raw = streams.recv().await.unwrap();
    raw.recv().await.unwrap();
    for frame in got {
        raw.send(frame).await;
    }
    let error = refused(dialled).await;
    assert!(
        matches!(error, SessionError::Frame { frame: 2, .. }),
        "{error}"
    );
    kms.lets_in(1).await;
}
