//! Peers that are honest about themselves, but not whom the other side expects.

use super::attacks::{lying_acceptor, lying_dialler};
use super::*;

// I3: a worker on the other end of a dial to a KMS node. Catches an unchecked peer role.
#[test]
fn i3_unexpected_role() {
    let (root, worker) = (node(Role::Root, 1), node(Role::Worker, 2));
    let (mut a, first) = End::dial(&root, root.setup(vouched(&worker)), 1);
    let mut b = End::accept(&worker, worker.setup(vouched(&root)), 2);
    b.handshake.own.role = Role::Root;
    let error = shake(&mut a, first, &mut b, |_, f| vec![f]).unwrap_err();
    assert!(
        matches!(
            error,
            SessionError::Role {
                found: Role::Root,
                ..
            }
        ),
        "{error}"
    );
}

// I3: other binary, other configuration.
#[test]
fn i3_node_with_other_measurement_or_configuration() {
    let victim = node(Role::KmsPeer, 2);
    let mut other_binary = node(Role::KmsPeer, 1);
    other_binary.measurement = measurement(Role::Worker);
    let error = lying_dialler(&other_binary, &victim, kms_or_workload(), |_| {});
    assert!(
        matches!(error, SessionError::Appraisal(Refusal::Measurement { .. })),
        "{error}"
    );
    let error = lying_acceptor(&other_binary, &victim, |_| {});
    assert!(
        matches!(error, SessionError::Appraisal(Refusal::Measurement { .. })),
        "{error}"
    );

    let other = Identity::new(
        &mut rng(1),
        Role::KmsPeer,
        vec![0, 2, 1],
        config(Role::Worker),
    );
    let other = Node {
        identity: Arc::new(other.unwrap()),
        ..node(Role::KmsPeer, 1)
    };
    let error = lying_dialler(&other, &victim, kms_or_workload(), |_| {});
    assert!(
        matches!(error, SessionError::Appraisal(Refusal::Config { .. })),
        "{error}"
    );
}

// I3: a run record names keys; another root, another KEM key under the right signing key, or an
// empty record let nobody in.
#[test]
fn i3_keys_that_the_kms_did_not_vouch_for() {
    let (root, worker, other) = (
        node(Role::Root, 1),
        node(Role::Worker, 2),
        node(Role::Root, 3),
    );
    let try_with = |expect: Expect| {
        let (mut a, first) = End::dial(&root, root.setup(vouched(&worker)), 1);
        let mut b = End::accept(&worker, worker.setup(expect), 2);
        shake(&mut a, first, &mut b, |_, f| vec![f]).map_err(|e| e.to_string())
    };
    assert!(try_with(vouched(&root)).is_ok());
    assert!(
        try_with(vouched(&other))
            .unwrap_err()
            .contains("run record")
    );
    let mut other_kem = root.identity.keys();
    other_kem.kem_key[2] ^= 1;
    for keys in [vec![other_kem], Vec::new()] {
        let expect = Expect::Vouched {
            role: Role::Root,
            keys,
        };
        assert!(try_with(expect).unwrap_err().contains("run record"));
    }
}

// An absent field is a refusal: no evidence where it is needed, none welcome where it is not.
#[test]
fn i3_missing_and_unexpected_evidence() {
    let kms_node = node(Role::KmsPeer, 2);
    for role in [Role::KmsPeer, Role::Worker] {
        let dialler = node(role, 1);
        let (mut a, first) = End::dial(&dialler, dialler.setup(kms()), 1);
        let mut b = End::accept(&kms_node, kms_node.setup(kms_or_workload()), 2);
        let answer = b.feed(&first).unwrap();
        let step = a.handshake.on_frame(NOW, &answer[0]).unwrap();
        b.feed(&step.send[0]).unwrap();
        let proof = a.handshake.on_quote(Vec::new()).unwrap();
        let error = b.feed(&proof.send[0]).unwrap_err();
        assert!(
            matches!(
                error,
                SessionError::Evidence {
                    problem: "missing",
                    ..
                }
            ),
            "{error}"
        );
    }
    let (root, worker) = (node(Role::Root, 1), node(Role::Worker, 2));
    let (mut a, first) = End::dial(&root, root.setup(vouched(&worker)), 1);
    let mut b = End::accept(&worker, worker.setup(vouched(&root)), 2);
    let answer = b.feed(&first).unwrap();
    let step = a.handshake.on_frame(NOW, &answer[0]).unwrap();
    b.feed(&step.send[0]).unwrap();
    let State::Proof(mut channel) = std::mem::replace(&mut a.handshake.state, State::Over) else {
        panic!()
    };
    let auth = a.handshake.proof(&channel).make(&root.identity, vec![1]);
    // The first proof frame was not delivered; take back its nonce.
    channel.sealer.rewind();
    let frame = channel.sealer.seal(&auth.to_bytes()).unwrap().remove(0);
    let error = b.feed(&frame).unwrap_err();
    assert!(matches!(error, SessionError::Evidence { .. }), "{error}");
}

