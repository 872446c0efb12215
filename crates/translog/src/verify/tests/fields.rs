//! A good policy proof, bent at every place by a machine: every byte of every decoded field, members
//! dropped, made null, doubled, and fields of another good proof in their place. The set of what is
//! still accepted must be empty.

use serde_json::{Value, json};
use siegel_ident::json::to_canonical;

use super::{ARTIFACT, Logged, NOW};
use crate::encoding::{b64, from_b64, from_decimal};
use crate::testing::TestSigner;
use crate::{predicate, verify_logged};

impl Logged {
    fn json(&self) -> Value {
        serde_json::from_slice(&self.bundle).unwrap()
    }

    /// Whether it verifies, with the signer pinned or not.
    fn accepts(&self, bundle: &[u8]) -> bool {
        let open = verify_logged(
            bundle,
            ARTIFACT,
            predicate::POLICY,
            None,
            &self.anchors,
            NOW,
        );
        self.verify(bundle).is_ok() || open.is_ok()
    }

    fn accepts_json(&self, bundle: &Value) -> bool {
        self.accepts(&to_canonical(bundle).unwrap())
    }
}

/// Every place below a JSON value, as JSON pointers; the document itself is none.
fn places(value: &Value) -> Vec<String> {
    let below = |name: &str, value: &Value| {
        let mut all = vec![format!("/{name}")];
        all.extend(places(value).iter().map(|at| format!("/{name}{at}")));
        all
    };
    match value {
        Value::Object(members) => members
            .iter()
            .flat_map(|(name, v)| below(name, v))
            .collect(),
        Value::Array(items) => {
            let items = items.iter().enumerate();
            items.flat_map(|(i, v)| below(&i.to_string(), v)).collect()
        }
        _ => Vec::new(),
    }
}

fn leaves(value: &Value) -> Vec<String> {
    let all = places(value).into_iter();
    all.filter(|at| value.pointer(at).unwrap().is_string())
        .collect()
}

/// Every byte with a bit flipped, one byte fewer at either end, one byte more.
fn bent_bytes(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut all = vec![[bytes, &[0]].concat()];
    for i in 0..bytes.len() {
        let mut flipped = bytes.to_vec();
        flipped[i] ^= 1 << (i % 8);
        all.push(flipped);
    }
    if let [_, rest @ ..] = bytes {
        all.extend([rest.to_vec(), bytes[..bytes.len() - 1].to_vec()]);
    }
    all
}

/// Every bent form of a text: of the text itself, and of whatever it encodes, as deep as that goes:
/// numbers, base64, JSON inside base64, the base64 words of a signed note.
fn bent(text: &str) -> Vec<String> {
    let own = bent_bytes(text.as_bytes()).into_iter();
    let mut all: Vec<String> = own
        .filter_map(|bytes| String::from_utf8(bytes).ok())
        .collect();
    if let Some(number) = from_decimal(text) {
        let others = [
            0,
            number.wrapping_sub(1),
            number + 1,
            number | 1 << 32,
            u64::MAX,
        ];
        all.extend(others.map(|other| other.to_string()));
    } else if let Some(bytes) = from_b64(text).filter(|bytes| bytes.len() > 3) {
        all.extend(bent_bytes(&bytes).iter().map(|bytes| b64(bytes)));
        if let Ok(inner) = serde_json::from_slice::<Value>(&bytes) {
            for at in leaves(&inner) {
                for text in bent(inner.pointer(&at).unwrap().as_str().unwrap()) {
                    let mut inner = inner.clone();
                    *inner.pointer_mut(&at).unwrap() = json!(text);
                    all.push(b64(&to_canonical(&inner).unwrap()));
                }
            }
        }
    } else if text.contains('\n') {
        for word in text.split(['\n', ' ']).filter(|word| word.len() >= 44) {
            all.extend(bent(word).iter().map(|other| text.replacen(word, other, 1)));
        }
    }
    all.retain(|other| other != text);
    all
}

/// I1, I2, I14. Catches any field that is read and not checked, at any depth.
#[test]
fn i2_every_byte_of_every_decoded_field() {
    let good = Logged::new();
    let bundle = good.json();
    let (mut tried, mut accepted) = (0, Vec::new());
    for at in leaves(&bundle) {
        for text in bent(bundle.pointer(&at).unwrap().as_str().unwrap()) {
            let mut bundle = bundle.clone();
            *bundle.pointer_mut(&at).unwrap() = json!(text);
            tried += 1;
            if good.accepts_json(&bundle) {
                accepted.push(format!("{at}: {text}"));
            }
        }
    }
    assert!(accepted.is_empty(), "{accepted:#?}");
    assert!(
        tried > 3_000,
        "only {tried} bent forms: does the test still reach every field?"
    );
}

