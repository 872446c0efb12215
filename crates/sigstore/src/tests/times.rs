//! Times: inside validities, not in the future, and the tokens that say them.

use serde_json::{Value, json};
use siegel_ident::Timestamp;

use super::sample::{INTEGRATED, NOW, World, samples};
use super::vectors::{Case, vectors};
use crate::encoding::{b64, from_b64};
use crate::token::Token;
use crate::{Artifact, Kind, Signer, TrustedRoot, verify_strict};

/// The log's key is valid up to and including the time of integration.
#[test]
fn i1_the_log_key_must_have_been_valid() {
    let world = World::new();
    let kind = Kind::HashedRekord001;
    let mut sample = world.bundle(kind, false);
    assert_eq!(sample.verify().unwrap().times, [Timestamp(INTEGRATED)]);
    let body = from_b64(sample.entry()["canonicalizedBody"].as_str().unwrap()).unwrap();
    for time in [INTEGRATED + 1, 1_672_531_199] {
        let promise = world.promise(&body, time, 1004);
        let entry = sample.entry();
        entry["integratedTime"] = json!(time.to_string());
        entry["inclusionPromise"] = json!({ "signedEntryTimestamp": b64(&promise) });
        assert_eq!(sample.refused(), "time", "{time}");
    }
}

/// A time in the future is no time, though the log promises it; nor is a log that starts later.
#[test]
fn i1_nothing_is_from_the_future() {
    for (what, sample) in samples(&World::new()) {
        let root = TrustedRoot::parse(&sample.root).unwrap();
        let (artifact, signer) = (
            Artifact::Bytes(super::sample::ARTIFACT),
            Signer::Key(&sample.key),
        );
        let bundle = sample.bundle.to_string();
        let at = |now| verify_strict(bundle.as_bytes(), &artifact, &signer, &root, Timestamp(now));
        assert!(at(INTEGRATED).is_ok(), "{what}");
        let early = at(INTEGRATED - 1);
        assert_eq!(
            early.is_ok(),
            what.contains("002,") && what.contains("Hashed"),
            "{what}"
        );
        assert_eq!(at(1_672_531_199).unwrap_err().check(), "time", "{what}");
        assert!(at(NOW.0 * 2).is_ok(), "{what}");
    }
}

/// Both ends of the certificate's validity count; a second beyond them does not.
#[test]
fn i1_the_certificate_must_have_been_valid() {
    let world = World::new();
    for kind in [Kind::HashedRekord001, Kind::Dsse001] {
        for (validity, good) in [
            ((INTEGRATED, INTEGRATED), true),
            ((INTEGRATED - 10, INTEGRATED + 10), true),
            ((INTEGRATED + 1, INTEGRATED + 10), false),
            ((INTEGRATED - 10, INTEGRATED - 1), false),
        ] {
            let sample = world.certified(kind, validity);
            match good {
                true => assert_eq!(sample.verify().unwrap().times, [Timestamp(INTEGRATED)]),
                false => assert_eq!(sample.refused(), "time", "{validity:?}"),
            }
        }
    }
}

/// A certificate without a time that somebody vouches for: Rekor v2 has none of its own.
#[test]
fn i1_a_certificate_needs_a_time() {
    let world = World::new();
    let validity = (INTEGRATED - 10, INTEGRATED + 10);
    let sample = world.certified(Kind::HashedRekord002, validity);
    assert_eq!(sample.refused(), "no-time");
}

