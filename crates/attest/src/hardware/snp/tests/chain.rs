//! Certificates that AMD would not make, and lists that it might: the forged, foreign, mixed and re-encoded ones.

use ::der::asn1::ObjectIdentifier;

use super::*;
use crate::hardware::snp::mock::{Authority, Extension};

pub(super) fn critical(extensions: &mut Vec<Extension>, oid: &str) {
    extensions.push(Extension {
        oid: ObjectIdentifier::new_unwrap(oid),
        critical: Some(true),
        value: vec![5, 0],
    });
}

pub(super) fn product(case: &mut Case, name: &str) {
    let value = [&[0x16, name.len() as u8], name.as_bytes()].concat();
    case.platform.leaf.set(certificates::PRODUCT_NAME, value);
}

pub(super) fn level(case: &mut Case, oid: ObjectIdentifier, der: &[u8]) {
    case.platform.leaf.set(oid, der.to_vec());
}

#[track_caller]
fn refused(why: &str, change: impl FnOnce(&mut Case)) {
    let found = with(change).verify().expect_err("accepted");
    assert_eq!(found.check, Check::SnpChain, "{found}");
    assert!(found.detail.contains(why), "wanted {why:?} in {found}");
}

/// The same, and only the first two certificates and the report are used besides.
#[track_caller]
fn stapled_refused(why: &str, after: fn(&mut Evidence, &mut Endorsements)) {
    refused(why, |case| case.after = after);
}

#[test]
fn i1_only_the_pinned_root_counts() {
    // A root with the right name, and everything below it signed, under another key.
    refused("not the pinned root", |case| {
        case.roots.amd.iter_mut().for_each(|(_, pin)| pin[31] ^= 1);
    });
    stapled_refused("not the pinned root", |_, stapled| {
        let mut fake = Platform::new(Product::Genoa, SigningKey::Vcek).unwrap();
        fake.ark.spki = Authority::asvk().unwrap().spki();
        stapled.certificates[2] = fake.ark.sign(&Authority::asvk().unwrap()).unwrap();
    });
    // The pinned key in a certificate that the root did not sign.
    stapled_refused("signature is not by", |_, stapled| {
        let platform = Platform::new(Product::Genoa, SigningKey::Vcek).unwrap();
        stapled.certificates[2] = platform.ark.sign(&Authority::asvk().unwrap()).unwrap();
    });
}

#[test]
fn signatures_are_those_of_the_issuer() {
    stapled_refused("signature is not by", |_, stapled| {
        let platform = Platform::new(Product::Genoa, SigningKey::Vcek).unwrap();
        stapled.certificates[1] = platform.signer.sign(&Authority::ask().unwrap()).unwrap();
    });
    stapled_refused("signature is not by", |_, stapled| {
        let platform = Platform::new(Product::Genoa, SigningKey::Vcek).unwrap();
        stapled.certificates[0] = platform.leaf.sign(&Authority::asvk().unwrap()).unwrap();
    });
    refused("may not issue", |case| {
        case.platform.signer.extensions[1].value = vec![0x30, 0];
    });
    refused("may not issue", |case| {
        case.platform.signer.extensions[0].value = vec![3, 2, 7, 0x80];
    });
    refused("may not issue", |case| {
        case.platform.signer.extensions.clear()
    });
}

#[test]
fn names_decide_the_path() {
    refused("expected SEV-VCEK or SEV-VLEK", |case| {
        case.platform.leaf.subject = "SEV-Genoa".to_owned();
    });
    // A VCEK by the authority of providers, and the other way round.
    refused("no vcek authority", |case| {
        case.platform.leaf.issuer = "SEV-VLEK-Genoa".to_owned();
        case.platform.signer.subject = "SEV-VLEK-Genoa".to_owned();
    });
    refused("no vlek authority", |case| {
        case.platform.leaf.subject = "SEV-VLEK".to_owned();
    });
    refused("no vcek authority", |case| {
        case.platform.leaf.issuer = "ARK-Genoa".to_owned();
    });
    // Mixed generations.
    refused("SEV-Turin is not stapled", |case| {
        case.platform.leaf.issuer = "SEV-Turin".to_owned();
    });
    refused("was issued by ARK-Turin", |case| {
        case.platform.signer.issuer = "ARK-Turin".to_owned();
    });
    refused("ARK-Genoa is not stapled", |case| {
        case.platform.ark.subject = "ARK-Milan".to_owned();
    });
    refused("was issued by ARK-Milan", |case| {
        case.platform.ark.issuer = "ARK-Milan".to_owned();
    });
}

