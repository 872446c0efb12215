//! Policy proofs, by both verifiers. What parses is written again to the same bytes; what one of them
//! accepts ours has not refused for nothing: ours never accepts what `sigstore-verify` refuses.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use siegel_fuzz::{ARTIFACT, NOW, anchors};
use siegel_sigstore::{BundleError, verify_policy_proof};
use siegel_translog::{Bundle, LogAnchors, predicate};

static ANCHORS: LazyLock<LogAnchors> = LazyLock::new(anchors);

fuzz_target!(|data: &[u8]| {
    if let Ok(bundle) = Bundle::parse(data) {
        assert_eq!(bundle.to_json().expect("it was read"), data);
    }
    if let Ok(bundle) = Bundle::parse_any_spelling(data) {
        let canonical = bundle.to_json().expect("it was read");
        assert_eq!(Bundle::parse(&canonical).expect("one spelling"), bundle);
    }
    match verify_policy_proof(data, ARTIFACT, predicate::POLICY, None, &ANCHORS, NOW) {
        Ok(entry) => assert!(entry.log_index < entry.tree_size),
        Err(BundleError::Disagreement { ours, .. }) => assert_ne!(ours, "accepts"),
        Err(_) => (),
    }
});
