//! What must not verify: every mutation of a good bundle, and what other verifiers let through.

mod fields;
mod mutations;
mod vectors;

use siegel_ident::{Seconds, Timestamp};

use crate::testing::{TestLog, TestSigner, TestWitness};
use crate::{LogAnchors, LoggedEntry, ProofError, SpkiKey, predicate, verify_logged};

const ARTIFACT: &[u8] = b"{\"schema\":\"siegel/policy/v1\"}";
const ORIGIN: &str = "log.example.test";
const NOW: Timestamp = Timestamp(1_700_000_000);

/// A log of seven entries whose entry 3 is ours.
struct Logged {
    log: TestLog,
    signer: TestSigner,
    bundle: Vec<u8>,
    anchors: LogAnchors,
}

impl Logged {
    fn new() -> Self {
        let witnesses = vec![TestWitness::new(1), TestWitness::new(2)];
        let mut log = TestLog::new(ORIGIN, [7; 32]).witnessed(witnesses, Seconds(600));
        log.set_time(NOW);
        let signer = TestSigner::generate().unwrap();
        for i in 0..6u8 {
            log.append(vec![i; 40]);
        }
        let bundle = log
            .publish(&signer, "policy/demo", ARTIFACT, predicate::POLICY)
            .unwrap();
        let anchors = log.anchors();
        Self {
            log,
            signer,
            bundle,
            anchors,
        }
    }

    fn key(&self) -> SpkiKey {
        self.signer.key()
    }

    fn verify(&self, bundle: &[u8]) -> Result<LoggedEntry, ProofError> {
        verify_logged(
            bundle,
            ARTIFACT,
            predicate::POLICY,
            Some(&self.key()),
            &self.anchors,
            NOW,
        )
    }
}

#[test]
fn a_logged_policy_verifies_with_and_without_a_pinned_signer() {
    let good = Logged::new();
    let pinned = good.verify(&good.bundle).unwrap();
    assert_eq!((pinned.log_index, pinned.tree_size), (6, 7));
    assert_eq!(pinned.signer, good.key());
    assert_eq!(pinned.artifact, siegel_ident::Digest::of(ARTIFACT));
    let open = verify_logged(
        &good.bundle,
        ARTIFACT,
        predicate::POLICY,
        None,
        &good.anchors,
        NOW,
    )
    .unwrap();
    assert_eq!(open, pinned);
}

/// I1, I2. Catches: a subject digest that is not compared with the artifact.
#[test]
fn i2_one_changed_byte_of_the_artifact_is_refused() {
    let good = Logged::new();
    for at in 0..ARTIFACT.len() {
        let mut other = ARTIFACT.to_vec();
        other[at] ^= 1;
        let read = verify_logged(
            &good.bundle,
            &other,
            predicate::POLICY,
            None,
            &good.anchors,
            NOW,
        );
        assert!(
            matches!(read, Err(ProofError::OtherBytes { .. })),
            "byte {at}"
        );
    }
    for other in [&ARTIFACT[1..], &[ARTIFACT, b" "].concat(), b""] {
        let read = verify_logged(
            &good.bundle,
            other,
            predicate::POLICY,
            None,
            &good.anchors,
            NOW,
        );
        assert!(matches!(read, Err(ProofError::OtherBytes { .. })));
    }
}

/// I1. Catches: anchors taken from the bundle; a receipt shown as a policy.
#[test]
fn i1_another_log_another_signer_another_kind_is_refused() {
    let good = Logged::new();
    let verify = |kind, signer: Option<&SpkiKey>, anchors: &LogAnchors| {
        verify_logged(&good.bundle, ARTIFACT, kind, signer, anchors, NOW)
    };
    let other_key = TestLog::new(ORIGIN, [8; 32]).anchors();
    assert!(matches!(
        verify(predicate::POLICY, None, &other_key),
        Err(ProofError::Field { .. })
    ));
    let other_name = LogAnchors {
        origin: "log.example.tes7".into(),
        ..good.anchors.clone()
    };
    assert!(matches!(
        verify(predicate::POLICY, None, &other_name),
        Err(ProofError::Field { .. })
    ));
    let stranger = TestSigner::generate().unwrap().key();
    assert!(matches!(
        verify(predicate::POLICY, Some(&stranger), &good.anchors),
        Err(ProofError::WrongSigner { .. })
    ));
    assert!(matches!(
        verify(predicate::RECEIPT, None, &good.anchors),
        Err(ProofError::Field {
            at: "statement.predicateType",
            ..
        })
    ));
}

/// I1. Catches: witnesses that are asked for and silently skipped, or believed for ever.
#[test]
fn i1_asked_for_witnesses_are_never_skipped() {
    let good = Logged::new();
    assert_eq!(good.verify(&good.bundle).unwrap().witnessed_at, Some(NOW));
    let verify = |anchors: &LogAnchors, now| {
        verify_logged(
            &good.bundle,
            ARTIFACT,
            predicate::POLICY,
            None,
            anchors,
            now,
        )
    };
    let late = verify(&good.anchors, NOW.plus(Seconds(601)));
    assert!(matches!(late, Err(ProofError::Witnesses { stale: 2, .. })));
    verify(&good.anchors.aged(Seconds(1)), NOW.plus(Seconds(601))).unwrap();
    // Patience has an end, and anchors stay enforceable however often they are asked for more.
    let patient = good.anchors.aged(Seconds(u64::MAX)).aged(Seconds(u64::MAX));
    verify(&patient, NOW.plus(Seconds(601))).unwrap();
    let mut other = good.anchors.clone();
    other.witnesses.witnesses = vec![
        TestWitness::new(3).named_key().clone(),
        TestWitness::new(4).named_key().clone(),
    ];
    assert!(matches!(
        verify(&other, NOW),
        Err(ProofError::Witnesses {
            required: 2,
            found: 0,
            stale: 0,
            ..
        })
    ));
    let mut more = good.anchors.clone();
    more.witnesses.required = 3;
    assert!(matches!(verify(&more, NOW), Err(ProofError::Quorum(_))));
    let mut own = good.anchors.clone();
    own.witnesses.witnesses[0].key = own.key;
    assert!(matches!(verify(&own, NOW), Err(ProofError::Anchors(_))));
    let unwitnessed = LogAnchors::unwitnessed(ORIGIN, good.anchors.key);
    assert_eq!(verify(&unwitnessed, NOW).unwrap().witnessed_at, None);
}