#[test]
fn i14_each_certificate_once_and_no_other() {
    stapled_refused("0 certificates", |_, stapled| stapled.certificates.clear());
    stapled_refused("2 certificates", |_, stapled| {
        stapled.certificates.truncate(2)
    });
    stapled_refused("5 certificates", |_, stapled| {
        let extra = stapled.certificates[2].clone();
        stapled.certificates.extend([extra.clone(), extra]);
    });
    stapled_refused("ARK-Genoa is stapled twice", |_, stapled| {
        stapled.certificates.push(stapled.certificates[2].clone());
    });
    stapled_refused("no place in the chain", |_, stapled| {
        stapled.certificates.push(stapled.certificates[0].clone());
    });
    stapled_refused("no place in the chain", |_, stapled| {
        let turin = Platform::new(Product::Turin, SigningKey::Vcek).unwrap();
        let signer = turin.signer.sign(&Authority::ark().unwrap()).unwrap();
        stapled.certificates.push(signer);
    });
    // The authority that this leaf does not need is verified too.
    stapled_refused("signature is not by", |_, stapled| {
        let other = Platform::new(Product::Genoa, SigningKey::Vlek).unwrap();
        let signer = other.signer.sign(&Authority::asvk().unwrap()).unwrap();
        stapled.certificates.push(signer);
    });
    let both = with(|case| {
        case.after = |_, stapled| {
            let other = Platform::new(Product::Genoa, SigningKey::Vlek).unwrap();
            let signer = other.signer.sign(&Authority::ark().unwrap()).unwrap();
            stapled.certificates.push(signer);
        }
    });
    both.verify().unwrap();
}

#[test]
fn i2_one_encoding() {
    // A value that DER leaves out, signed as it stands.
    refused("one DER encoding", |case| {
        case.platform.leaf.extensions[0].critical = Some(false);
    });
    let outer = vec![0x30, 0];
    refused("two signature algorithms", |case| {
        case.platform.leaf.outer = Some(outer)
    });
    stapled_refused("not a certificate", |_, stapled| {
        stapled.certificates[0].push(0)
    });
    stapled_refused("not a certificate", |_, stapled| {
        stapled.certificates[1].truncate(100);
    });
    stapled_refused("not a certificate", |_, stapled| {
        stapled.certificates[0].clear()
    });
    stapled_refused("not a certificate", |_, stapled| {
        // A length of 2^31 in three bytes that are not there.
        stapled.certificates[0] = vec![0x30, 0x84, 0x7f, 0xff, 0xff, 0xff];
    });
}

/// A BIT STRING says how many bits of its last byte do not count. If they are zero, nothing else changes with that number.
#[test]
fn i2_a_signature_is_whole_bytes() {
    fn shorter(sign: impl Fn() -> Vec<u8>) -> Vec<u8> {
        let even = (0..200)
            .map(|_| sign())
            .find(|der| der.last().unwrap() & 1 == 0);
        let mut der = even.unwrap();
        let count = der.len() - 513;
        assert_eq!(der[count], 0);
        der[count] = 1;
        der
    }
    let case = Case::good();
    let (ark, ask) = (Authority::ark().unwrap(), Authority::ask().unwrap());
    let (evidence, good) = case.made();
    let list = case.platform.list.as_ref().unwrap();
    let mut leaf = good.clone();
    leaf.certificates[0] = shorter(|| case.platform.leaf.sign(&ask).unwrap());
    let mut crl = good.clone();
    crl.crls[0] = shorter(|| list.sign(&ark).unwrap());
    for (stapled, check) in [(leaf, Check::SnpChain), (crl, Check::SnpCrl)] {
        let found = verify_any(&evidence, &stapled, &case.roots, NOW).unwrap_err();
        assert_eq!(found.check, check);
        assert!(found.detail.contains("whole bytes"), "{found}");
    }
}

#[test]
fn every_certificate_must_be_valid_now() {
    let late = |certificate: &mut mock::Certificate| certificate.window.1 = Timestamp(NOW.0 - 1);
    let early = |certificate: &mut mock::Certificate| certificate.window.0 = Timestamp(NOW.0 + 1);
    for change in [late, early] {
        refused("SEV-VCEK is valid from", |case| {
            change(&mut case.platform.leaf)
        });
        refused("SEV-Genoa is valid from", |case| {
            change(&mut case.platform.signer)
        });
        refused("ARK-Genoa is valid from", |case| {
            change(&mut case.platform.ark)
        });
    }
    for edge in [
        |c: &mut Case| c.platform.leaf.window.0 = NOW,
        |c: &mut Case| c.platform.leaf.window.1 = NOW,
    ] {
        with(edge).verify().unwrap();
    }
}

#[test]
fn valid_until_is_the_earliest_end() {
    let until = |change: fn(&mut Case)| with(change).appraise().unwrap().valid_until();
    let soon = Timestamp(NOW.0 + 60);
    assert_eq!(
        until(|c| c.platform.leaf.window.1 = Timestamp(NOW.0 + 60)),
        soon
    );
    assert_eq!(
        until(|c| c.platform.signer.window.1 = Timestamp(NOW.0 + 60)),
        soon
    );
    assert_eq!(
        until(|c| c.platform.ark.window.1 = Timestamp(NOW.0 + 60)),
        soon
    );
    let list = until(|c| c.platform.list.as_mut().unwrap().next = Some(Timestamp(NOW.0 + 60)));
    assert_eq!(list, soon);
}

