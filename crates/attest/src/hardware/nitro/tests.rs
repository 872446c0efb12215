//! A real document.

use siegel_ident::Timestamp;

use super::*;
use crate::hardware::vectors::{folder, read};

const FROM: u64 = 1_766_668_509;

/// The file holds dstack's wrapper.
fn document() -> Vec<u8> {
    let file = read("nitro/attestation.cbor");
    let opened = crate::hardware::open(&file).unwrap();
    assert_eq!(
        (opened.kind, opened.around),
        (crate::hardware::Kind::AwsNitro, 155)
    );
    opened.body.to_vec()
}

#[test]
fn the_real_document_verifies_inside_its_window_only() {
    if folder().is_none() {
        return;
    }
    let body = document();
    let roots = TrustRoots::vendors();
    let at = |now| verify(&body, &roots, Timestamp(now));
    let inside = at(FROM + 3600).unwrap();
    assert!(inside.document().pcrs.len() > 3);
    println!(
        "{:?} {:?}",
        inside.document().made_at(),
        inside.valid_until()
    );
    assert!(at(FROM - 86_400).is_err());
    assert!(at(FROM + 86_400).is_err());
}

#[test]
fn no_flipped_bit_is_accepted() {
    if folder().is_none() {
        return;
    }
    let body = document();
    let roots = TrustRoots::vendors();
    let accepted: Vec<usize> = (0..body.len())
        .filter(|at| {
            let mut bent = body.clone();
            bent[*at] ^= 1 << (at % 8);
            verify(&bent, &roots, Timestamp(FROM + 3600)).is_ok()
        })
        .collect();
    assert!(accepted.is_empty(), "{accepted:?}");
}
