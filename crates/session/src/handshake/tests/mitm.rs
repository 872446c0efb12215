//! A network that owns every frame.

use super::*;

fn pair() -> (End, Vec<u8>, End) {
    let (a, b) = (node(Role::KmsPeer, 1), node(Role::KmsPeer, 2));
    let (a, first) = End::dial(&a, a.setup(kms()), 1);
    (a, first, End::accept(&b, b.setup(kms_or_workload()), 2))
}

/// The number of frames of an attested handshake: three of Noise, two proofs.
const FRAMES: usize = 5;

// I3: the classic relay against channels without binding: Mallory is a full Noise peer to each
// side and carries Hellos and proofs across, all of them genuine. Catches a signature that does
// not cover the handshake hash.
#[test]
fn i3_proofs_carried_across_two_channels() {
    let (mut a, first, mut b) = pair();
    let mut to_a = noise::start(Side::Responder, None, &mut rng(7)).unwrap();
    let mut to_b = noise::start(Side::Initiator, None, &mut rng(8)).unwrap();

    let frame = write(&mut to_b, 1, &[]).unwrap();
    let answer = b.feed(&frame).unwrap();
    let hello_b = read(&mut to_b, 2, &answer[0]).unwrap();
    read(&mut to_a, 1, &first).unwrap();
    let frame = write(&mut to_a, 2, &hello_b).unwrap();
    let sent = a.feed(&frame).unwrap();
    let hello_a = read(&mut to_a, 3, &sent[0]).unwrap();
    let frame = write(&mut to_b, 3, &hello_a).unwrap();
    b.feed(&frame).unwrap();

    let (_, mut from_a) = halves(to_a.into_stateless_transport_mode().unwrap());
    let (mut into_b, _) = halves(to_b.into_stateless_transport_mode().unwrap());
    let Opened::Message(proof) = from_a.open(&sent[1]).unwrap() else {
        panic!()
    };
    let frame = into_b.seal(&proof).unwrap().remove(0);
    let error = b.feed(&frame).unwrap_err();
    assert!(matches!(error, SessionError::Signature { .. }), "{error}");
}

// I3 replay: all frames of a recorded handshake, fed to the same acceptor after a restart of the
// handshake. Catches a challenge or ephemeral key that is not fresh.
#[test]
fn i3_recorded_handshake_on_a_new_channel() {
    let (mut a, first, mut b) = pair();
    let mut recorded = Vec::new();
    shake(&mut a, first, &mut b, |_, frame| {
        recorded.push(frame.clone());
        vec![frame]
    })
    .unwrap();
    let b = b.node;
    let mut again = End::accept(&b, b.setup(kms_or_workload()), 3);
    again.feed(&recorded[0]).unwrap();
    assert!(matches!(
        again.feed(&recorded[2]),
        Err(SessionError::Frame { .. })
    ));
    let a = a.node;
    let (mut again, _) = End::dial(&a, a.setup(kms()), 3);
    assert!(matches!(
        again.feed(&recorded[1]),
        Err(SessionError::Frame { .. })
    ));
}

// I3, I14: any flipped bit, cut or extra byte in any handshake frame: the dialler never finishes,
// and the acceptor never with a frame that was changed on its way to it.
#[test]
fn i3_changed_frames_end_the_handshake() {
    let attempt = |target: usize, change: &dyn Fn(Vec<u8>) -> Vec<u8>| {
        let (mut a, first, mut b) = pair();
        let network = |n, frame| vec![if n == target { change(frame) } else { frame }];
        let result = shake(&mut a, first, &mut b, network);
        assert!(result.is_err() && a.session.is_none(), "frame {target}");
        assert!(
            b.session.is_none() || target == FRAMES - 1,
            "frame {target}"
        );
    };
    let mut sizes = Vec::new();
    let (mut a, first, mut b) = pair();
    shake(&mut a, first, &mut b, |_, frame| {
        sizes.push(frame.len());
        vec![frame]
    })
    .unwrap();
    assert_eq!(sizes.len(), FRAMES);
    for (target, size) in sizes.into_iter().enumerate() {
        for at in (0..size).step_by(11).chain([size - 1]) {
            attempt(target, &|mut frame| {
                frame[at] ^= 0x10;
                frame
            });
        }
        attempt(target, &|frame| frame[..frame.len() - 1].to_vec());
        attempt(target, &|frame| [&frame[..], &[0]].concat());
        attempt(target, &|_| Vec::new());
    }
}

