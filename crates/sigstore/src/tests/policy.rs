//! Policy proofs: both verifiers, and what happens when they do not agree.

use siegel_ident::json::JsonError;
use siegel_ident::{Digest, QuorumError, Seconds, Timestamp};
use siegel_translog::merkle::MerkleError;
use siegel_translog::testing::{TestLog, TestSigner, TestWitness};
use siegel_translog::{LogAnchors, LoggedEntry, ProofError, predicate};

use crate::policy::judged;
use crate::{BundleError, verify_policy_proof};

const ARTIFACT: &[u8] = b"{\"schema\":\"siegel/policy/v1\"}";
const NOW: Timestamp = Timestamp(1_700_000_000);

fn published() -> (String, LogAnchors, TestSigner) {
    let witnesses = vec![TestWitness::new(1), TestWitness::new(2)];
    let mut log = TestLog::new("log.example.test", [7; 32]).witnessed(witnesses, Seconds(600));
    log.set_time(NOW);
    let signer = TestSigner::generate().unwrap();
    log.append(vec![1; 40]);
    let bundle = log.publish(&signer, "policy/demo", ARTIFACT, predicate::POLICY);
    let bundle = String::from_utf8(bundle.unwrap()).unwrap();
    (bundle, log.anchors(), signer)
}

#[test]
fn i1_both_accept() {
    let (bundle, anchors, signer) = published();
    for key in [None, Some(&signer.key())] {
        let (bundle, kind) = (bundle.as_bytes(), predicate::POLICY);
        let entry = verify_policy_proof(bundle, ARTIFACT, kind, key, &anchors, NOW).unwrap();
        assert_eq!((entry.log_index, entry.tree_size), (1, 2));
        assert_eq!(entry.signer, signer.key());
    }
}

/// I1. What ours alone asks is refused in our own words, though the other accepts. Catches: an old
/// proof, or one of another kind, that is reported as a fault of a verifier.
#[test]
fn i1_what_only_ours_asks_is_an_ordinary_refusal() {
    let (bundle, anchors, signer) = published();
    let key = signer.key();
    let verify = |bundle: &str, kind, anchors: &LogAnchors, now| {
        verify_policy_proof(bundle.as_bytes(), ARTIFACT, kind, Some(&key), anchors, now)
    };
    let refused = |read: Result<LoggedEntry, BundleError>, words: &str| {
        let why = read.unwrap_err();
        assert_eq!(why.check(), "policy-proof", "{why}");
        assert!(why.to_string().contains(words), "{why}");
    };
    let (head, rest) = bundle.split_once("\"tlogEntries\":[").unwrap();
    let entry = rest.strip_suffix("]}}").unwrap();
    for (bent, words) in [
        (
            format!("{head}\"tlogEntries\":[{entry},{entry}]}}}}"),
            "expected exactly one",
        ),
        (
            bundle.replacen("\"hint\":\"", "\"hint\":\"AA", 1),
            "publicKey.hint",
        ),
        (bundle.replacen('{', "{ ", 1), "bundle"),
        (bundle.replacen('{', "{\"note\":1,", 1), "bundle"),
    ] {
        refused(verify(&bent, predicate::POLICY, &anchors, NOW), words);
    }
    refused(
        verify(&bundle, predicate::RECEIPT, &anchors, NOW),
        "predicateType",
    );
    let late = NOW.plus(Seconds(601));
    refused(
        verify(&bundle, predicate::POLICY, &anchors, late),
        "too old",
    );
    let mut more = anchors.clone();
    let third = TestWitness::new(3).named_key().clone();
    more.witnesses.witnesses.push(third);
    more.witnesses.required = 3;
    refused(
        verify(&bundle, predicate::POLICY, &more, NOW),
        "3 are required",
    );
}

