//! Real reports.

use siegel_ident::Timestamp;

use super::*;
use crate::hardware::vectors::{folder, pem, read};

const NOW: Timestamp = Timestamp(1_764_547_200); // 2025-12-01

/// Report, leaf, chain files, product, version.
const GOOD: [(&str, &str, &[&str], Product, u32); 6] = [
    (
        "milan_v2.report.hex",
        "milan_v2.vcek.der",
        &["ask_milan.pem", "ark_milan.pem"],
        Product::Milan,
        2,
    ),
    (
        "debug_v2.report.bin",
        "debug_v2.vcek.der",
        &["ask_milan.pem", "ark_milan.pem"],
        Product::Milan,
        2,
    ),
    (
        "milan_v2b.report.bin",
        "milan_v2b.vcek.der",
        &["ask_milan.pem", "ark_milan.pem"],
        Product::Milan,
        2,
    ),
    (
        "milan_vlek_v3.report.bin",
        "milan_vlek_v3.vlek.der",
        &["milan_ask_ark_asvk.pem"],
        Product::Milan,
        3,
    ),
    (
        "milan_v3.report.bin",
        "milan_v3.vcek.der",
        &["ask_milan.pem", "ark_milan.pem"],
        Product::Milan,
        3,
    ),
    (
        "genoa_v5.report.bin",
        "genoa_v5.vcek.der",
        &["ask_genoa.pem", "ark_genoa.pem"],
        Product::Genoa,
        5,
    ),
];

fn endorsements(leaf: &str, chain: &[&str]) -> Endorsements {
    let mut certificates = vec![read(&format!("snp/{leaf}"))];
    certificates.extend(chain.iter().flat_map(|name| pem(&format!("snp/{name}"))));
    Endorsements {
        certificates,
        ..Endorsements::default()
    }
}

#[test]
fn real_reports_verify() {
    if folder().is_none() {
        return;
    }
    for (report, leaf, chain, product, version) in GOOD {
        let found = verify(
            &read(&format!("snp/{report}")),
            &endorsements(leaf, chain),
            &TrustRoots::vendors(),
            NOW,
        );
        let found = found.unwrap_or_else(|e| panic!("{report}: {e}"));
        assert_eq!(
            (found.product(), found.report().version),
            (product, version),
            "{report}"
        );
    }
}
