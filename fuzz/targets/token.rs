//! Timestamp tokens and certificates (DER) inside a bundle that is good otherwise: no panic, and none
//! is taken, since no authority is trusted.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};
use siegel_fuzz::{ARTIFACT, NOW, anchors, base64, log};
use siegel_sigstore::{Artifact, Signer, TrustedRoot, second_opinion, trusted_root, verify_strict};
use siegel_translog::testing::TestSigner;
use siegel_translog::{SpkiKey, predicate};

struct Good {
    bundle: Value,
    key: SpkiKey,
    root: String,
    parsed: TrustedRoot,
}

static GOOD: LazyLock<Good> = LazyLock::new(|| {
    let signer = TestSigner::generate().expect("randomness");
    let bundle = log().publish(&signer, "policy/demo", ARTIFACT, predicate::POLICY);
    let bundle = serde_json::from_slice(&bundle.expect("a bundle")).expect("JSON");
    let root = trusted_root(&anchors());
    let parsed = TrustedRoot::parse(&root).expect("it is ours");
    Good {
        bundle,
        key: signer.key(),
        root,
        parsed,
    }
});

fuzz_target!(|data: &[u8]| {
    let der = base64(data);
    let artifact = Artifact::Bytes(ARTIFACT);
    let mut bundle = GOOD.bundle.clone();
    let material = &mut bundle["verificationMaterial"];
    material["timestampVerificationData"] =
        json!({ "rfc3161Timestamps": [{ "signedTimestamp": der }] });
    let (text, key) = (bundle.to_string(), Signer::Key(&GOOD.key));
    assert!(verify_strict(text.as_bytes(), &artifact, &key, &GOOD.parsed, NOW).is_err());
    assert!(second_opinion(text.as_bytes(), &artifact, &key, &GOOD.root).is_err());

    let mut bundle = GOOD.bundle.clone();
    let material = &mut bundle["verificationMaterial"];
    material
        .as_object_mut()
        .expect("an object")
        .remove("publicKey");
    material["certificate"] = json!({ "rawBytes": der });
    let text = bundle.to_string();
    let identity = Signer::Certificate {
        identity: "somebody",
        issuer: "https://example.test",
    };
    assert!(verify_strict(text.as_bytes(), &artifact, &identity, &GOOD.parsed, NOW).is_err());
});
