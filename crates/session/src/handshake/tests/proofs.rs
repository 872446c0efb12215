//! Proofs of several frames, and what a peer may send before it has proved itself.

use super::*;
use crate::hello::{CARRIED_MAX, PROOF_MAX};
use crate::padded_len;

/// A worker and a KMS node before the worker's quote: what the quote must bind is not looked at
/// before a request names the policy.
fn before_quote() -> (End, End) {
    let (worker, kms_node) = (node(Role::Worker, 1), node(Role::KmsPeer, 2));
    let (mut a, first) = End::dial(&worker, worker.setup(kms()), 1);
    let mut b = End::accept(&kms_node, kms_node.setup(kms_or_workload()), 2);
    let answer = b.feed(&first).unwrap();
    let step = a.handshake.on_frame(NOW, &answer[0]).unwrap();
    assert!(matches!(step.next, Next::Quote(_)));
    assert!(b.feed(&step.send[0]).unwrap().is_empty());
    (a, b)
}

fn evidence(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i % 251) as u8).collect()
}

// Evidence up to the bound arrives whole, in as many frames as it takes. Catches a proof that must
// fit one frame.
#[test]
fn a_dialler_proves_itself_in_several_frames() {
    for (len, frames) in [(60_000, 1), (70_000, 2), (CARRIED_MAX, 3)] {
        let (mut a, mut b) = before_quote();
        let sent = evidence(len);
        let step = a.handshake.on_quote(sent.clone()).unwrap();
        assert_eq!(step.send.len(), frames);
        let (last, parts) = step.send.split_last().unwrap();
        for part in parts {
            assert!(b.feed(part).unwrap().is_empty() && b.session.is_none());
        }
        let answer = b.feed(last).unwrap();
        let session = b.session.as_ref().unwrap();
        assert!(session.peer().pending().unwrap().evidence() == sent);
        assert!(a.feed(&answer[0]).unwrap().is_empty() && a.session.is_some());
    }
}

// The other way the evidence is judged at once: all of it has arrived, and it is no evidence.
#[test]
fn an_acceptor_proves_itself_in_several_frames() {
    let (mut a, mut b) = before_quote();
    let proof = a.handshake.on_quote(evidence(9)).unwrap().send;
    let step = b.handshake.on_frame(NOW, &proof[0]).unwrap();
    assert!(matches!(step.next, Next::Quote(_)));
    let frames = b.handshake.on_quote(evidence(CARRIED_MAX)).unwrap().send;
    let (last, parts) = frames.split_last().unwrap();
    assert_eq!(parts.len(), 2);
    for part in parts {
        assert!(a.feed(part).unwrap().is_empty());
    }
    let error = a.feed(last).unwrap_err();
    assert!(matches!(error, SessionError::Appraisal(_)), "{error}");
}

// I14: catches the bound of messages in place of the bound of proofs, and memory that grows past
// it: one byte too much is refused before it is kept, whoever sends it.
#[test]
fn i14_a_stranger_is_heard_for_one_proof() {
    let (mut a, mut b) = before_quote();
    let State::QuoteFirst(channel) = &mut a.handshake.state else {
        panic!()
    };
    let frames = channel.sealer.seal(&evidence(PROOF_MAX + 1)).unwrap();
    // At the first of its three frames: it says how long it is going to be.
    assert!(matches!(
        b.feed(&frames[0]),
        Err(SessionError::MessageTooLong { max: PROOF_MAX, .. })
    ));
    assert!(matches!(b.feed(&frames[1]), Err(SessionError::Broken)));

    // What it is heard with takes no more memory than that.
    let (mut a, mut b) = before_quote();
    let frames = a.handshake.on_quote(evidence(CARRIED_MAX)).unwrap().send;
    let State::Proof(channel) = &mut b.handshake.state else {
        panic!()
    };
    for frame in frames {
        if let Opened::Message(proof) = channel.opener.open(&frame).unwrap() {
            assert_eq!(proof.len(), PROOF_MAX);
            assert!(proof.capacity() < padded_len(PROOF_MAX));
        }
    }
}

// What the peer would refuse unread is an error of our own side.
#[test]
fn evidence_beyond_the_bound_is_not_sent() {
    let (mut a, _) = before_quote();
    let error = a.handshake.on_quote(evidence(CARRIED_MAX + 1));
    assert!(matches!(
        error.map(|_| ()),
        Err(SessionError::MessageTooLong {
            max: CARRIED_MAX,
            ..
        })
    ));
}

// I3: the order within a proof and around it. Catches parts that are taken in any order, twice, or
// after the end of the proof.
#[test]
fn i3_the_frames_of_a_proof_come_in_order() {
    let orders: [&[usize]; 4] = [&[1], &[0, 0], &[0, 2], &[0, 1, 1]];
    for order in orders {
        let (mut a, mut b) = before_quote();
        let frames = a.handshake.on_quote(evidence(CARRIED_MAX)).unwrap().send;
        let (last, before) = order.split_last().unwrap();
        for at in before {
            b.feed(&frames[*at]).unwrap();
        }
        let error = b.feed(&frames[*last]).unwrap_err();
        assert!(matches!(error, SessionError::Frame { .. }), "{order:?}");
        assert!(matches!(b.feed(&frames[0]), Err(SessionError::Broken)));
    }
    // A quote when frames are due; a goodbye in place of the rest.
    let (mut a, mut b) = before_quote();
    let frames = a.handshake.on_quote(evidence(70_000)).unwrap().send;
    b.feed(&frames[0]).unwrap();
    let error = b.handshake.on_quote(evidence(1)).map(|_| ());
    assert!(matches!(error, Err(SessionError::OutOfTurn { .. })));
    let (mut a, mut b) = before_quote();
    let State::QuoteFirst(channel) = &mut a.handshake.state else {
        panic!()
    };
    let goodbye = channel.sealer.close().unwrap();
    let error = b.feed(&goodbye).unwrap_err();
    assert!(matches!(error, SessionError::Field { field: "proof" }));
}

// I3: the challenge is dated at the last frame, not at the first.
#[test]
fn i3_a_slow_proof_is_stale() {
    let (mut a, mut b) = before_quote();
    let frames = a.handshake.on_quote(evidence(70_000)).unwrap().send;
    b.feed(&frames[0]).unwrap();
    b.now = later(60);
    let error = b.feed(&frames[1]).unwrap_err();
    assert!(matches!(error, SessionError::Stale { .. }), "{error}");
}
