//! Policy proofs: both verifiers, and what happens when they do not agree.

use siegel_ident::{Seconds, Timestamp};
use siegel_translog::testing::{TestLog, TestSigner, TestWitness};
use siegel_translog::{LogAnchors, ProofError, predicate};

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

/// I1. What one of them lets through is refused, and said to be a disagreement. If one of these starts
/// to fail, upstream became stricter: good news, shorten the list.
#[test]
fn i1_a_disagreement_is_reported_as_such() {
    let (bundle, anchors, signer) = published();
    let key = signer.key();
    let verify = |bundle: &str, kind| {
        verify_policy_proof(bundle.as_bytes(), ARTIFACT, kind, Some(&key), &anchors, NOW)
    };
    let (head, rest) = bundle.split_once("\"tlogEntries\":[").unwrap();
    let entry = rest.strip_suffix("]}}").unwrap();
    for bent in [
        format!("{head}\"tlogEntries\":[{entry},{entry}]}}}}"),
        bundle.replacen("\"hint\":\"", "\"hint\":\"AA", 1),
        bundle.replacen('{', "{ ", 1),
        bundle.replacen('{', "{\"note\":1,", 1),
    ] {
        let refused = verify(&bent, predicate::POLICY).unwrap_err();
        assert_eq!(refused.check(), "verifiers-disagree");
        let text = refused.to_string();
        let both = text.contains("ours refuses") && text.contains("sigstore-verify accepts");
        assert!(both, "{text}");
    }
    // Nor does the other know predicate types.
    let refused = verify(&bundle, predicate::RECEIPT).unwrap_err();
    assert_eq!(refused.check(), "verifiers-disagree");
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
