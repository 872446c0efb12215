//! What honest sides get, and what each attack of the session's threat model gets. Every test
//! says which check it would miss.

use siegel_attest::{Context, Profile, Refusal, Role, TrustAnchors};
use siegel_ident::{ClusterId, Digest, Timestamp};

use super::channel::read;
use super::*;
use crate::frames::halves;
use crate::proof::Proof;
use crate::testing::*;
use crate::{Authenticated, Opened};

mod attacks;
mod expectations;
mod hardware;
mod mitm;
mod proofs;

#[test]
fn two_nodes_appraise_each_other() {
    let (a, b) = sessions();
    assert_eq!(a.channel(), b.channel());
    for session in [&a, &b] {
        let peer = session.peer();
        assert_eq!(peer.role(), Role::KmsPeer);
        assert_eq!(peer.deployment(), Some(CLUSTER));
        let appraisal = peer.appraisal().unwrap();
        let measured = appraisal.reference().measurement();
        assert_eq!(measured, Some(measurement(Role::KmsPeer)));
        assert_eq!(appraisal.signing_key(), peer.signing_key());
        assert_eq!(appraisal.kem_key(), peer.kem_key());
    }
    assert_eq!(a.peer().keys(), &node(Role::KmsPeer, 2).identity.keys());
    assert_eq!(b.peer().keys(), &node(Role::KmsPeer, 1).identity.keys());
}

#[test]
fn nodes_may_meet_before_founding() {
    let (a, b) = (node(Role::KmsPeer, 1), node(Role::KmsPeer, 2));
    for (of_a, of_b) in [(None, None), (Some(CLUSTER), None), (None, Some(CLUSTER))] {
        let dials = Setup {
            deployment: of_a,
            ..a.setup(kms())
        };
        let accepts = Setup {
            deployment: of_b,
            ..b.setup(kms_or_workload())
        };
        let (a, b) = honest(&a, dials, &b, accepts).unwrap();
        assert_eq!((a.peer().deployment(), b.peer().deployment()), (of_b, of_a));
    }
}

#[test]
fn workload_is_pending_until_a_policy_is_named() {
    let kms_node = node(Role::KmsPeer, 1);
    for role in [Role::Root, Role::Worker] {
        let workload = node(role, 2);
        let (theirs, ours) = honest(
            &workload,
            workload.setup(kms()),
            &kms_node,
            kms_node.setup(kms_or_workload()),
        )
        .unwrap();
        assert!(theirs.peer().appraisal().is_some());
        assert_eq!(theirs.peer().deployment(), Some(CLUSTER));
        let peer = ours.peer();
        assert!(matches!(peer.authenticated(), Authenticated::Pending(_)));
        assert!(peer.appraisal().is_none());
        let pending = peer.pending().unwrap();

        let anchors = TrustAnchors {
            simulation_root: Some(attester().public_key()),
            ..TrustAnchors::default()
        };
        let simulation = Profile::Simulation;
        let ctx = Context {
            now: NOW,
            profile: simulation,
            genesis_profile: simulation,
            anchors: &anchors,
        };
        let appraisal = pending
            .appraise(config(role), &[reference(role)], &ctx)
            .unwrap();
        assert_eq!(
            (appraisal.role(), appraisal.deployment()),
            (role, Some(CLUSTER))
        );
        assert_eq!(appraisal.kem_key(), workload.identity.kem_key());

        // I3: another configuration, binary or profile gets no appraisal.
        let other = if role == Role::Root {
            Role::Worker
        } else {
            Role::Root
        };
        let result = pending.appraise(config(other), &[reference(role)], &ctx);
        assert!(matches!(result, Err(Refusal::Config { .. })));
        let result = pending.appraise(config(role), &[reference(other)], &ctx);
        assert!(matches!(result, Err(Refusal::Measurement { .. })));
        let ctx = Context {
            profile: Profile::Production,
            ..ctx
        };
        let result = pending.appraise(config(role), &[reference(role)], &ctx);
        assert!(matches!(result, Err(Refusal::SimulationNotAllowed { .. })));
    }
}

