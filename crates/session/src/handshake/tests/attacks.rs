//! A peer that lies, with its own keys and channel.

use super::*;

/// A handshake between a dialler that may lie and an honest acceptor, and the other way round.
/// `lie` changes the liar's end before the first frame.
pub(super) fn lying_dialler(
    liar: &Node,
    victim: &Node,
    expect: Expect,
    lie: impl Fn(&mut End),
) -> SessionError {
    let (mut a, first) = End::dial(liar, liar.setup(kms()), 1);
    lie(&mut a);
    let mut b = End::accept(victim, victim.setup(expect), 2);
    let error = shake(&mut a, first, &mut b, |_, f| vec![f]).unwrap_err();
    assert!(b.session.is_none());
    error
}

pub(super) fn lying_acceptor(liar: &Node, victim: &Node, lie: impl Fn(&mut End)) -> SessionError {
    let (mut a, first) = End::dial(victim, victim.setup(kms()), 1);
    let mut b = End::accept(liar, liar.setup(kms_or_workload()), 2);
    lie(&mut b);
    let error = shake(&mut a, first, &mut b, |_, f| vec![f]).unwrap_err();
    assert!(a.session.is_none());
    error
}

// I3 relay: B presents evidence that C made for B's channel and challenge (C may be asked for it
// over a session of its own). Catches a missing signature check: B does not hold C's key.
#[test]
fn i3_relay_of_another_process_evidence() {
    let (b, c, victim) = (
        node(Role::KmsPeer, 1),
        node(Role::KmsPeer, 2),
        node(Role::KmsPeer, 3),
    );
    let present_c = |end: &mut End| {
        end.handshake.own.signing_key = *c.identity.signing_key();
        end.handshake.own.kem_key = c.identity.kem_key().to_vec();
        end.node = c.clone();
    };
    let error = lying_dialler(&b, &victim, kms_or_workload(), present_c);
    assert!(matches!(error, SessionError::Signature { .. }), "{error}");
    let error = lying_acceptor(&b, &victim, present_c);
    assert!(matches!(error, SessionError::Signature { .. }), "{error}");
}

// I3: B signs with its own key but shows C's evidence. Catches evidence that is not bound to the
// signing key.
#[test]
fn i3_evidence_of_another_key() {
    let (b, victim) = (node(Role::KmsPeer, 1), node(Role::KmsPeer, 3));
    // B asks its platform for a quote over the keys of C.
    let (mut a, first) = End::dial(&b, b.setup(kms()), 1);
    let mut v = End::accept(&victim, victim.setup(kms_or_workload()), 2);
    let answer = v.feed(&first).unwrap();
    let step = a.handshake.on_frame(NOW, &answer[0]).unwrap();
    v.feed(&step.send[0]).unwrap();
    let State::QuoteFirst(channel) = &a.handshake.state else {
        panic!()
    };
    let mut binding = a.handshake.proof(channel).own_binding(&b.identity);
    binding.signing_key = node(Role::KmsPeer, 2).identity.signing_key().to_vec();
    let evidence = b.quote(binding.report_data().unwrap());
    let proof = a.handshake.on_quote(evidence).unwrap();
    let error = v.feed(&proof.send[0]).unwrap_err();
    assert!(
        matches!(error, SessionError::Appraisal(Refusal::ReportData { .. })),
        "{error}"
    );
}

// I3 reflection: a node that dials itself, or gets its own Hello back. Catches a missing key
// comparison.
#[test]
fn i3_reflection_of_a_node_to_itself() {
    let a = node(Role::KmsPeer, 1);
    let error = lying_acceptor(&a, &a, |_| {});
    assert!(matches!(error, SessionError::Reflection), "{error}");
}

/// Changes what a liar signs instead of the right thing.
type Lie = fn(&mut Side, &mut Digest, &mut Hello, &mut Hello);

