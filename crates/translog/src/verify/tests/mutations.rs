//! One bundle, bent in every way that we could think of.

use super::{ARTIFACT, Logged, NOW, ORIGIN};
use crate::dsse::Envelope;
use crate::testing::{TestLog, TestSigner};
use crate::{
    Bundle, HashedRekord, InclusionProof, LogAnchors, ProofError, Statement, Verifier, predicate,
    verify_logged,
};

type Bend = fn(&mut Bundle);

/// Every field of the bundle, and the rows of the table of what other verifiers accept.
#[test]
fn i1_every_bent_field_is_refused() {
    let good = Logged::new();
    let bends: [(&str, Bend); 14] = [
        ("hint", |b| {
            b.hint = "xt0aRp948415ntnQCU9uVYgSewU1kB4BNKkBuisrpis=".into()
        }),
        ("empty hint", |b| b.hint.clear()),
        ("payload", |b| b.envelope.payload.push(b' ')),
        ("signature", |b| b.envelope.signature[9] ^= 1),
        ("logIndex", |b| b.entry.log_index = 5),
        ("proof.logIndex", |b| b.entry.proof.log_index = 5),
        ("both indices", |b| {
            b.entry.log_index = 5;
            b.entry.proof.log_index = 5;
        }),
        ("index = size", |b| {
            b.entry.log_index = 7;
            b.entry.proof.log_index = 7;
        }),
        ("logId", |b| b.entry.log_id = siegel_ident::Digest::of(b"")),
        ("treeSize", |b| b.entry.proof.tree_size = 8),
        ("rootHash", |b| {
            b.entry.proof.root_hash = siegel_ident::Digest::of(b"")
        }),
        ("hash", |b| {
            b.entry.proof.hashes[0] = siegel_ident::Digest::of(b"")
        }),
        ("missing hash", |b| b.entry.proof.hashes.truncate(1)),
        ("extra hash", |b| {
            b.entry.proof.hashes.push(siegel_ident::Digest::of(b""))
        }),
    ];
    for (what, bend) in bends {
        let mut bundle = Bundle::parse(&good.bundle).unwrap();
        bend(&mut bundle);
        let bytes = bundle.to_json().unwrap();
        assert_ne!(bytes, good.bundle, "{what}");
        assert!(good.verify(&bytes).is_err(), "{what}");
    }
}

/// The table: origin line differs and name kept; both differ; the name alone differs. Re-signed by
/// the real log key, so that only the comparison of names can catch it.
#[test]
fn i1_a_checkpoint_of_another_origin_is_refused_though_the_key_is_right() {
    let good = Logged::new();
    let bundle = Bundle::parse(&good.bundle).unwrap();
    let old = &bundle.entry.proof;
    // The same key runs a second log with the same leaves under another name.
    let mut twin = TestLog::new("other.example.test", [7; 32]);
    for i in 0..6u8 {
        twin.append(vec![i; 40]);
    }
    let twin_entry = twin.append(bundle.entry.canonicalized_body.clone());
    assert_eq!(twin_entry.proof.root_hash, old.root_hash);
    let foreign = twin_entry.proof.checkpoint();
    for note in [
        foreign.to_owned(),
        foreign.replace("\u{2014} other.example.test", &format!("\u{2014} {ORIGIN}")),
        foreign.replacen("other.example.test\n", &format!("{ORIGIN}\n"), 1),
    ] {
        let mut bent = bundle.clone();
        bent.entry.proof =
            InclusionProof::new(6, old.tree_size, old.root_hash, old.hashes.clone(), note);
        assert!(good.verify(&bent.to_json().unwrap()).is_err());
    }
}

