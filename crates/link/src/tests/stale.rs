//! I3, on the wire: challenges that were never given, were answered before, or are too old.

use siegel_attest::{Refusal, Role};
use siegel_ident::{Seconds, Timestamp};
use siegel_platform::TestClock;
use siegel_session::hostile::{evidence_of, prove};
use siegel_session::{CHALLENGE_LIFETIME, Expect, SessionError};

use super::raw::{Raw, Shaken};
use super::world::*;
use crate::{Endpoint, LinkError, Net, dial};

const START: Timestamp = Timestamp(1_900_000_000);

/// A KMS node's proof over this channel, with this evidence.
fn proof(node: &Node, dials: bool, shaken: &Shaken, evidence: Vec<u8>) -> Vec<u8> {
    let hash = shaken.channel.hash;
    prove(
        &node.identity,
        dials,
        hash,
        &shaken.own,
        &shaken.peer,
        evidence,
    )
}

async fn honest_proof(node: &Node, dials: bool, shaken: &Shaken) -> Vec<u8> {
    let evidence = node.quote(&node.binding(&shaken.peer)).await;
    proof(node, dials, shaken, evidence)
}

/// Another KMS node, by hand, up to its proof.
async fn dialled(net: &Net, at: &Endpoint, peer: &Node) -> Shaken {
    Raw::dial(net, at).await.shake_as(peer.claim()).await
}

// Catches a challenge that is not in the evidence, and one that is not in the signature.
#[tokio::test]
async fn i3_an_unknown_challenge_is_refused() {
    let (net, kms, peer) = (Net::new(), kms_node(), node(Role::KmsPeer, 5, 1));
    let (at, _task) = serve_echo(&net, "127.0.0.1:0", kms.clone()).await;
    let mut shaken = dialled(&net, &at, &peer).await;
    let mut binding = peer.binding(&shaken.peer);
    binding.challenge = vec![0xEE; 32];
    let evidence = peer.quote(&binding).await;
    let shown = proof(&peer, true, &shaken, evidence);
    shaken.prove(&shown).await;
    assert_eq!(shaken.raw.refused().await.code, "evidence-report-data");

    let mut shaken = dialled(&net, &at, &peer).await;
    let evidence = peer.quote(&peer.binding(&shaken.peer)).await;
    let given = std::mem::replace(&mut shaken.peer.challenge, [0xEE; 32]);
    assert_ne!(given, shaken.peer.challenge);
    let shown = proof(&peer, true, &shaken, evidence);
    shaken.prove(&shown).await;
    let told = shaken.raw.refused().await;
    assert!(
        told.message.contains("did not sign this channel"),
        "{told:?}"
    );
    assert_eq!(kms.served(), 0);
}

// Catches a challenge that is given twice. The prover is a genuine node that would rather not ask
// its platform again.
#[tokio::test]
async fn i3_a_challenge_is_answered_once() {
    let (net, kms, peer) = (Net::new(), kms_node(), node(Role::KmsPeer, 5, 1));
    let (at, _task) = serve_echo(&net, "127.0.0.1:0", kms.clone()).await;
    let mut first = dialled(&net, &at, &peer).await;
    let accepted = honest_proof(&peer, true, &first).await;
    first.prove(&accepted).await;
    let answer = first.proof().await;

    let mut second = dialled(&net, &at, &peer).await;
    assert_ne!(first.peer.challenge, second.peer.challenge);
    second.prove(&accepted).await;
    let told = second.raw.refused().await;
    assert!(
        told.message.contains("did not sign this channel"),
        "{told:?}"
    );
    let mut third = dialled(&net, &at, &peer).await;
    let signed_again = proof(&peer, true, &third, evidence_of(&accepted));
    third.prove(&signed_again).await;
    assert_eq!(third.raw.refused().await.code, "evidence-report-data");
    kms.lets_in(1).await;

    // The same at a dialler: what the node has proved once.
    let (mallory, mut streams) = Raw::serve(&net, "pipe:mallory").await;
    for again in [false, true] {
        let honest = worker();
        let channel = net.channel(&mallory);
        let dialled = tokio::spawn(async move {
            let setup = honest.setup(Expect::Kms(cluster()), None);
            dial(&honest.platform, channel, setup).await.map(|_| ())
        });
        let accepting = streams.recv().await.unwrap();
        let mut shaken = accepting.accept_with(kms.claim()).await;
        shaken.proof().await;
        let shown = match again {
            false => answer.clone(),
            true => proof(&kms, false, &shaken, evidence_of(&answer)),
        };
        shaken.prove(&shown).await;
        match (dialled.await.unwrap(), again) {
            (Err(LinkError::Session(SessionError::Signature { .. })), false) => {}
            (
                Err(LinkError::Session(SessionError::Appraisal(Refusal::ReportData { .. }))),
                true,
            ) => {}
            (other, _) => panic!("{other:?}"),
        }
    }
}

// Catches a challenge without an end, at the node: a proof that comes after 60 s, or after the clock
// was moved by as much.
#[tokio::test]
async fn i3_a_late_proof_is_refused_by_the_node() {
    for (wait, good) in [(59, true), (60, false), (86_400, false)] {
        let (net, clock) = (Net::new(), TestClock::at(START));
        let kms = at_clock(Role::KmsPeer, 1, 1, &clock);
        let peer = at_clock(Role::KmsPeer, 5, 1, &clock);
        let (at, _task) = serve_echo(&net, "127.0.0.1:0", kms.clone()).await;
        let mut shaken = dialled(&net, &at, &peer).await;
        // Evidence of now: only the challenge is old.
        clock.advance(Seconds(wait));
        let shown = honest_proof(&peer, true, &shaken).await;
        shaken.prove(&shown).await;
        if good {
            shaken.proof().await;
            continue;
        }
        let told = shaken.raw.refused().await;
        assert!(
            told.message.contains("the challenge was answered"),
            "{told:?}"
        );
        assert_eq!(kms.served(), 0);
    }
}

// The same at the dialler.
#[tokio::test]
async fn i3_a_late_proof_is_refused_by_the_dialler() {
    let (net, clock) = (Net::new(), TestClock::at(START));
    let kms = at_clock(Role::KmsPeer, 1, 1, &clock);
    let (at, mut streams) = Raw::serve(&net, "127.0.0.1:0").await;
    let (honest, channel) = (at_clock(Role::Worker, 2, 3, &clock), net.channel(&at));
    let dialled = tokio::spawn(async move {
        let setup = honest.setup(Expect::Kms(cluster()), None);
        dial(&honest.platform, channel, setup).await.map(|_| ())
    });
    let accepting = streams.recv().await.unwrap();
    let mut shaken = accepting.accept_with(kms.claim()).await;
    shaken.proof().await;
    clock.advance(CHALLENGE_LIFETIME);
    let shown = honest_proof(&kms, false, &shaken).await;
    shaken.prove(&shown).await;
    assert!(matches!(
        dialled.await.unwrap(),
        Err(LinkError::Session(SessionError::Stale { .. }))
    ));
}
