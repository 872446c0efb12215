//! Authenticode's hash on small PE images.

use ring::digest::{SHA384, digest};

use crate::policy_cmd::measure::error::MeasureError;
use crate::policy_cmd::measure::tdx::authenticode;

const PE: usize = 0x40;
const OPTIONAL: usize = PE + 24;
const TABLE: usize = OPTIONAL + 160;
const CERTIFICATES: usize = OPTIONAL + 112 + 32;

/// A PE32+ image with two sections and a certificate table of 16 bytes.
pub(super) fn pe() -> Vec<u8> {
    let mut image: Vec<u8> = (0..0x610).map(|at| (at / 3) as u8).collect();
    let mut put = |at: usize, bytes: &[u8]| image[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, b"MZ");
    put(0x3c, &(PE as u32).to_le_bytes());
    put(PE, b"PE\0\0");
    put(PE + 6, &2u16.to_le_bytes());
    put(PE + 20, &160u16.to_le_bytes());
    put(OPTIONAL, &0x20bu16.to_le_bytes());
    put(OPTIONAL + 60, &0x200u32.to_le_bytes());
    put(OPTIONAL + 108, &6u32.to_le_bytes());
    put(
        CERTIFICATES,
        &[0x600u32, 0x10].map(u32::to_le_bytes).concat(),
    );
    // Not in the order of the file.
    put(
        TABLE + 16,
        &[0x100u32, 0x500].map(u32::to_le_bytes).concat(),
    );
    put(
        TABLE + 56,
        &[0x300u32, 0x200].map(u32::to_le_bytes).concat(),
    );
    image
}

#[test]
fn by_a_second_calculation() {
    let image = pe();
    let (checksum, entry) = (OPTIONAL + 64, CERTIFICATES);
    let hashed = [
        &image[..checksum],
        &image[checksum + 4..entry],
        &image[entry + 8..0x600],
    ]
    .concat();
    assert_eq!(hashed.len(), 0x600 - 12);
    assert_eq!(
        authenticode(&image).unwrap().as_slice(),
        digest(&SHA384, &hashed).as_ref()
    );
}

/// I3: a byte is left out only where a signature must be able to change it.
#[test]
fn every_byte_but_the_signature_counts() {
    let image = pe();
    let hash = authenticode(&image).unwrap();
    let left_out = |at: usize| (OPTIONAL + 64..OPTIONAL + 68).contains(&at) || at >= 0x600;
    for at in 0..image.len() {
        let mut flipped = image.clone();
        flipped[at] ^= 1;
        match authenticode(&flipped) {
            Ok(other) => assert_eq!(other == hash, left_out(at), "{at:#x}"),
            Err(MeasureError::Pe(_)) => assert!(at < 0x200, "{at:#x}"),
            Err(other) => panic!("{other}"),
        }
    }
}

#[test]
fn images_that_loaders_would_read_differently() {
    let refused = |at: usize, number: u32| {
        let mut image = pe();
        image[at..at + 4].copy_from_slice(&number.to_le_bytes());
        matches!(authenticode(&image), Err(MeasureError::Pe(_)))
    };
    assert!(!refused(TABLE + 16, 0x100));
    assert!(
        refused(TABLE + 16, 0x108),
        "a section into the certificates"
    );
    assert!(refused(TABLE + 20, 0x508), "a gap");
    assert!(refused(TABLE + 20, 0x4f8), "an overlap");
    assert!(refused(TABLE + 20, u32::MAX), "far away");
    assert!(refused(OPTIONAL + 60, 0x208), "headers into a section");
    assert!(refused(OPTIONAL + 108, 4), "no place for certificates");
    assert!(refused(CERTIFICATES, 0x5f8), "certificates not at the end");
    assert!(refused(CERTIFICATES + 4, 8), "bytes after them");
    assert!(refused(0x3c, u32::MAX), "no header");
    assert!(refused(0x3c, 0x60c), "a header at the end");
    let mut odd = pe();
    odd.push(0);
    assert!(authenticode(&odd).is_err());
    for len in 0..pe().len() {
        assert!(authenticode(&pe()[..len]).is_err(), "{len:#x}");
    }
}