// I3: frames twice, or in another order.
#[test]
fn i3_repeated_and_swapped_frames_end_the_handshake() {
    for target in 0..FRAMES - 1 {
        let (mut a, first, mut b) = pair();
        let network = |n, frame: Vec<u8>| {
            if n == target {
                vec![frame.clone(), frame]
            } else {
                vec![frame]
            }
        };
        assert!(
            shake(&mut a, first, &mut b, network).is_err(),
            "frame {target}"
        );
        assert!(a.session.is_none());
    }
    let (mut a, first, mut b) = pair();
    let answer = b.feed(&first).unwrap();
    let sent = a.feed(&answer[0]).unwrap();
    assert!(matches!(b.feed(&sent[1]), Err(SessionError::Frame { .. })));
    assert!(matches!(b.feed(&sent[0]), Err(SessionError::Broken)));
}

// A reflected frame: what the dialler sent comes back to it.
#[test]
fn i3_reflected_frames_end_the_handshake() {
    let (mut a, first, _) = pair();
    assert!(matches!(a.feed(&first), Err(SessionError::Frame { .. })));
    let (mut a, first, mut b) = pair();
    let answer = b.feed(&first).unwrap();
    let sent = a.feed(&answer[0]).unwrap();
    assert!(matches!(a.feed(&sent[1]), Err(SessionError::Frame { .. })));
}

// I3, I6: what is named in the clear is part of the channel. A network that changes it, so that the
// acceptor looks up another run, policy or incarnation, gets no channel even if both have the same
// keys. Catches each field left out of the prologue.
#[test]
fn i3_purpose_is_bound() {
    let (root, worker) = (node(Role::Root, 1), node(Role::Worker, 2));
    let attempt = |sent, seen| {
        let dials = Setup {
            purpose: Some(sent),
            ..root.setup(vouched(&worker))
        };
        let accepts = Setup {
            purpose: Some(seen),
            ..worker.setup(vouched(&root))
        };
        honest(&root, dials, &worker, accepts).map(|_| ())
    };
    let (named, other) = (purpose(1), purpose(2));
    attempt(named, named).unwrap();
    let changed = [
        Purpose {
            run: other.run,
            ..named
        },
        Purpose {
            policy: other.policy,
            ..named
        },
        Purpose {
            fencing: other.fencing,
            ..named
        },
    ];
    for seen in changed {
        for (sent, seen) in [(named, seen), (seen, named)] {
            let error = attempt(sent, seen).unwrap_err();
            assert!(matches!(error, SessionError::Frame { .. }), "{error}");
        }
    }
}

// An absent field is a refusal: root and worker always say what for, nobody else does.
#[test]
fn i3_purpose_belongs_to_root_and_worker() {
    let (root, worker, kms_node) = (
        node(Role::Root, 1),
        node(Role::Worker, 2),
        node(Role::KmsPeer, 3),
    );
    let start = |node: &Node, expect: Expect, purpose| {
        let setup = Setup {
            purpose,
            ..node.setup(expect)
        };
        match node.identity.role() {
            Role::Root => Handshake::initiator(setup, NOW, &mut rng(1)).map(|_| ()),
            _ => Handshake::responder(setup, NOW, &mut rng(1)).map(|_| ()),
        }
    };
    for result in [
        start(&root, vouched(&worker), None),
        start(&worker, vouched(&root), None),
    ] {
        assert!(matches!(
            result,
            Err(SessionError::Purpose { problem: "missing" })
        ));
    }
    for result in [
        start(&root, kms(), Some(purpose(1))),
        start(&kms_node, kms_or_workload(), Some(purpose(1))),
    ] {
        assert!(matches!(
            result,
            Err(SessionError::Purpose {
                problem: "not expected here"
            })
        ));
    }
}
