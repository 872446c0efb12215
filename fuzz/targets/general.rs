//! General bundles: the same reading twice, no panic, and what verifies is in the tree.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use siegel_fuzz::{ARTIFACT, NOW, anchors};
use siegel_sigstore::{
    Artifact, Bundle, Content, Signer, TrustedRoot, second_opinion, trusted_root, verify_strict,
};
use siegel_translog::{HashedRekord, Verifier};

static ROOT: LazyLock<String> = LazyLock::new(|| trusted_root(&anchors()));
static PARSED: LazyLock<TrustedRoot> =
    LazyLock::new(|| TrustedRoot::parse(&ROOT).expect("it is ours"));

fuzz_target!(|data: &[u8]| {
    let Ok(bundle) = Bundle::parse(data) else {
        return;
    };
    assert!(matches!(
        bundle.content,
        Content::Message { .. } | Content::Envelope { .. }
    ));
    let artifact = Artifact::Bytes(ARTIFACT);
    let identity = Signer::Certificate {
        identity: "somebody",
        issuer: "https://example.test",
    };
    let read = verify_strict(data, &artifact, &identity, &PARSED, NOW);
    assert!(
        read.is_err(),
        "no certificate authority is trusted, so no time is"
    );
    let Ok(record) = HashedRekord::parse(&bundle.entry.body) else {
        return;
    };
    let Verifier::Key(key) = record.verifier else {
        return;
    };
    let signer = Signer::Key(&key);
    if let Ok(verified) = verify_strict(data, &artifact, &signer, &PARSED, NOW) {
        assert!(
            verified
                .tree_size
                .is_some_and(|size| verified.log_index < size)
        );
        // Both must accept; that this one does is not for us to promise.
        let _ = second_opinion(data, &artifact, &signer, &ROOT);
    }
});