#[test]
fn root_and_worker_need_no_evidence() {
    let (root, worker) = (node(Role::Root, 1), node(Role::Worker, 2));
    let (mut a, first) = End::dial(&root, root.setup(vouched(&worker)), 1);
    let mut b = End::accept(&worker, worker.setup(vouched(&root)), 2);
    shake(&mut a, first, &mut b, |_, frame| vec![frame]).unwrap();
    let (a, b) = (a.session.unwrap(), b.session.unwrap());
    assert!(matches!(a.peer().authenticated(), Authenticated::Vouched));
    assert_eq!(
        (a.peer().role(), b.peer().role()),
        (Role::Worker, Role::Root)
    );
}

// I15: the RNG that is passed in is the only one.
#[test]
fn i15_same_randomness_same_frames() {
    let a = node(Role::KmsPeer, 1);
    let first = |seed| End::dial(&a, a.setup(kms()), seed).1;
    assert_eq!(first(5), first(5));
    assert_ne!(first(5), first(6));
    let answer = |seed| {
        let b = node(Role::KmsPeer, 2);
        End::accept(&b, b.setup(kms_or_workload()), seed)
            .feed(&first(5))
            .unwrap()
    };
    assert_eq!(answer(8), answer(8));
    assert_ne!(answer(8), answer(9));
}

#[test]
fn roles_that_never_talk_are_refused_at_the_start() {
    let (kms_node, root, worker) = (
        node(Role::KmsPeer, 1),
        node(Role::Root, 2),
        node(Role::Worker, 3),
    );
    let dials = |n: &Node, e| Handshake::initiator(n.setup(e), NOW, &mut rng(1)).is_ok();
    let accepts = |n: &Node, e| Handshake::responder(n.setup(e), NOW, &mut rng(1)).is_ok();
    assert!(dials(&root, vouched(&worker)) && accepts(&worker, vouched(&root)));
    assert!(!dials(&worker, vouched(&root)) && !accepts(&root, vouched(&worker)));
    assert!(!dials(&root, vouched(&root)) && !accepts(&worker, vouched(&worker)));
    assert!(!accepts(&root, kms()) && !accepts(&worker, kms()) && !accepts(&kms_node, kms()));
    assert!(!accepts(&worker, kms_or_workload()) && !dials(&kms_node, kms_or_workload()));
    assert!(!dials(&kms_node, vouched(&worker)) && !accepts(&kms_node, vouched(&root)));
}

#[test]
fn frames_and_quotes_out_of_turn_end_the_handshake() {
    let (a, b) = (node(Role::KmsPeer, 1), node(Role::KmsPeer, 2));
    let (mut a, first) = End::dial(&a, a.setup(kms()), 1);
    let mut b = End::accept(&b, b.setup(kms_or_workload()), 2);
    let answer = b.feed(&first).unwrap();
    assert!(matches!(
        b.handshake.on_quote(Vec::new()),
        Err(SessionError::OutOfTurn { .. })
    ));
    assert!(matches!(b.feed(&first), Err(SessionError::Broken)));
    assert!(matches!(
        a.handshake.on_frame(NOW, &answer[0]).unwrap().next,
        Next::Quote(_)
    ));
    assert!(matches!(
        a.feed(&answer[0]),
        Err(SessionError::OutOfTurn { .. })
    ));
    assert!(matches!(
        a.handshake.on_quote(Vec::new()),
        Err(SessionError::Broken)
    ));
}

#[test]
fn i14_hostile_first_frames_never_panic() {
    let b = node(Role::KmsPeer, 2);
    for len in [0, 1, 31, 32, 33, 48, 100, 65_535, 65_536, 100_000] {
        let mut b = End::accept(&b, b.setup(kms_or_workload()), 2);
        // 32 bytes are a valid ephemeral key; anything else is refused at once.
        assert_eq!(b.feed(&vec![1; len]).is_ok(), len == 32, "{len}");
    }
}

fn wrong_cluster() -> ClusterId {
    ClusterId::from_bytes([0xEE; 32])
}

fn later(seconds: u64) -> Timestamp {
    Timestamp(NOW.0 + seconds)
}
