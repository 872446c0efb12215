//! Input that somebody has tampered with (I14).

use proptest::prelude::*;

use super::*;
use crate::EVIDENCE_MAX;

// I14: the sweep that real verifiers fail (unsigned headers, CBOR spellings, padding). Every
// value of every byte, every cut, every extra byte.
#[test]
fn i14_every_changed_byte_is_refused() {
    let bound = binding(Role::Worker);
    let good = evidence(Role::Worker);
    let verifier = Verifier::good();
    assert!(verifier.appraise(&good, &bound).is_ok());
    for at in 0..good.len() {
        let mut bytes = good.clone();
        for flip in 1..=255u8 {
            bytes[at] = good[at] ^ flip;
            assert!(
                verifier.appraise(&bytes, &bound).is_err(),
                "byte {at} ^ {flip:#04x}"
            );
        }
        assert!(
            verifier.appraise(&good[..at], &bound).is_err(),
            "cut at {at}"
        );
    }
}

#[test]
fn i14_trailing_oversize_and_unknown() {
    let bound = binding(Role::Worker);
    let good = evidence(Role::Worker);
    let refused = |bytes: &[u8]| Verifier::good().appraise(bytes, &bound).unwrap_err();

    let trailing = [&good[..], &[0]].concat();
    assert!(matches!(refused(&trailing), Refusal::Frame(_)));
    let inner = [&good[6..], &[0]].concat();
    assert!(matches!(
        refused(&frame(KIND_SIMULATED, &inner)),
        Refusal::Malformed { .. }
    ));
    assert!(matches!(
        refused(&vec![0; EVIDENCE_MAX + 1]),
        Refusal::TooLong { .. }
    ));
    // Relabelled as hardware (checklist 40), and from a later version.
    for kind in [0x00, 0x05, 0xF1] {
        assert_eq!(
            refused(&frame(kind, &good[6..])),
            Refusal::UnknownKind { kind }
        );
    }
    for kind in 0x01..=0x04 {
        let refusal = refused(&frame(kind, &good[6..]));
        assert!(matches!(refusal, Refusal::Frame(_)), "{refusal}");
    }
    let mut later = good.clone();
    later[0] = 2;
    assert_eq!(refused(&later), Refusal::UnknownVersion { version: 2 });
}

// Catches an acceptance of CBOR that says the same in other bytes: here an unprotected header is
// added, which no signature covers.
#[test]
fn i14_unsigned_additions_are_refused() {
    let bound = binding(Role::Worker);
    let good = evidence(Role::Worker);
    let mut signed = CoseSign1::from_slice(&good[6..]).unwrap();
    signed.unprotected = HeaderBuilder::new().key_id(b"x".to_vec()).build();
    let body = signed.to_vec().unwrap();
    let result = Verifier::good().appraise(&frame(KIND_SIMULATED, &body), &bound);
    assert!(
        matches!(result, Err(Refusal::Malformed { .. })),
        "{result:?}"
    );
}

proptest! {
    #[test]
    fn i14_hostile_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let bound = binding(Role::Worker);
        prop_assert!(Verifier::good().appraise(&bytes, &bound).is_err());
        prop_assert!(Verifier::good().appraise(&frame(KIND_SIMULATED, &bytes), &bound).is_err());
    }
}
