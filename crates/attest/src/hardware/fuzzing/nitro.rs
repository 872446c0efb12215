//! Attestation documents of Nitro Enclaves.

use ciborium::Value;

use super::neighbours;
use crate::hardware::nitro::{self, Document};
use crate::hardware::x509::Certificate;
use crate::hardware::{Kind, TrustRoots, open};

/// A signed document, or the payload of one. Its chain is verified at the time that the document says, under the root
/// that it brings: what a verifier would do who pins it.
pub fn nitro(bytes: &[u8]) -> bool {
    let signed = nitro::parse(bytes);
    if let Ok(signed) = &signed {
        for other in neighbours(bytes) {
            assert!(nitro::parse(&other).is_err(), "a byte more or less");
        }
        assert_eq!(open(bytes).map(|opened| opened.kind), Some(Kind::AwsNitro));
        let payload = signed.payload.as_deref().map_or(0, <[u8]>::len);
        assert!(payload + signed.signature.len() < bytes.len());
    }
    let payload = match &signed {
        Ok(signed) => signed.payload.as_deref().unwrap_or_default(),
        Err(_) => bytes,
    };
    let Ok(document) = Document::parse(payload) else {
        return false;
    };
    check(&document, payload.len());
    chain(&document, bytes);
    true
}

fn check(document: &Document, len: usize) {
    let optional = [&document.public_key, &document.user_data, &document.nonce];
    let held = document.module_id.len()
        + document.pcrs.len() * 48
        + document.certificate.len()
        + document.cabundle.iter().map(Vec::len).sum::<usize>()
        + optional
            .iter()
            .map(|one| one.as_deref().map_or(0, <[u8]>::len))
            .sum::<usize>();
    assert!(held < len, "{held} of {len}");
    assert!((1..=128).contains(&document.module_id.len()));
    assert!(document.pcrs.keys().all(|index| *index < 32));
    let zero = |index| document.pcrs.get(&index).is_none_or(|pcr| pcr.is_zero());
    assert_eq!(document.is_debug(), (0..3).any(zero));
    let mut written = Vec::new();
    assert!(ciborium::into_writer(&write(document), &mut written).is_ok());
    assert_eq!(Document::parse(&written).as_ref(), Ok(document));
    assert!(Document::parse(&[&written[..], &[0]].concat()).is_err());
}

/// The fields as one map.
pub(super) fn write(document: &Document) -> Value {
    let bytes = |bytes: &[u8]| Value::Bytes(bytes.to_vec());
    let optional = |one: &Option<Vec<u8>>| one.as_deref().map_or(Value::Null, bytes);
    let pcrs = document.pcrs.iter();
    let pcrs = pcrs.map(|(index, pcr)| (Value::from(*index), bytes(&pcr.0)));
    let fields = [
        ("digest", Value::from("SHA384")),
        ("module_id", document.module_id.as_str().into()),
        ("timestamp", document.timestamp_ms.into()),
        ("pcrs", Value::Map(pcrs.collect())),
        ("certificate", bytes(&document.certificate)),
        (
            "cabundle",
            Value::Array(document.cabundle.iter().map(|one| bytes(one)).collect()),
        ),
        ("public_key", optional(&document.public_key)),
        ("user_data", optional(&document.user_data)),
        ("nonce", optional(&document.nonce)),
    ];
    Value::Map(
        fields
            .into_iter()
            .map(|(name, value)| (name.into(), value))
            .collect(),
    )
}

fn chain(document: &Document, bytes: &[u8]) {
    let (now, mut roots) = (document.made_at(), TrustRoots::vendors());
    if let Some(root) = document.cabundle.first() {
        let pin = ring::digest::digest(&ring::digest::SHA256, root);
        roots.aws_nitro = pin.as_ref().try_into().ok();
    }
    if let Ok(leaf) = Certificate::parse(&document.certificate) {
        let until = nitro::verify_chain(&leaf, &document.cabundle, &roots, now);
        let in_time = nitro::check_time(document, &leaf, now).is_ok();
        assert_eq!(in_time, leaf.window().contains(now));
        if let Ok(until) = until {
            assert!(in_time && now <= until && until <= leaf.window().until);
        }
    }
    // No pin, no document (I1).
    roots.aws_nitro = None;
    assert!(nitro::verify(bytes, &roots, now).is_err());
}