/// The table: a second log entry; also no entry, a second signature, unknown fields, timestamps.
#[test]
fn i2_counts_and_unknown_fields() {
    let good = Logged::new();
    let text = String::from_utf8(good.bundle.clone()).unwrap();
    let (head, rest) = text.split_once("\"tlogEntries\":[").unwrap();
    let entry = rest.strip_suffix("]}}").unwrap();
    let with = |entries: &str| format!("{head}\"tlogEntries\":[{entries}]}}}}");
    assert_eq!(with(entry), text);
    let sig = text
        .split_once("\"signatures\":[")
        .unwrap()
        .1
        .split_once(']')
        .unwrap()
        .0
        .to_owned();
    for (what, bad) in [
        ("two entries", with(&format!("{entry},{entry}"))),
        ("no entry", with("")),
        (
            "two signatures",
            text.replacen(&sig, &format!("{sig},{sig}"), 1),
        ),
        ("no signature", text.replacen(&sig, "", 1)),
        (
            "unknown field",
            text.replacen("{\"dsse", "{\"a\":0,\"dsse", 1),
        ),
        (
            "promise",
            text.replacen(
                "\"inclusionProof\"",
                "\"inclusionPromise\":null,\"inclusionProof\"",
                1,
            ),
        ),
        (
            "v0.2",
            text.replacen("bundle.v0.3+json", "bundle.v0.2+json", 1),
        ),
        (
            "kind",
            text.replacen("\"kind\":\"hashedrekord\"", "\"kind\":\"dsse\"", 1),
        ),
        (
            "version",
            text.replacen("\"version\":\"0.0.2\"", "\"version\":\"0.0.1\"", 1),
        ),
        ("space", text.replacen(':', ": ", 1)),
        ("newline", format!("{text}\n")),
        (
            "long",
            format!("{text}{}", " ".repeat(crate::bundle::MAX_BUNDLE)),
        ),
        (
            "number",
            text.replacen("\"logIndex\":\"6\"", "\"logIndex\":6", 1),
        ),
        (
            "zeros",
            text.replacen("\"logIndex\":\"6\"", "\"logIndex\":\"06\"", 1),
        ),
    ] {
        assert_ne!(bad, text, "{what}");
        assert!(good.verify(bad.as_bytes()).is_err(), "{what}");
    }
}

/// I2, I14. Every single-bit flip of every byte is refused: no flip is equivalent, because the
/// bundle has one spelling and each of its values is compared or verified.
#[test]
fn i2_every_flipped_bit_of_the_bundle_is_refused() {
    let good = Logged::new();
    for at in 0..good.bundle.len() {
        for bit in 0..8 {
            let mut bytes = good.bundle.clone();
            bytes[at] ^= 1 << bit;
            assert!(good.verify(&bytes).is_err(), "byte {at} bit {bit}");
            let open = verify_logged(
                &bytes,
                ARTIFACT,
                predicate::POLICY,
                None,
                &good.anchors,
                NOW,
            );
            assert!(open.is_err(), "byte {at} bit {bit}, no pinned signer");
        }
    }
}

#[test]
fn i14_every_truncation_is_refused() {
    let good = Logged::new();
    for len in 0..good.bundle.len() {
        assert!(good.verify(&good.bundle[..len]).is_err(), "{len} bytes");
    }
}

/// Catches: an entry of ours that was logged for another statement, signature or key.
#[test]
fn i2_the_entry_must_be_the_one_of_this_envelope() {
    let mut good = Logged::new();
    let signer = TestSigner::generate().unwrap();
    let payload = Statement::about("policy/demo", ARTIFACT, predicate::POLICY)
        .to_bytes()
        .unwrap();
    // ECDSA is randomised: the same statement signed twice is two entries.
    let (first, second) = (
        signer.sign(payload.clone()).unwrap(),
        signer.sign(payload).unwrap(),
    );
    assert_ne!(first, second);
    let logged = Bundle::parse(&good.log.log(&first, &signer.key()).unwrap()).unwrap();
    let verify = |bundle: &Bundle, anchors: &LogAnchors| {
        let bytes = bundle.to_json().unwrap();
        verify_logged(&bytes, ARTIFACT, predicate::POLICY, None, anchors, NOW)
    };
    assert!(verify(&logged, &good.anchors).is_ok());
    let swapped = Bundle {
        envelope: second,
        ..logged.clone()
    };
    assert!(matches!(
        verify(&swapped, &good.anchors),
        Err(ProofError::OtherEntry { .. })
    ));

    // A body of another form, really in the log and really signed for.
    let record = HashedRekord::of(&first, &signer.key());
    let mut body = record.canonical_body();
    body.push(b'\n');
    let entry = good.log.append(body);
    let padded = Bundle { entry, ..logged };
    assert!(matches!(
        verify(&padded, &good.anchors),
        Err(ProofError::OtherEntry { .. })
    ));
}

