//! Reports with one bit changed: what we accept, `sev` accepts; what only `sev` accepts are the bytes listed here.

use std::collections::BTreeSet;
use std::ops::Range;

use super::*;
use crate::hardware::tests::vectors::{accepted, flips};

/// Not signed, and ignored by `sev`: above R and S, which have 48 bytes of 72, and all after them.
const PADDING: [Range<usize>; 2] = [0x2d0..0x2e8, 0x318..REPORT_LEN];

/// Signed, but `sev` verifies a re-encoding, in which the unused bytes of the four TCB versions are zero. In all other
/// reserved bytes it demands zeros, so versions do not differ.
fn re_encoded(product: Product) -> impl Iterator<Item = usize> {
    let unused = match product {
        Product::Milan | Product::Genoa => 2..6,
        Product::Turin => 4..7,
    };
    let tcbs = [
        at::CURRENT_TCB,
        at::REPORTED_TCB,
        at::COMMITTED_TCB,
        at::LAUNCH_TCB,
    ];
    tcbs.into_iter()
        .flat_map(move |at| unused.clone().map(move |part| at + part))
}

fn known(product: Product) -> BTreeSet<usize> {
    PADDING
        .into_iter()
        .flatten()
        .chain(re_encoded(product))
        .collect()
}

/// One bit of every byte.
fn sweep(
    evidence: &Evidence,
    stapled: &Endorsements,
    roots: &TrustRoots,
    product: Product,
    name: &str,
) {
    let chain = sorted(stapled);
    chain.verify().unwrap();
    let every_byte = flips(evidence.body.len(), 0);
    assert_eq!(every_byte.len(), REPORT_LEN);
    // The chain does not change: its verdict stands above.
    let theirs = accepted(&evidence.body, &every_byte, |body| {
        theirs(body).is_some_and(|report| (&chain.vek, &report).verify().is_ok())
    });
    let ours = accepted(&evidence.body, &every_byte, |body| {
        verify_any(&snp(body.to_vec()), stapled, roots, NOW).is_ok()
    });
    let places = |found: Vec<(usize, u8)>| -> BTreeSet<usize> {
        found.into_iter().map(|(at, _)| at).collect()
    };
    let (ours, theirs) = (places(ours), places(theirs));
    let only_ours: Vec<_> = ours.difference(&theirs).collect();
    assert!(
        only_ours.is_empty(),
        "{name}: only we accept {only_ours:x?}"
    );
    let only_theirs: BTreeSet<_> = theirs.difference(&ours).copied().collect();
    let known = known(product);
    let new: Vec<_> = only_theirs.difference(&known).collect();
    let gone: Vec<_> = known.difference(&only_theirs).collect();
    assert!(
        new.is_empty() && gone.is_empty(),
        "{name}: new {new:x?}, gone {gone:x?}"
    );
}

#[test]
fn of_real_reports() {
    assert_eq!(known(Product::Genoa).len(), 416 + 16);
    if folder().is_none() {
        return;
    }
    for vector in &REAL {
        let (evidence, stapled) = (vector.evidence(), vector.endorsements());
        let roots = TrustRoots::vendors();
        sweep(&evidence, &stapled, &roots, vector.product, vector.report);
    }
}

/// No real report is of Turin, whose TCB versions are laid out in another way.
#[test]
fn of_a_turin_report() {
    let case = Case::new(Product::Turin, SigningKey::Vcek);
    let (evidence, stapled) = case.made();
    sweep(&evidence, &stapled, &case.roots, Product::Turin, "Turin");
}

/// Both take the two forms of an ECDSA signature, (r, s) and (r, −s): no hash of a whole report is an identity.
#[test]
fn both_take_the_other_form_of_a_signature() {
    let case = Case::good();
    let (mut evidence, stapled) = case.made();
    let before = evidence.body.clone();
    negate(&mut evidence.body[0x2e8..0x318]);
    assert_ne!(evidence.body, before);
    assert_eq!(verdicts(&evidence, &stapled, &case.roots), (true, true));
}

/// The order of P-384's base point less `s`, little-endian.
fn negate(s: &mut [u8]) {
    let order = hex::decode(
        "ffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973",
    )
    .unwrap();
    let mut borrow = 0;
    for (s, order) in s.iter_mut().zip(order.iter().rev()) {
        let part = i16::from(*order) - i16::from(*s) - borrow;
        borrow = i16::from(part < 0);
        *s = (part & 0xff) as u8;
    }
    assert_eq!(borrow, 0);
}