/// I2. Every member dropped, made null or empty, or written twice; every item dropped or doubled.
#[test]
fn i2_dropped_and_doubled() {
    let good = Logged::new();
    let (bundle, text) = (good.json(), String::from_utf8(good.bundle.clone()).unwrap());
    let mut accepted = Vec::new();
    for at in places(&bundle) {
        let (parent, name) = at.rsplit_once('/').unwrap();
        let value = bundle.pointer(&at).unwrap();
        let mut dropped = bundle.clone();
        match dropped.pointer_mut(parent).unwrap() {
            Value::Object(members) => drop(members.remove(name)),
            Value::Array(items) => drop(items.remove(name.parse().unwrap())),
            _ => unreachable!(),
        }
        let mut bents = vec![to_canonical(&dropped).unwrap()];
        for other in [Value::Null, json!(""), json!([]), json!({})] {
            let mut bundle = bundle.clone();
            *bundle.pointer_mut(&at).unwrap() = other;
            bents.push(to_canonical(&bundle).unwrap());
        }
        let written = String::from_utf8(to_canonical(value).unwrap()).unwrap();
        let once = match name.parse::<usize>() {
            Ok(_) => written,
            Err(_) => format!("\"{name}\":{written}"),
        };
        let doubled = text.replacen(&once, &format!("{once},{once}"), 1);
        assert_ne!(doubled, text, "{at}");
        bents.push(doubled.into_bytes());
        if bents.iter().any(|bent| good.accepts(bent)) {
            accepted.push(at);
        }
    }
    assert!(accepted.is_empty(), "{accepted:#?}");
}

/// I1, I2. Any choice of the fields in which two good proofs differ, put into the other: only none of
/// them, or all of them, is a good proof.
#[test]
fn i2_swapped_with_another_good_proof() {
    let mut good = Logged::new();
    let first = good.json();
    let (own, kind) = (&good.signer, predicate::POLICY);
    let again = good
        .log
        .publish(own, "policy/demo", ARTIFACT, kind)
        .unwrap();
    let stranger = TestSigner::generate().unwrap();
    let of_other = good
        .log
        .publish(&stranger, "policy/demo", b"{}", kind)
        .unwrap();
    for (what, second, whole) in [("again", again, true), ("of another", of_other, false)] {
        let second: Value = serde_json::from_slice(&second).unwrap();
        let differs = |at: &String| first.pointer(at) != second.pointer(at);
        let hashes = "/verificationMaterial/tlogEntries/0/inclusionProof/hashes";
        let mut fields: Vec<String> = leaves(&first).into_iter().filter(differs).collect();
        // As one field: they may be more or fewer.
        fields.retain(|at| !at.starts_with(hashes));
        fields.push(hashes.to_owned());
        assert!((7..=12).contains(&fields.len()), "{what}: {fields:?}");
        for choice in 1u32..1 << fields.len() {
            let mut bundle = first.clone();
            for (i, at) in fields.iter().enumerate() {
                if choice >> i & 1 == 1 {
                    *bundle.pointer_mut(at).unwrap() = second.pointer(at).unwrap().clone();
                }
            }
            let all = choice == (1 << fields.len()) - 1;
            assert_eq!(
                good.accepts_json(&bundle),
                all && whole,
                "{what}: {choice:b}"
            );
        }
    }
}

/// I1. With one witness of two required, the line of the other is pinned all the same: bent it is
/// refused; under another name it is nobody's, and then one is still enough. With two of two it is not.
#[test]
fn i1_bent_and_renamed_lines_of_pinned_witnesses() {
    let both = Logged::new();
    let mut one = Logged::new();
    one.anchors.witnesses.required = 1;
    for (required, good) in [(2, both), (1, one)] {
        let bundle = good.json();
        let at = "/verificationMaterial/tlogEntries/0/inclusionProof/checkpoint/envelope";
        let note = bundle.pointer(at).unwrap().as_str().unwrap();
        let accepts = |note: String| {
            let mut bundle = bundle.clone();
            *bundle.pointer_mut(at).unwrap() = json!(note);
            good.accepts_json(&bundle)
        };
        assert!(accepts(note.to_owned()));
        let lines: Vec<&str> = note.lines().filter(|line| line.contains("— w")).collect();
        assert_eq!(lines.len(), 2);
        for line in lines {
            let (head, value) = line.rsplit_once(' ').unwrap();
            let bytes = from_b64(value).unwrap();
            for i in 0..bytes.len() {
                let mut bent = bytes.clone();
                bent[i] ^= 1;
                let bent = note.replacen(value, &b64(&bent), 1);
                // In the key id it is the line of another key of that name.
                let skipped = i < 4 && required == 1;
                assert_eq!(accepts(bent), skipped, "{required}, byte {i}");
            }
            let renamed = note.replacen(head, &format!("{head}x"), 1);
            assert_eq!(accepts(renamed), required == 1, "{required}");
            let dropped = note.replacen(&format!("{line}\n"), "", 1);
            assert_eq!(accepts(dropped), required == 1, "{required}");
            let twice = note.replacen(line, &format!("{line}\n{line}"), 1);
            assert!(!accepts(twice), "{required}");
        }
    }
}
