//! Bundles of other people's logs, by path (SIEGEL_VECTORS); absent = a printed skip.
#![allow(clippy::disallowed_methods)] // a test reads files

use std::path::{Path, PathBuf};

use serde_json::Value;
use siegel_ident::{Digest, json};

use super::NOW;
use crate::encoding::from_b64;
use crate::merkle::{leaf_hash, verify_inclusion};
use crate::{Bundle, Checkpoint, HashedRekord, LogAnchors, verify_logged};

fn vectors() -> Option<PathBuf> {
    let root = std::env::var("SIEGEL_VECTORS").map_or_else(
        |_| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/vectors"),
        PathBuf::from,
    );
    let dir = root.join("sigstore");
    if dir.is_dir() {
        return Some(dir);
    }
    println!("skipped: no {} (set SIEGEL_VECTORS)", dir.display());
    None
}

fn read(path: PathBuf) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn bytes(value: &Value) -> Vec<u8> {
    from_b64(value.as_str().unwrap()).unwrap()
}

fn digest(value: &Value) -> Digest {
    Digest::try_from_slice(&bytes(value)).unwrap()
}

fn number(value: &Value) -> u64 {
    value.as_str().unwrap().parse().unwrap()
}

/// The sample has the shape that we want, with two things that Siegel does not take: a timestamp
/// (nothing here verifies one yet) and a predicate that repeats the policy (I2).
#[test]
fn the_sample_bundle_verifies_as_far_as_the_format_allows() {
    let Some(dir) = vectors() else { return };
    let mut sample = read(dir.join("SAMPLE_bundle.json"));
    let spelled = serde_json::to_vec(&sample).unwrap();
    assert!(
        Bundle::parse_any_spelling(&spelled).is_err(),
        "a timestamp nobody verifies"
    );

    let material = sample["verificationMaterial"].as_object_mut().unwrap();
    material.remove("timestampVerificationData").unwrap();
    let spelled = serde_json::to_vec(&sample).unwrap();
    let bundle = Bundle::parse_any_spelling(&spelled).unwrap();

    let root = read(dir.join("SAMPLE_trusted_root.json"));
    let log = &root["tlogs"][0];
    let spki = bytes(&log["publicKey"]["rawBytes"]);
    let key: [u8; 32] = spki[spki.len() - 32..].try_into().unwrap();
    let anchors = LogAnchors::unwitnessed("policy-log.example.test", key);
    assert_eq!(anchors.log_id(), digest(&log["logId"]["keyId"]));

    let record = HashedRekord::parse(&bundle.entry.canonicalized_body).unwrap();
    let key = *record.verifier.key().unwrap();
    assert_eq!(record, HashedRekord::of(&bundle.envelope, &key));
    assert_eq!(bundle.hint, key.hint());
    bundle.envelope.verify(&key).unwrap();
    let inclusion = super::super::verify_inclusion_in(&bundle, &record.leaf(), &anchors, NOW);
    let (checkpoint, _) = inclusion.unwrap();
    assert_eq!((bundle.entry.log_index, checkpoint.size), (3, 7));

    let statement: Value = serde_json::from_slice(&bundle.envelope.payload).unwrap();
    let artifact = json::to_canonical(&statement["predicate"]["policy"]).unwrap();
    let kind = statement["predicateType"].as_str().unwrap();
    let strict = verify_logged(
        &bundle.to_json().unwrap(),
        &artifact,
        kind,
        None,
        &anchors,
        NOW,
    )
    .unwrap_err();
    assert!(strict.to_string().contains("in-toto statement"), "{strict}");
}

/// Inclusion proofs of real logs hold, and those of the folders that bend them do not.
#[test]
fn inclusion_proofs_of_real_logs() {
    let Some(dir) = vectors() else { return };
    let mut held = 0;
    for folder in std::fs::read_dir(&dir).unwrap() {
        let folder = folder.unwrap().path();
        let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
        if !folder.is_dir() {
            continue;
        }
        let bundle = read(folder.join("bundle.sigstore.json"));
        let holds = proof_holds(&bundle["verificationMaterial"]["tlogEntries"][0]);
        let bends_the_proof = [
            "invalid-inclusion-proof_fail",
            "inclusion-proof-corrupted-hash_fail",
            "checkpoint-wrong-roothash_fail",
            "rekor2-no-inclusion-proof_fail",
            "rekor2-checkpoint-missing-origin_fail",
        ];
        assert_eq!(holds, !bends_the_proof.contains(&name.as_str()), "{name}");
        held += u32::from(holds);
        // None of them is a Siegel bundle: certificates, timestamps, other entry versions.
        let spelled = serde_json::to_vec(&bundle).unwrap();
        assert!(Bundle::parse_any_spelling(&spelled).is_err(), "{name}");
    }
    assert!(held >= 8, "only {held} proofs held");
}

fn proof_holds(entry: &Value) -> bool {
    let proof = &entry["inclusionProof"];
    let Some(hashes) = proof["hashes"].as_array() else {
        return false;
    };
    let note = proof["checkpoint"]["envelope"].as_str();
    let Some((text, _)) = note.and_then(|note| note.split_once("\n\n")) else {
        return false;
    };
    // A v1 note has an origin with spaces ("host - tree id") and may have a line more; only v2
    // notes parse as they stand.
    let lines: Vec<&str> = text.lines().collect();
    let [origin, size, root, ..] = lines[..] else {
        return false;
    };
    if !origin.contains(' ') && Checkpoint::parse_text(&format!("{text}\n")).is_err() {
        return false;
    }
    let hashes: Vec<Digest> = hashes.iter().map(digest).collect();
    let leaf = leaf_hash(&bytes(&entry["canonicalizedBody"]));
    let (index, tree_size) = (number(&proof["logIndex"]), number(&proof["treeSize"]));
    let top = digest(&proof["rootHash"]);
    size == tree_size.to_string()
        && root == proof["rootHash"].as_str().unwrap()
        && verify_inclusion(&leaf, index, tree_size, &hashes, &top).is_ok()
}
