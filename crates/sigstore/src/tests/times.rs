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

/// A real token, bent at each byte. Ours alone reads form, imprint and time; with the second opinion
/// nothing that is signed can be bent. What can be is listed by `unsigned`.
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
    println!("{} of {} bytes: {accepted:?}", accepted.len(), token.len());
    for len in 0..token.len() {
        assert!(Token::parse(&token[..len]).is_err(), "{len}");
    }
}