/// I1. No single flipped bit is a disagreement: both refuse, or ours does by what it asks alone.
#[test]
fn i1_no_flipped_bit_is_a_disagreement() {
    let (bundle, anchors, signer) = published();
    let key = signer.key();
    for at in (0..bundle.len()).step_by(7) {
        let mut bent = bundle.clone().into_bytes();
        bent[at] ^= 1;
        let read = verify_policy_proof(
            &bent,
            ARTIFACT,
            predicate::POLICY,
            Some(&key),
            &anchors,
            NOW,
        );
        assert!(matches!(read, Err(BundleError::Proof(_))), "{at}: {read:?}");
    }
}

/// I1. One verdict for each pair. Catches: a check that both make and that is no disagreement, and ours
/// alone taken for one.
#[test]
fn i1_each_kind_of_refusal_against_each_opinion() {
    let text = String::new;
    let digest = Digest::of(b"");
    let of_both = || {
        vec![
            ProofError::Signature { hint: text() },
            ProofError::WrongSigner {
                expected: text(),
                found: text(),
            },
            ProofError::OtherBytes {
                stated: digest,
                artifact: digest,
            },
            ProofError::OtherEntry { at: 0 },
            ProofError::CheckpointSignature { origin: text() },
            ProofError::Merkle {
                what: "inclusion",
                source: MerkleError::Length { found: 0 },
            },
        ]
    };
    for why in of_both() {
        assert!(disagree(judged(Err::<(), _>(why), Ok(()), true)));
    }
    let of_ours = || {
        vec![
            ProofError::TooLong {
                what: "",
                len: 2,
                max: 1,
            },
            ProofError::Json {
                what: "",
                source: JsonError::NotCanonical { at: 0 },
            },
            ProofError::Field {
                at: "",
                expected: text(),
                found: text(),
            },
            ProofError::NotOne { at: "", found: 2 },
            ProofError::Key(""),
            ProofError::Pae(""),
            ProofError::CheckpointForm(""),
            ProofError::Cosignature {
                witness: text(),
                why: "",
            },
            ProofError::Witnesses {
                required: 1,
                found: 0,
                stale: 0,
                max_age: Seconds(1),
            },
            ProofError::Quorum(QuorumError::TooMany { count: 2, max: 1 }),
            ProofError::Anchors(""),
        ]
    };
    for why in of_ours() {
        assert!(!disagree(judged(Err::<(), _>(why), Ok(()), true)));
    }
    // A body that is spelled otherwise.
    let why = ProofError::OtherEntry { at: 0 };
    assert!(!disagree(judged(Err::<(), _>(why), Ok(()), false)));
    // Both refuse, for whatever reason.
    for why in of_both().into_iter().chain(of_ours()) {
        assert!(!disagree(judged(Err::<(), _>(why), Err(text()), true)));
    }
    // Ours accepts: the other's reason is its own.
    let read = judged(Ok(()), Err("too young".to_owned()), true).unwrap_err();
    let words = "ours accepts; sigstore-verify refuses (too young)";
    assert!(read.to_string().contains(words), "{read}");
    judged(Ok(()), Ok(()), true).unwrap();
}

fn disagree(read: Result<(), BundleError>) -> bool {
    matches!(read, Err(BundleError::Disagreement { .. }))
}

#[test]
fn i1_both_refuse() {
    let (bundle, anchors, _) = published();
    let kind = predicate::POLICY;
    let stranger = TestLog::new("log.example.test", [8; 32]).anchors();
    for (artifact, anchors) in [(&b"other"[..], &anchors), (ARTIFACT, &stranger)] {
        let read = verify_policy_proof(bundle.as_bytes(), artifact, kind, None, anchors, NOW);
        assert!(matches!(read, Err(BundleError::Proof(_))), "{read:?}");
    }
    let read = verify_policy_proof(b"{}", ARTIFACT, kind, None, &anchors, NOW);
    assert!(matches!(
        read,
        Err(BundleError::Proof(ProofError::Json { .. }))
    ));
}
