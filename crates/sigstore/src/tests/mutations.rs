//! Good bundles, bent at every place: every byte of every field, members dropped, items doubled.

use serde_json::{Value, json};

use super::sample::{Sample, World, samples};
use crate::encoding::{b64, from_b64};

/// Every place in a JSON document, as JSON pointers.
fn places(value: &Value, at: &str, out: &mut Vec<String>) {
    out.push(at.to_owned());
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                places(member, &format!("{at}/{name}"), out);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                places(item, &format!("{at}/{index}"), out);
            }
        }
        _ => (),
    }
}

/// Every bent form of the text at one place: a flipped bit in each byte of what it encodes, or in
/// each character.
fn bent(text: &str, at: &str) -> Vec<String> {
    if let Ok(number) = text.parse::<u64>() {
        return vec![
            (number + 1).to_string(),
            (number - 1).to_string(),
            format!("0{number}"),
        ];
    }
    let flipped = |bytes: &[u8], i: usize| {
        let mut bytes = bytes.to_vec();
        bytes[i] ^= 1;
        bytes
    };
    let plain = [
        "/mediaType",
        "/payloadType",
        "/kind",
        "/version",
        "/algorithm",
        "/envelope",
    ];
    if let Some(bytes) = from_b64(text).filter(|_| !plain.iter().any(|end| at.ends_with(end))) {
        let all = (0..bytes.len()).map(|i| b64(&flipped(&bytes, i)));
        return all
            .chain([b64(&bytes[1..]), b64(&[&bytes[..], &[0]].concat())])
            .collect();
    }
    let all = (0..text.len()).filter_map(|i| String::from_utf8(flipped(text.as_bytes(), i)).ok());
    all.collect()
}

fn accepted(what: &str, sample: &Sample, bundle: &Value, out: &mut Vec<String>) {
    if sample.verify_bytes(bundle.to_string().as_bytes()).is_ok() {
        out.push(what.to_owned());
    }
}

/// I1, I2, I14. Catches any field that is read and not checked. What may be bent without effect is
/// listed, and is nothing that says anything.
#[test]
fn every_byte_of_every_field() {
    for (what, sample) in samples(&World::new()) {
        let mut found = Vec::new();
        let mut all = Vec::new();
        places(&sample.bundle, "", &mut all);
        for at in all {
            let Some(text) = sample.bundle.pointer(&at).unwrap().as_str() else {
                continue;
            };
            for text in bent(text, &at) {
                let mut bundle = sample.bundle.clone();
                *bundle.pointer_mut(&at).unwrap() = json!(text);
                accepted(&at, &sample, &bundle, &mut found);
            }
        }
        assert!(
            found.iter().all(|at| at.ends_with("/hint")),
            "{what}: {found:?}"
        );
        // A hint of another length is no digest, so it is any text: those two forms alone.
        assert_eq!(found.len(), 2, "{what}: {found:?}");
    }
}

/// I2. Members dropped, made null, doubled; items dropped, doubled; and members of another good bundle
/// in their place.
#[test]
fn dropped_doubled_swapped() {
    let world = World::new();
    let others = samples(&world);
    for ((what, sample), (_, other)) in samples(&world).into_iter().zip(&others) {
        let mut found = Vec::new();
        let mut all = Vec::new();
        places(&sample.bundle, "", &mut all);
        for at in all.iter().filter(|at| !at.is_empty()) {
            let (parent, name) = at.rsplit_once('/').unwrap();
            let value = sample.bundle.pointer(at).unwrap();
            let mut dropped = sample.bundle.clone();
            match dropped.pointer_mut(parent).unwrap() {
                Value::Object(members) => drop(members.remove(name)),
                Value::Array(items) => drop(items.remove(name.parse().unwrap())),
                _ => unreachable!(),
            }
            accepted(&format!("{at} dropped"), &sample, &dropped, &mut found);

            let mut null = sample.bundle.clone();
            *null.pointer_mut(at).unwrap() = Value::Null;
            accepted(&format!("{at} null"), &sample, &null, &mut found);

            let member = format!("\"{name}\":{value}");
            let text = sample.bundle.to_string();
            let doubled = match name.parse::<usize>() {
                Ok(_) => text.replacen(&value.to_string(), &format!("{value},{value}"), 1),
                Err(_) => text.replacen(&member, &format!("{member},{member}"), 1),
            };
            assert_ne!(doubled, text, "{at}");
            if sample.verify_bytes(doubled.as_bytes()).is_ok() {
                found.push(format!("{at} doubled"));
            }

            let mut swapped = sample.bundle.clone();
            let theirs = other.bundle.pointer(at).unwrap();
            *swapped.pointer_mut(at).unwrap() = theirs.clone();
            if swapped != sample.bundle {
                accepted(&format!("{at} swapped"), &sample, &swapped, &mut found);
            }
        }
        let says_nothing = |at: &String| {
            [
                "/messageSignature/messageDigest dropped",
                "/messageSignature/messageDigest null",
                "/verificationMaterial/publicKey/hint dropped",
            ]
            .contains(&at.as_str())
        };
        found.retain(|at| !says_nothing(at));
        assert!(found.is_empty(), "{what}: {found:?}");
    }
}

/// I14. Every truncation; and never a panic.
#[test]
fn every_truncation_is_refused() {
    for (what, sample) in samples(&World::new()) {
        let bytes = sample.bundle.to_string().into_bytes();
        for len in 0..bytes.len() {
            assert!(sample.verify_bytes(&bytes[..len]).is_err(), "{what}: {len}");
        }
    }
}