/// I1. Catches: a policy proof whose entry names a certificate, though all else is right.
#[test]
fn i1_an_entry_with_a_certificate_proves_no_policy() {
    let mut good = Logged::new();
    let signer = TestSigner::generate().unwrap();
    let payload = Statement::about("policy/demo", ARTIFACT, predicate::POLICY)
        .to_bytes()
        .unwrap();
    let envelope = signer.sign(payload).unwrap();
    let verifier = Verifier::Certificate(signer.key().spki_der());
    let record = HashedRekord::of_verifier(&envelope, verifier);
    let entry = good.log.append(record.canonical_body());
    let bundle = Bundle::new(envelope, &signer.key(), entry)
        .to_json()
        .unwrap();
    for pinned in [None, Some(&signer.key())] {
        let read = verify_logged(
            &bundle,
            ARTIFACT,
            predicate::POLICY,
            pinned,
            &good.anchors,
            NOW,
        );
        assert!(matches!(read, Err(ProofError::Key(_))), "{read:?}");
    }
}

/// Catches: a signature of one key with an entry that names another.
#[test]
fn i1_the_signature_must_be_of_the_key_in_the_entry() {
    let mut good = Logged::new();
    let (owner, thief) = (
        TestSigner::generate().unwrap(),
        TestSigner::generate().unwrap(),
    );
    let payload = Statement::about("policy/demo", ARTIFACT, predicate::POLICY)
        .to_bytes()
        .unwrap();
    let envelope = owner.sign(payload).unwrap();
    let bundle = good.log.log(&envelope, &thief.key()).unwrap();
    let read = verify_logged(
        &bundle,
        ARTIFACT,
        predicate::POLICY,
        None,
        &good.anchors,
        NOW,
    );
    assert!(matches!(read, Err(ProofError::Signature { .. })));
}

/// I1: signed, but never logged: proof and checkpoint of a log that the signer made up.
#[test]
fn i1_a_private_log_is_refused() {
    let good = Logged::new();
    let mut own = TestLog::new(ORIGIN, [9; 32]);
    let bundle = own
        .publish(&good.signer, "policy/demo", ARTIFACT, predicate::POLICY)
        .unwrap();
    assert!(good.verify(&bundle).is_err());
    // Its log id replaced by the pinned one: the checkpoint still is not the pinned log's.
    let mut bent = Bundle::parse(&bundle).unwrap();
    bent.entry.log_id = good.anchors.log_id();
    let read = good.verify(&bent.to_json().unwrap());
    assert!(matches!(read, Err(ProofError::CheckpointSignature { .. })));
}

#[test]
fn i2_a_payload_that_is_no_statement_is_refused() {
    let mut good = Logged::new();
    let signer = TestSigner::generate().unwrap();
    let payload = Statement::about("policy/demo", ARTIFACT, predicate::POLICY)
        .to_bytes()
        .unwrap();
    let text = String::from_utf8(payload).unwrap();
    for bad in [
        text.replacen("\"predicate\":{}", "\"predicate\":{\"epsilon\":9}", 1),
        text.replacen("Statement/v1", "Statement/v0.1", 1),
        format!("{text} "),
        ARTIFACT.escape_ascii().to_string(),
    ] {
        let envelope: Envelope = signer.sign(bad.into_bytes()).unwrap();
        let bundle = good.log.log(&envelope, &signer.key()).unwrap();
        let read = verify_logged(
            &bundle,
            ARTIFACT,
            predicate::POLICY,
            None,
            &good.anchors,
            NOW,
        );
        assert!(read.is_err());
    }
}