// Checklist 41: a challenge lives for 60 s, on either side.
#[test]
fn i3_challenge_expires() {
    let (a, b) = (node(Role::KmsPeer, 1), node(Role::KmsPeer, 2));
    let with_delay = |dialler: u64, acceptor: u64| {
        let (mut a, first) = End::dial(&a, a.setup(kms()), 1);
        let mut b = End::accept(&b, b.setup(kms_or_workload()), 2);
        let answer = b.feed(&first).unwrap();
        let proof = a.feed(&answer[0]).unwrap();
        b.feed(&proof[0]).unwrap();
        (a.now, b.now) = (later(dialler), later(acceptor));
        let answer = b.feed(&proof[1])?;
        a.feed(&answer[0])
    };
    assert!(with_delay(59, 59).is_ok());
    assert!(matches!(with_delay(0, 60), Err(SessionError::Stale { .. })));
    assert!(matches!(with_delay(60, 0), Err(SessionError::Stale { .. })));
}

// I3: a clock that is set back makes no challenge younger. Catches an age by the present time alone.
#[test]
fn i3_a_clock_set_back_revives_no_challenge() {
    let (a, b) = (node(Role::KmsPeer, 1), node(Role::KmsPeer, 2));
    let (mut a, first) = End::dial(&a, a.setup(kms()), 1);
    let mut b = End::accept(&b, b.setup(kms_or_workload()), 2);
    let answer = b.feed(&first).unwrap();
    let proof = a.feed(&answer[0]).unwrap();
    b.now = later(60);
    b.feed(&proof[0]).unwrap();
    b.now = NOW;
    let error = b.feed(&proof[1]).unwrap_err();
    assert!(matches!(error, SessionError::Stale { .. }), "{error}");
}

// A session is as old as the challenge that its peer answered. Catches an hour that counts from the
// last frame, and a start before a time that was seen.
#[test]
fn a_session_ends_an_hour_after_its_challenge() {
    let (a, b) = (node(Role::KmsPeer, 1), node(Role::KmsPeer, 2));
    let (mut a, first) = End::dial(&a, a.setup(kms()), 1);
    let mut b = End::accept(&b, b.setup(kms_or_workload()), 2);
    let answer = b.feed(&first).unwrap();
    a.now = later(10);
    let proof = a.feed(&answer[0]).unwrap();
    b.now = later(30);
    b.feed(&proof[0]).unwrap();
    b.now = later(20);
    let answer = b.feed(&proof[1]).unwrap();
    a.now = later(40);
    a.feed(&answer[0]).unwrap();
    let (a, b) = (a.session.unwrap(), b.session.unwrap());
    assert_eq!((a.begun(), a.ends()), (later(40), later(3610)));
    assert_eq!((b.begun(), b.ends()), (later(30), later(3600)));
}

// I3: another cluster, or a node without one.
#[test]
fn i3_cluster_must_agree() {
    let (kms_node, worker) = (node(Role::KmsPeer, 1), node(Role::Worker, 2));
    let other = node(Role::KmsPeer, 3);
    let accepts = |deployment| Setup {
        deployment,
        ..kms_node.setup(kms_or_workload())
    };
    let outcome = |dialler: &Node, pinned, of_kms| {
        let dials = Setup {
            deployment: pinned,
            ..dialler.setup(kms())
        };
        honest(dialler, dials, &kms_node, accepts(of_kms)).map(|_| ())
    };
    assert!(outcome(&worker, Some(CLUSTER), Some(CLUSTER)).is_ok());
    let wrong = Some(wrong_cluster());
    for dialler in [&worker, &other] {
        let error = outcome(dialler, wrong, Some(CLUSTER)).unwrap_err();
        assert!(matches!(error, SessionError::Cluster { .. }), "{error}");
    }
    let error = outcome(&worker, None, None).unwrap_err();
    assert!(matches!(error, SessionError::NotFounded), "{error}");
    // The acceptor refuses too, should the dialler not.
    let kms_peer = node(Role::KmsPeer, 4);
    let handshake = Handshake::responder(
        Setup {
            deployment: None,
            ..kms_peer.setup(kms_or_workload())
        },
        NOW,
        &mut rng(1),
    )
    .unwrap();
    let hello = Hello {
        role: Role::Worker,
        deployment: None,
        signing_key: *worker.identity.signing_key(),
        kem_key: worker.identity.kem_key().to_vec(),
        challenge: [0; CHALLENGE_LEN],
    };
    assert!(matches!(
        handshake.admit(&hello),
        Err(SessionError::NotFounded)
    ));
}

// I3: evidence of a workload for one cluster is not good at a node of another: the deployment in
// its report data is what the node itself is.
#[test]
fn i3_workload_evidence_binds_the_cluster() {
    let (kms_node, worker) = (node(Role::KmsPeer, 1), node(Role::Worker, 2));
    let accepts = kms_node.setup(kms_or_workload());
    let (_, session) = honest(&worker, worker.setup(kms()), &kms_node, accepts).unwrap();
    let pending = session.peer().pending().unwrap();
    assert_eq!(
        pending.binding(config(Role::Worker)).deployment,
        Some(CLUSTER)
    );
}