#[test]
fn critical_extensions_are_understood_or_refused() {
    for who in [
        (|p: &mut Platform| &mut p.leaf) as fn(&mut Platform) -> &mut mock::Certificate,
        |p| &mut p.signer,
        |p| &mut p.ark,
    ] {
        refused("critical extension", |case| {
            critical(&mut who(&mut case.platform).extensions, "2.5.29.30");
        });
    }
    let known = with(|case| {
        let oid = ObjectIdentifier::new_unwrap("1.2.3.4");
        case.platform.leaf.set(oid, vec![5, 0]);
    });
    known.verify().unwrap();
}

#[test]
fn keys_and_algorithms_are_the_expected_ones() {
    refused("no P-384 key", |case| {
        let spki = &mut case.platform.leaf.spki;
        let curve = spki
            .windows(5)
            .position(|five| five == [0x2b, 0x81, 4, 0, 0x22])
            .unwrap();
        spki[curve + 4] = 0x23;
    });
    refused("no P-384 key", |case| {
        case.platform.leaf.spki = Authority::ask().unwrap().spki()
    });
    // Parameters that promise another hash or salt than the signature has.
    for (at, to) in [(14, 1), (60 - 11, 3), (51, 0x20)] {
        refused("SHA-384", |case| {
            let parameters = &mut case.platform.leaf.parameters;
            let last = parameters.len() - 1;
            let at = if at > last { last } else { at };
            parameters[at] = to;
        });
    }
    refused("SHA-384", |case| {
        case.platform.signer.parameters = vec![5, 0]
    });
    refused("SHA-384", |case| case.platform.signer.parameters.clear());
    let trailer = with(|case| {
        let parameters = &mut case.platform.signer.parameters;
        parameters.extend([0xa3, 3, 2, 1, 1]);
        parameters[1] += 5;
    });
    trailer.verify().unwrap();
    refused("SHA-384", |case| {
        let parameters = &mut case.platform.signer.parameters;
        parameters.extend([0xa3, 3, 2, 1, 2]);
        parameters[1] += 5;
    });
}

#[test]
fn extensions_of_the_leaf_are_read_strictly() {
    use certificates::*;
    for oid in [BOOT_LOADER, TEE, SNP, MICROCODE] {
        refused("has no extension", |case| case.platform.leaf.remove(oid));
        refused("extension", |case| level(case, oid, &[2, 2, 1, 0]));
        refused("extension", |case| level(case, oid, &[2, 1, 0x80]));
        refused("extension", |case| level(case, oid, &[2, 2, 0, 1]));
        refused("extension", |case| level(case, oid, &[2, 1, 1, 0]));
        refused("extension", |case| level(case, oid, &[4, 1, 1]));
        refused("extension", |case| level(case, oid, &[]));
        refused("stands twice", |case| {
            let again = Extension::new(oid, vec![2, 1, 0]);
            case.platform.leaf.extensions.push(again);
        });
    }
    refused("does not know", |case| level(case, UNUSED[2], &[2, 1, 1]));
    with(|case| level(case, UNUSED[2], &[2, 1, 0]))
        .verify()
        .unwrap();
    refused("has no extension", |case| {
        *case = Case::new(Product::Turin, SigningKey::Vcek);
        case.platform.leaf.remove(FMC);
    });
    for id in [
        vec![],
        vec![0xc4; 63],
        vec![0xc4; 65],
        vec![0xc4; 8],
        [&[4, 64][..], &[0xc4; 63]].concat(),
    ] {
        refused("hardware id", |case| {
            case.platform.leaf.set(HARDWARE_ID, id)
        });
    }
    refused("hardware id", |case| {
        *case = Case::new(Product::Turin, SigningKey::Vcek);
        case.platform.leaf.set(HARDWARE_ID, vec![0xc4; 64]);
    });
    refused("names no chip", |case| {
        case.platform.leaf.remove(HARDWARE_ID)
    });
    refused("or a cloud provider", |case| {
        case.platform.leaf.set(PROVIDER_ID, vec![0x16, 1, b'x']);
    });
    let provider = |change: fn(&mut Platform)| {
        move |case: &mut Case| {
            *case = Case::new(Product::Genoa, SigningKey::Vlek);
            change(&mut case.platform);
        }
    };
    refused(
        "names no cloud provider",
        provider(|p| p.leaf.remove(PROVIDER_ID)),
    );
    refused(
        "names no cloud provider",
        provider(|p| p.leaf.set(PROVIDER_ID, vec![0x16, 0])),
    );
    refused(
        "or a chip",
        provider(|p| p.leaf.set(HARDWARE_ID, vec![0; 64])),
    );
    refused(
        "printable",
        provider(|p| p.leaf.set(PROVIDER_ID, vec![0x16, 1, 0x1b])),
    );
    refused(
        "printable",
        provider(|p| p.leaf.set(PROVIDER_ID, vec![0x0c, 1, b'x'])),
    );
}
