//! Each function reads the seeds, and bends of them without a panic.

use super::*;
use crate::hardware::snp::{Product, SigningKey, mock};

type Target = (&'static str, fn(&[u8]) -> bool, Vec<Vec<u8>>);

fn targets() -> Vec<Target> {
    let (genoa, turin) = (Product::Genoa, Product::Turin);
    let (vcek, vlek) = (SigningKey::Vcek, SigningKey::Vlek);
    vec![
        (
            "snp_report",
            snp_report,
            vec![
                seeds::snp_report(genoa, vcek).unwrap(),
                seeds::snp_report(turin, vlek).unwrap(),
            ],
        ),
        (
            "certificate",
            certificate,
            vec![
                seeds::chain(turin, vcek).unwrap(),
                seeds::chain(genoa, vlek).unwrap(),
            ],
        ),
        ("crl", crl, vec![seeds::crl().unwrap()]),
        (
            "quote",
            quote,
            vec![
                seeds::quote(3, false).unwrap(),
                seeds::quote(4, false).unwrap(),
                seeds::quote(5, false).unwrap(),
                seeds::quote(5, true).unwrap(),
            ],
        ),
        ("collateral", collateral, vec![seeds::collateral().unwrap()]),
        ("nitro", nitro, seeds::nitro().unwrap().to_vec()),
        ("event_log", event_log, vec![seeds::event_log()]),
        ("frame", frame, vec![stapled()]),
    ]
}

fn stapled() -> Vec<u8> {
    let platform = mock::Platform::new(Product::Genoa, SigningKey::Vcek).unwrap();
    let endorsements = platform.endorsements().unwrap();
    platform.evidence().unwrap().staple(&endorsements).unwrap()
}

#[test]
fn every_parser_reads_its_seeds() {
    for (name, read, seeds) in targets() {
        for (at, seed) in seeds.iter().enumerate() {
            assert!(read(seed), "{name} {at}");
        }
        assert!(!read(b"") && !read(b"\x30\x03\x02\x01\x01"), "{name}");
    }
}

/// I14: every cut, and one bit of every byte.
#[test]
fn i14_bent_seeds_break_no_parser() {
    for (name, read, seeds) in targets() {
        let seed = seeds.first().unwrap();
        let step = (seed.len() / 600).max(1);
        for at in (0..seed.len()).step_by(step) {
            read(&seed[..at]);
            let mut bent = seed.clone();
            bent[at] ^= 1 << (at % 8);
            read(&bent);
        }
        assert!(read(seed), "{name}");
    }
}

/// Real evidence is read as well.
#[test]
fn real_evidence_is_read() {
    use crate::hardware::tests::vectors::{folder, nitro as document, pem, read, sgx, tdx};
    if folder().is_none() {
        return;
    }
    assert!(snp_report(&read("snp/genoa_v5.report.bin")));
    let chain = ["snp/ark_genoa.pem", "snp/ask_genoa.pem"].map(|name| pem(name).concat());
    let chain = [&chain.concat()[..], &read("snp/genoa_v5.vcek.der")].concat();
    assert!(certificate(&chain));
    for case in [tdx(), sgx()] {
        assert!(quote(&case.evidence.body), "{}", case.name);
        assert!(collateral(&case.endorsements.collateral.unwrap()));
    }
    assert!(nitro(&document().evidence.body));
    assert!(event_log(&read("tdx/ccel_cos113.eventlog")));
}
