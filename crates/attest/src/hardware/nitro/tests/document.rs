//! Payload and frame, written by hand: what the parser takes and what it refuses.

use ciborium::Value;
use coset::{CborSerializable as _, HeaderBuilder, TaggedCborSerializable as _};

use super::*;

fn fields() -> Vec<(Value, Value)> {
    let pcr = |index: u8| (Value::from(index), Value::Bytes(vec![1; 48]));
    let map = [
        ("module_id", Value::from("i-1-enc2")),
        ("digest", "SHA384".into()),
        ("timestamp", 1.into()),
        ("pcrs", Value::Map(vec![pcr(0), pcr(31)])),
        ("certificate", Value::Bytes(vec![1])),
        ("cabundle", Value::Array(vec![Value::Bytes(vec![2])])),
        ("public_key", Value::Null),
        ("user_data", Value::Bytes(vec![3; 512])),
        ("nonce", Value::Bytes(Vec::new())),
    ];
    map.into_iter()
        .map(|(key, value)| (key.into(), value))
        .collect()
}

fn payload(fields: Vec<(Value, Value)>) -> Vec<u8> {
    let mut out = Vec::new();
    ciborium::into_writer(&Value::Map(fields), &mut out).unwrap();
    out
}

fn parsed(name: &str, value: Value) -> Result<Document, Check> {
    let mut fields = fields();
    let field = fields
        .iter_mut()
        .find(|(key, _)| key.as_text() == Some(name))
        .unwrap();
    field.1 = value;
    Document::parse(&payload(fields)).map_err(|e| e.check)
}

#[test]
fn the_payload_has_its_fields_once_and_no_others() {
    let good = Document::parse(&payload(fields())).unwrap();
    assert_eq!((good.public_key, good.nonce), (None, Some(Vec::new())));
    for at in 0..fields().len() {
        let (mut without, mut twice) = (fields(), fields());
        let (name, _) = without.remove(at);
        twice.push(twice[at].clone());
        // The three that an enclave may give may be absent.
        let optional = at >= 6;
        assert_eq!(
            Document::parse(&payload(without)).is_ok(),
            optional,
            "{name:?}"
        );
        assert!(Document::parse(&payload(twice)).is_err(), "{name:?} twice");
    }
    let mut more = fields();
    more.push(("more".into(), Value::Null));
    assert!(Document::parse(&payload(more)).is_err());
    let mut number = fields();
    number.push((1.into(), Value::Null));
    assert!(Document::parse(&payload(number)).is_err());
}

#[test]
fn every_field_is_of_its_type_and_size() {
    let pcrs = |index: Value, len: usize| Value::Map(vec![(index, Value::Bytes(vec![0; len]))]);
    let zero = || (Value::from(0), Value::Bytes(vec![0; 48]));
    for (name, value) in [
        ("module_id", Value::from("")),
        ("module_id", "x".repeat(129).into()),
        ("module_id", 1.into()),
        ("digest", "SHA256".into()),
        ("timestamp", (-1).into()),
        ("timestamp", "1".into()),
        ("pcrs", pcrs(32.into(), 48)),
        ("pcrs", pcrs((-1).into(), 48)),
        ("pcrs", pcrs("0".into(), 48)),
        ("pcrs", pcrs(0.into(), 32)),
        ("pcrs", pcrs(0.into(), 64)),
        ("pcrs", Value::Map(vec![zero(), zero()])),
        ("pcrs", Value::Array(Vec::new())),
        ("certificate", Value::Null),
        ("cabundle", Value::Array(vec![Value::Null])),
        ("cabundle", Value::Bytes(vec![2])),
        ("public_key", Value::Bytes(vec![0; 1025])),
        ("public_key", "x".into()),
        ("user_data", Value::Bytes(vec![0; 513])),
        ("nonce", Value::Bytes(vec![0; 513])),
        ("nonce", Value::Array(Vec::new())),
    ] {
        assert_eq!(
            parsed(name, value.clone()),
            Err(Check::NitroFormat),
            "{name} {value:?}"
        );
    }
    // Without registers it is a debug enclave for all we know.
    assert!(parsed("pcrs", Value::Map(Vec::new())).unwrap().is_debug());
}

/// I14: lengths that lie, nesting without end, bytes that follow.
#[test]
fn hostile_payloads_are_refused() {
    let mut followed = payload(fields());
    followed.push(0);
    for bad in [
        Vec::new(),
        followed,
        vec![0x9f; 30_000],
        vec![0x81; 30_000],
        vec![0xc1; 30_000],
        vec![0xbb, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
        vec![0x5b, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1],
        vec![0x9b, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1],
    ] {
        assert_eq!(Document::parse(&bad).unwrap_err().check, Check::NitroFormat);
        assert_eq!(parse(&bad).unwrap_err().check, Check::NitroFormat);
    }
}

/// Tagged or not, the frame has one encoding, one header, and a payload.
#[test]
fn the_frame_has_one_encoding() {
    let es384 = || {
        HeaderBuilder::new()
            .algorithm(iana::Algorithm::ES384)
            .build()
    };
    let build = |protected, unprotected| {
        coset::CoseSign1Builder::new()
            .protected(protected)
            .unprotected(unprotected)
            .payload(payload(fields()))
            .signature(vec![0; 96])
            .build()
    };
    let none = coset::Header::default;
    let good = build(es384(), none());
    let bytes = good.clone().to_vec().unwrap();
    assert!(parse(&bytes).is_ok() && parse(&good.clone().to_tagged_vec().unwrap()).is_ok());
    let key_id = HeaderBuilder::new().key_id(vec![1]).build();
    let es256 = HeaderBuilder::new()
        .algorithm(iana::Algorithm::ES256)
        .build();
    let both = HeaderBuilder::new()
        .algorithm(iana::Algorithm::ES384)
        .key_id(vec![1])
        .build();
    for bad in [
        build(es384(), key_id),
        build(es384(), es384()),
        build(none(), es384()),
        build(none(), none()),
        build(es256, none()),
        build(both, none()),
    ] {
        assert!(parse(&bad.to_vec().unwrap()).is_err());
    }
    // The array's length in two bytes, an open array, another tag, the tag twice, a byte that follows.
    let long = [&[0x98, 0x04], &bytes[1..]].concat();
    let open = [&[0x9f], &bytes[1..], &[0xff]].concat();
    let other_tag = [&[0xd1], bytes.as_slice()].concat();
    let twice = [&[0xd2, 0xd2], bytes.as_slice()].concat();
    let long_tag = [&[0xd8, 0x12], bytes.as_slice()].concat();
    let followed = [bytes.as_slice(), &[0]].concat();
    for (at, bad) in [long, open, other_tag, twice, long_tag, followed]
        .iter()
        .enumerate()
    {
        assert!(parse(bad).is_err(), "{at}");
    }
    // No payload: what is signed would stand elsewhere.
    let detached = coset::CoseSign1Builder::new()
        .protected(es384())
        .signature(vec![0; 96])
        .build();
    let found = verify(
        &detached.to_vec().unwrap(),
        &TrustRoots::vendors(),
        Timestamp(MADE),
    );
    assert_eq!(found.unwrap_err().check, Check::NitroFormat);
}