/// A bundle of a real log with a real token, under trusted roots that differ in one thing.
#[test]
fn i1_the_token_against_the_trusted_root() {
    let Some(dir) = vectors() else { return };
    let mut case = Case::read(&dir.join("rekor2-happy-path"));
    let good: Value = serde_json::from_str(&case.root).unwrap();
    let artifact = case.artifact.clone();
    let mut check = |bundle: Option<&Value>, root: &Value| {
        case.root = root.to_string();
        if let Some(bundle) = bundle {
            case.bundle = bundle.to_string().into_bytes();
        }
        let read = case.verify(&Artifact::Bytes(&artifact));
        read.map_or_else(|why| why.check(), |_| "verified")
    };
    assert_eq!(check(None, &good), "verified");
    // The token is of 2025-06-12T12:02:20Z.
    for (at, start, end, verdict) in [
        (
            "/tlogs/1/publicKey/validFor",
            "2025-06-12T12:02:20Z",
            "2025-06-12T12:02:20Z",
            "verified",
        ),
        (
            "/tlogs/1/publicKey/validFor",
            "2025-06-12T12:02:20.1Z",
            "2026-01-01T00:00:00Z",
            "time",
        ),
        (
            "/tlogs/1/publicKey/validFor",
            "2025-01-01T00:00:00Z",
            "2025-06-12T12:02:19Z",
            "time",
        ),
        (
            "/timestampAuthorities/0/validFor",
            "2025-06-12T12:02:20Z",
            "2025-06-12T12:02:20Z",
            "verified",
        ),
        (
            "/timestampAuthorities/0/validFor",
            "2025-06-12T12:02:21Z",
            "2026-01-01T00:00:00Z",
            "time",
        ),
        (
            "/timestampAuthorities/0/validFor",
            "2025-01-01T00:00:00Z",
            "2025-06-12T12:02:19Z",
            "time",
        ),
    ] {
        let mut root = good.clone();
        *root.pointer_mut(at).unwrap() = json!({ "start": start, "end": end });
        assert_eq!(check(None, &root), verdict, "{at} {start} {end}");
    }
    // Another authority; none; the token's certificate is not of this one.
    let mut root = good.clone();
    let chain = root
        .pointer_mut("/timestampAuthorities/0/certChain/certificates")
        .unwrap();
    chain.as_array_mut().unwrap().reverse();
    assert_eq!(check(None, &root), "time");
    let mut root = good.clone();
    root["timestampAuthorities"] = json!([]);
    assert_eq!(check(None, &root), "time");
    // A log twice; a log whose id is not that of its name; a root of something else.
    let mut root = good.clone();
    let twice = root["tlogs"][1].clone();
    root["tlogs"].as_array_mut().unwrap().push(twice);
    assert_eq!(check(None, &root), "trusted-root");
    let mut root = good.clone();
    root["tlogs"][1]["baseUrl"] = json!("https://other.example.test");
    assert_eq!(check(None, &root), "trusted-root");
    let mut root = good.clone();
    root["mediaType"] = json!("application/json");
    assert_eq!(check(None, &root), "trusted-root");

    let bundle = case_bundle(&dir);
    let tokens = "/verificationMaterial/timestampVerificationData/rfc3161Timestamps";
    let token = bundle.pointer(tokens).unwrap()[0].clone();
    let mut twice = bundle.clone();
    *twice.pointer_mut(tokens).unwrap() = json!([token, token]);
    assert_eq!(check(Some(&twice), &good), "timestamp-token");
    let mut none = bundle.clone();
    *none.pointer_mut(tokens).unwrap() = json!([]);
    assert_eq!(check(Some(&none), &good), "no-time");
}

fn case_bundle(dir: &std::path::Path) -> Value {
    serde_json::from_slice(&Case::read(&dir.join("rekor2-happy-path")).bundle).unwrap()
}

/// A real token, bent at each byte. What `sigstore-verify` does not look at (versions, stated hashes,
/// the certificates that come with it, the name of the signature's algorithm) ours does; one bit is
/// left: "granted" may become "granted with modifications".
#[test]
fn i14_every_byte_of_a_token() {
    let Some(dir) = vectors() else { return };
    let mut case = Case::read(&dir.join("rekor2-happy-path"));
    let good: Value = serde_json::from_slice(&case.bundle).unwrap();
    let at = "/verificationMaterial/timestampVerificationData/rfc3161Timestamps/0/signedTimestamp";
    let token = from_b64(good.pointer(at).unwrap().as_str().unwrap()).unwrap();
    let parsed = Token::parse(&token).unwrap();
    let artifact = case.artifact.clone();
    let mut accepted = Vec::new();
    for i in 0..token.len() {
        let mut bent = token.clone();
        bent[i] ^= 1;
        let mut bundle = good.clone();
        *bundle.pointer_mut(at).unwrap() = json!(b64(&bent));
        case.bundle = bundle.to_string().into_bytes();
        if let Ok(verified) = case.verify(&Artifact::Bytes(&artifact)) {
            assert_eq!(verified.times, [parsed.time], "byte {i}");
            accepted.push(i);
        }
    }
    assert_eq!(accepted, [8]);
    for len in 0..token.len() {
        assert!(Token::parse(&token[..len]).is_err(), "{len}");
    }
}
