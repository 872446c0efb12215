//! Certificates, chains of them, and revocation lists.

use std::sync::LazyLock;

use super::{neighbours, within};
use crate::hardware::snp::certificates::read_leaf;
use crate::hardware::snp::{Product, SigningKey, mock};
use crate::hardware::x509::{Certificate, RevocationList, verify_path};

/// More are not split off.
const CHAIN_MAX: usize = 8;

/// One certificate, or several in DER one after the other: root first, leaf last. Each is read, with what AMD has in its
/// leaves; then all of them as a path, at the time when the youngest begins.
pub fn certificate(bytes: &[u8]) -> bool {
    let parts = split(bytes);
    let read: Vec<Certificate> = parts.iter().filter_map(|der| alone(der)).collect();
    if read.len() != parts.len() {
        return false;
    }
    let Some((leaf, authorities)) = read.split_last() else {
        return false;
    };
    let Some(now) = read.iter().map(|one| one.window().from).max() else {
        return false;
    };
    let earliest = read.iter().map(|one| one.window().until).min();
    if let Ok(until) = verify_path(authorities, leaf, now) {
        assert_eq!(Some(until), earliest);
        assert!(now <= until && !authorities.is_empty());
        assert!(read.iter().all(|one| one.check_valid(now).is_ok()));
        for (above, authority) in authorities.iter().enumerate() {
            assert!(
                authority
                    .check_path_len(authorities.len() - above - 1)
                    .is_ok()
            );
        }
        for (issuer, issued) in read.iter().zip(&read[1..]) {
            assert_eq!(issuer.name(), issued.issuer_name());
        }
    }
    true
}

fn alone(der: &[u8]) -> Option<Certificate> {
    let read = Certificate::parse(der).ok()?;
    for other in neighbours(der) {
        assert!(Certificate::parse(&other).is_err(), "a byte more or less");
    }
    for part in [read.serial(), read.public_key()] {
        assert!(within(der, part));
    }
    for name in [read.name(), read.issuer_name()] {
        assert!(!name.contains(char::is_control), "{name:?}");
    }
    let window = read.window();
    for now in [window.from, window.until] {
        assert_eq!(read.check_valid(now).is_ok(), window.from <= window.until);
    }
    assert!(read.spki_sha256().is_ok());
    let _ = (read.check_amd(), read.check_p384_key());
    let lengths = [9, 1, 0].map(|below| read.check_path_len(below).is_ok());
    assert!(lengths.is_sorted(), "what may have many below may have few");
    let _ = read.verify_issued_by(&read);
    for product in Product::ALL {
        for key in [SigningKey::Vcek, SigningKey::Vlek] {
            let Ok(leaf) = read_leaf(&read, key, product) else {
                continue;
            };
            assert_eq!(leaf.public_key, read.public_key());
            let chip = leaf.hardware_id.as_deref();
            assert!(chip.is_none_or(|id| within(der, id)));
            assert_eq!(chip.is_some(), key == SigningKey::Vcek);
            assert_eq!(leaf.provider.is_some(), key == SigningKey::Vlek);
            assert_eq!(leaf.tcb.fmc.is_some(), product == Product::Turin);
        }
    }
    Some(read)
}

/// DER elements one after the other; what is none stays whole.
fn split(bytes: &[u8]) -> Vec<&[u8]> {
    let (mut parts, mut rest) = (Vec::new(), bytes);
    while !rest.is_empty() && parts.len() < CHAIN_MAX {
        let len = match rest {
            [_, 0x82, high, low, ..] => 4 + usize::from(u16::from_be_bytes([*high, *low])),
            [_, 0x81, len, ..] => 3 + usize::from(*len),
            [_, len, ..] => 2 + usize::from(*len),
            _ => rest.len(),
        };
        let (part, after) = rest.split_at_checked(len).unwrap_or((rest, &[]));
        parts.push(part);
        rest = after;
    }
    parts
}

/// The root of the mock platforms, to hold lists against.
static ARK: LazyLock<Option<Certificate>> = LazyLock::new(|| {
    let platform = mock::Platform::new(Product::Genoa, SigningKey::Vcek).ok()?;
    let der = platform.ark.sign(&mock::Authority::ark().ok()?).ok()?;
    Certificate::parse(&der).ok()
});

/// A revocation list: its window, its issuer, and who is on it.
pub fn crl(bytes: &[u8]) -> bool {
    let Ok(list) = RevocationList::parse(bytes) else {
        return false;
    };
    for other in neighbours(bytes) {
        assert!(
            RevocationList::parse(&other).is_err(),
            "a byte more or less"
        );
    }
    assert!(!list.revokes(&[]), "a certificate without a serial number");
    let long = vec![7; bytes.len()];
    assert!(!list.revokes(&long), "a serial number longer than the list");
    let window = list.window();
    assert_eq!(window.contains(window.from), window.from <= window.until);
    let Some(ark) = &*ARK else {
        return false;
    };
    let _ = list.verify_issued_by(ark);
    true
}