fn wrongly_signed(lie: Lie) -> SessionError {
    let (liar, victim) = (node(Role::KmsPeer, 1), node(Role::KmsPeer, 2));
    let (mut a, first) = End::dial(&liar, liar.setup(kms()), 1);
    let mut b = End::accept(&victim, victim.setup(kms_or_workload()), 2);
    let answer = b.feed(&first).unwrap();
    let step = a.handshake.on_frame(NOW, &answer[0]).unwrap();
    b.feed(&step.send[0]).unwrap();
    let Next::Quote(report_data) = step.next else {
        panic!()
    };
    let State::QuoteFirst(mut channel) = std::mem::replace(&mut a.handshake.state, State::Over)
    else {
        panic!()
    };
    let copy = |hello: &Hello| Hello::parse(&hello.to_bytes()).unwrap();
    let (mut own, mut peer) = (copy(&a.handshake.own), copy(&channel.peer));
    let (mut side, mut hash) = (Side::Initiator, channel.hash);
    lie(&mut side, &mut hash, &mut own, &mut peer);
    let proof = Proof {
        side,
        channel: hash,
        own: &own,
        peer: &peer,
        cluster: channel.cluster,
    };
    let auth = proof.make(&liar.identity, liar.quote(report_data));
    let frame = channel.sealer.seal(&auth.to_bytes()).unwrap().remove(0);
    b.feed(&frame).unwrap_err()
}

// I3: each field of the signed tuple. Catches any of them left out of the transcript: the wrong
// value would then verify.
#[test]
fn i3_signature_covers_channel_keys_direction_and_challenge() {
    let lies: [(&str, Lie); 5] = [
        ("channel", |_, hash, _, _| {
            *hash = Digest::of(b"another channel")
        }),
        ("direction", |side, _, _, _| *side = Side::Responder),
        ("own key", |_, _, own, _| own.signing_key[0] ^= 1),
        ("peer key", |_, _, _, peer| peer.signing_key[0] ^= 1),
        ("challenge", |_, _, _, peer| peer.challenge[0] ^= 1),
    ];
    for (what, lie) in lies {
        let error = wrongly_signed(lie);
        assert!(
            matches!(error, SessionError::Signature { .. }),
            "{what}: {error}"
        );
    }
}

// I3: evidence made for an earlier challenge. Catches a challenge that is not in the binding.
#[test]
fn i3_old_evidence_is_not_fresh() {
    let (liar, victim) = (node(Role::KmsPeer, 1), node(Role::KmsPeer, 2));
    let quote_for = |victim_seed| {
        let (mut a, first) = End::dial(&liar, liar.setup(kms()), 1);
        let mut b = End::accept(&victim, victim.setup(kms_or_workload()), victim_seed);
        let answer = b.feed(&first).unwrap();
        let step = a.handshake.on_frame(NOW, &answer[0]).unwrap();
        let Next::Quote(data) = step.next else {
            panic!()
        };
        b.feed(&step.send[0]).unwrap();
        (a, b, liar.quote(data))
    };
    let (_, _, old) = quote_for(2);
    let (mut a, mut b, fresh) = quote_for(3);
    assert_ne!(old, fresh);
    let proof = a.handshake.on_quote(old).unwrap();
    let error = b.feed(&proof.send[0]).unwrap_err();
    assert!(
        matches!(error, SessionError::Appraisal(Refusal::ReportData { .. })),
        "{error}"
    );
}

// I3 role confusion: a worker that says it is a KMS node, in the strongest position: same
// measurement list, same configuration. Catches a role that is not in the report data.
#[test]
fn i3_workload_evidence_as_kms_peer() {
    let victim = node(Role::KmsPeer, 2);
    let kem_key = vec![0, 2, 1];
    let kms_config = config(Role::KmsPeer);
    let identity = Identity::new(&mut rng(1), Role::Worker, kem_key, kms_config).unwrap();
    let worker = Node {
        identity: Arc::new(identity),
        ..node(Role::KmsPeer, 1)
    };
    let (mut a, first) = End::dial(&worker, worker.setup(kms()), 1);
    a.handshake.own.role = Role::KmsPeer;
    a.handshake.own.deployment = Some(CLUSTER);
    let mut b = End::accept(&victim, victim.setup(kms_or_workload()), 2);
    let answer = b.feed(&first).unwrap();
    let step = a.handshake.on_frame(NOW, &answer[0]).unwrap();
    b.feed(&step.send[0]).unwrap();
    // The platform of a worker quotes only worker bindings.
    let State::QuoteFirst(channel) = &a.handshake.state else {
        panic!()
    };
    let mut binding = a.handshake.proof(channel).own_binding(&worker.identity);
    binding.role = Role::Worker;
    let evidence = worker.quote(binding.report_data().unwrap());
    let proof = a.handshake.on_quote(evidence).unwrap();
    let error = b.feed(&proof.send[0]).unwrap_err();
    assert!(
        matches!(error, SessionError::Appraisal(Refusal::ReportData { .. })),
        "{error}"
    );
}
