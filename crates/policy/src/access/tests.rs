//! The document as bytes: every field counts, and only one spelling parses.

use serde_json::{Value, json};
use siegel_ident::json::to_canonical;

use crate::testing::sample;
use crate::{AccessPolicy, PolicyError};

/// Paths of all values in a document, outer ones too.
fn paths(value: &Value, here: &str, out: &mut Vec<String>) {
    if !here.is_empty() {
        out.push(here.to_owned());
    }
    match value {
        Value::Object(map) => map
            .iter()
            .for_each(|(k, v)| paths(v, &format!("{here}/{k}"), out)),
        Value::Array(list) => {
            list.iter()
                .enumerate()
                .for_each(|(i, v)| paths(v, &format!("{here}/{i}"), out));
        }
        _ => {}
    }
}

fn document() -> Value {
    serde_json::from_slice(&sample().to_bytes().unwrap()).unwrap()
}

fn every_path() -> Vec<String> {
    let mut out = Vec::new();
    paths(&document(), "", &mut out);
    assert!(out.len() > 50, "{}", out.len());
    out
}

fn parse(value: &Value) -> Result<crate::Policy, PolicyError> {
    AccessPolicy::parse(&to_canonical(value).unwrap())
}

/// I3. An absent field is a refusal. Catches any `#[serde(default)]` and any `Option` that reads
/// absent as none.
#[test]
fn i3_every_field_removed_is_a_refusal() {
    for path in every_path() {
        let mut value = document();
        let (parent, key) = path.rsplit_once('/').unwrap();
        if let Some(Value::Object(map)) = value.pointer_mut(parent) {
            map.remove(key).unwrap();
            let error = parse(&value).expect_err(&path).to_string();
            assert!(
                error.contains("missing field") && error.contains(key),
                "{path}: {error}"
            );
        }
    }
}

/// I2. Whatever is changed gives another digest or no policy. Catches a field that is not hashed.
#[test]
fn i2_every_field_changed_is_a_refusal_or_another_digest() {
    let before = sample().compile().unwrap().digest();
    let mut parsed = 0;
    for path in every_path() {
        let original = document().pointer(&path).unwrap().clone();
        for other in others(&original) {
            let mut value = document();
            *value.pointer_mut(&path).unwrap() = other.clone();
            if let Ok(policy) = parse(&value) {
                assert_ne!(policy.digest(), before, "{path} = {other}");
                parsed += 1;
            }
        }
    }
    // Some changes are other good policies: the test does compare digests.
    assert!(parsed > 15, "{parsed}");
}

fn others(value: &Value) -> Vec<Value> {
    let mut out = vec![
        json!(null),
        json!(true),
        json!("x"),
        json!(-1),
        json!(1.5),
        json!([]),
        json!({}),
    ];
    match value {
        Value::Number(n) => {
            let n = n.as_u64().unwrap();
            out.extend([
                json!(n + 1),
                json!(n.saturating_sub(1)),
                json!(n.to_string()),
            ]);
        }
        Value::String(s) => {
            out.extend([
                json!(format!("{s}0")),
                json!(s.to_uppercase()),
                json!(format!(" {s}")),
            ]);
            out.push(json!(
                s.replace('0', "1").replace('3', "4").replace('e', "f")
            ));
        }
        Value::Null => out.push(json!("a".repeat(64))),
        _ => {}
    }
    out.retain(|other| other != value);
    out
}

/// I2. Unknown fields are refused at every level.
#[test]
fn i2_unknown_fields_are_refused() {
    let mut objects = 0;
    for path in every_path().into_iter().chain([String::new()]) {
        let mut value = document();
        if let Some(Value::Object(map)) = value.pointer_mut(&path) {
            map.insert("zzz".into(), json!(1));
            objects += 1;
            let error = parse(&value).expect_err(&path).to_string();
            assert!(error.contains("unknown field"), "{path}: {error}");
        }
    }
    assert!(objects >= 12, "{objects}");
}

/// I2. Bytes are kept as they came, named by their SHA-256, and have one spelling.
#[test]
fn i2_exact_bytes() {
    let policy = sample().compile().unwrap();
    assert_eq!(
        policy.digest(),
        siegel_ident::PolicyDigest::of(policy.bytes())
    );
    assert_eq!(AccessPolicy::parse(policy.bytes()).unwrap(), policy);
    let text = String::from_utf8(policy.bytes().to_vec()).unwrap();
    for respelled in [
        format!("{text}\n"),
        text.replacen(':', ": ", 1),
        text.replacen("\"words\"", "\"w\\u006frds\"", 1),
        text.replacen("\"rebuilders\":0", "\"rebuilders\":0,\"rebuilders\":0", 1),
        text.replacen("\"min_blobs\":100", "\"min_blobs\":1e2", 1),
    ] {
        assert_ne!(respelled, text);
        assert!(
            AccessPolicy::parse(respelled.as_bytes()).is_err(),
            "{respelled}"
        );
    }
}

/// I2. Golden: the digest of the sample. A change of format must be a change of `schema`.
#[test]
fn i2_golden_digest() {
    assert_eq!(sample().compile().unwrap().digest().to_string(), GOLDEN);
}

const GOLDEN: &str = "5dc02393bfe4806edbe167edcd21e0dd04cdd487b377d016dc6746e1d0e849ba";

proptest::proptest! {
    /// I14. Hostile bytes never panic; one flipped byte of a good policy is another one or none.
    #[test]
    fn i14_hostile_bytes(at in 0usize..2000, with in proptest::prelude::any::<u8>(), cut in 0usize..2000) {
        let good = sample().compile().unwrap();
        let mut bytes = good.bytes().to_vec();
        let at = at % bytes.len();
        if bytes[at] != with {
            bytes[at] = with;
            if let Ok(policy) = AccessPolicy::parse(&bytes) {
                assert_ne!(policy.digest(), good.digest());
            }
        }
        let cut = cut % bytes.len();
        assert!(AccessPolicy::parse(&good.bytes()[..cut]).is_err());
    }
}
