//! What must not verify: every mutation of a good bundle, and what other verifiers let through.

mod mutations;
mod second_opinion;
mod vectors;

use crate::testing::{TestLog, TestSigner};
use crate::{LogAnchors, LoggedEntry, ProofError, SpkiKey, predicate, verify_logged};

const ARTIFACT: &[u8] = b"{\"schema\":\"siegel/policy/v1\"}";
const ORIGIN: &str = "log.example.test";

/// A log of seven entries whose entry 3 is ours.
struct Logged {
    log: TestLog,
    signer: TestSigner,
    bundle: Vec<u8>,
    anchors: LogAnchors,
}

impl Logged {
    fn new() -> Self {
        let mut log = TestLog::new(ORIGIN, [7; 32]);
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
        let read = verify_logged(&good.bundle, &other, predicate::POLICY, None, &good.anchors);
        assert!(
            matches!(read, Err(ProofError::OtherBytes { .. })),
            "byte {at}"
        );
    }
    for other in [&ARTIFACT[1..], &[ARTIFACT, b" "].concat(), b""] {
        let read = verify_logged(&good.bundle, other, predicate::POLICY, None, &good.anchors);
        assert!(matches!(read, Err(ProofError::OtherBytes { .. })));
    }
}

/// I1. Catches: anchors taken from the bundle; a receipt shown as a policy.
#[test]
fn i1_another_log_another_signer_another_kind_is_refused() {
    let good = Logged::new();
    let verify = |kind, signer: Option<&SpkiKey>, anchors: &LogAnchors| {
        verify_logged(&good.bundle, ARTIFACT, kind, signer, anchors)
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

/// I1. Catches: witnesses that are asked for and silently skipped.
#[test]
fn i1_asked_for_witnesses_are_never_skipped() {
    let good = Logged::new();
    let anchors = LogAnchors {
        witnesses: 2,
        ..good.anchors.clone()
    };
    let read = verify_logged(&good.bundle, ARTIFACT, predicate::POLICY, None, &anchors);
    assert!(matches!(read, Err(ProofError::Witnesses { asked: 2 })));
}
