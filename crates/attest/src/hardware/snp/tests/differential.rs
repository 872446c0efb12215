//! A second opinion: the crate `sev` reads and verifies the same reports. Whatever is accepted here, it accepts;
//! what it accepts and we refuse is listed here and in `bytes`, exactly. A difference without a row fails.

mod bytes;
mod fields;

use sev::certs::snp::{Chain, Verifiable as _, ca};
use sev::firmware::guest::AttestationReport;
use sev::parser::ByteParser as _;

use super::*;
use crate::hardware::tests::vectors::folder;
use crate::hardware::x509::Certificate;
use mock::at;

fn theirs(body: &[u8]) -> Option<AttestationReport> {
    AttestationReport::from_bytes(body).ok()
}

/// Root, authority and leaf, sorted by name: `sev` wants them in their places.
fn sorted(stapled: &Endorsements) -> Chain {
    let (leaf, others) = stapled.certificates.split_first().unwrap();
    let issuer = Certificate::parse(leaf).map(|leaf| leaf.issuer_name());
    let by = |name: &dyn Fn(&str) -> bool| {
        let mut others = others.iter();
        others.find(|der| Certificate::parse(der).is_ok_and(|one| name(&one.name())))
    };
    let ark = by(&|name| name.starts_with("ARK-")).unwrap_or(&others[1]);
    let ask = by(&|name| issuer.as_deref() == Ok(name)).unwrap_or(&others[0]);
    Chain::from_der(ark, ask, leaf).unwrap()
}

/// The report parses, the chain verifies, and its leaf signed the report.
fn they_accept(chain: &Chain, body: &[u8]) -> bool {
    theirs(body).is_some_and(|report| (chain, &report).verify().is_ok())
}

/// Ours and theirs.
fn verdicts(evidence: &Evidence, stapled: &Endorsements, roots: &TrustRoots) -> (bool, bool) {
    (
        verify_any(evidence, stapled, roots, NOW).is_ok(),
        they_accept(&sorted(stapled), &evidence.body),
    )
}

/// Also shows that the roots in `sev` are the ones pinned here (I1).
#[test]
fn i1_both_accept_every_real_report_and_know_the_same_roots() {
    if folder().is_none() {
        return;
    }
    let roots = TrustRoots::vendors();
    for vector in &REAL {
        let (evidence, stapled) = (vector.evidence(), vector.endorsements());
        let found = verdicts(&evidence, &stapled, &roots);
        assert_eq!(found, (true, true), "{}", vector.report);
    }
    let generations = [
        (Product::Milan, sev::Generation::Milan),
        (Product::Genoa, sev::Generation::Genoa),
        (Product::Turin, sev::Generation::Turin),
    ];
    for (product, generation) in generations {
        let der = ca::Chain::from(generation).ark.to_der().unwrap();
        let pin = Certificate::parse(&der).unwrap().spki_sha256().unwrap();
        assert!(ROOTS.contains(&(product, pin)), "{product}");
    }
}

#[test]
fn the_same_matrix_of_reports_and_certificates() {
    if folder().is_none() {
        return;
    }
    let roots = TrustRoots::vendors();
    let mut columns: Vec<_> = REAL.iter().map(Vector::endorsements).collect();
    // Damaged leaves, and leaves under the authorities of another generation.
    columns.push(endorsements("milan_v2b.vcek-invalid-legacy.der", MILAN));
    columns.push(endorsements("milan_v2b.vcek-invalid-new.der", MILAN));
    columns.push(endorsements(GENOA_V5.leaf, MILAN));
    columns.push(endorsements(MILAN_V3.leaf, GENOA));
    columns.push(endorsements(
        GENOA_V5.leaf,
        &["ask_genoa.pem", "ark_milan.pem"],
    ));
    for (i, report) in REAL.iter().enumerate() {
        for (j, stapled) in columns.iter().enumerate() {
            let found = verdicts(&report.evidence(), stapled, &roots);
            assert_eq!(found, (i == j, i == j), "{}, column {j}", report.report);
        }
    }
}

/// A change of the mock platform, and the check that refuses it here.
type Change = (&'static str, Check, fn(&mut Case));

/// `sev` has no such check, or leaves it to its caller.
const ONLY_OURS: &[Change] = &[
    ("a root that is not AMD's", Check::SnpChain, |c| {
        c.roots = TrustRoots::vendors();
    }),
    ("a certificate that ended", Check::SnpChain, |c| {
        c.platform.leaf.window.1 = NOW.minus(siegel_ident::Seconds(1));
    }),
    ("a leaf that is no VCEK", Check::SnpChain, |c| {
        c.platform.leaf.subject = "SEV-OTHER".to_owned();
    }),
    ("another list's authority", Check::SnpCrl, |c| {
        c.platform.list.as_mut().unwrap().issuer = "ARK-Turin".to_owned();
    }),
    ("another product's leaf", Check::SnpProduct, |c| {
        chain::product(c, "Milan-B0");
    }),
    ("another generation's CPU", Check::SnpProduct, |c| {
        c.platform.report.put(at::CPU, &[25, 1]);
    }),
    ("a leaf of another TCB", Check::SnpCertificateTcb, |c| {
        chain::level(c, certificates::MICROCODE, &[2, 1, 83]);
    }),
    ("another chip", Check::SnpChipId, |c| {
        c.platform.report.put(at::CHIP_ID, &[0xc5]);
    }),
    ("another algorithm", Check::SnpAlgorithm, |c| {
        c.platform.report.put(at::ALGORITHM, &[2]);
    }),
    ("a VLEK's report under a VCEK", Check::SnpSigningKey, |c| {
        c.platform.report.put(at::FLAGS, &[1 << 2]);
    }),
    ("reserved flags", Check::SnpFormat, |c| {
        c.platform.report.put(at::FLAGS, &[1 << 5]);
    }),
    ("a version of the future", Check::SnpFormat, |c| {
        c.platform.report.put(at::VERSION, &[6]);
    }),
];

#[test]
fn i3_what_only_we_refuse() {
    assert_eq!(verdicts_of(&Case::good()), (Ok(()), true));
    for (what, check, change) in ONLY_OURS {
        let found = verdicts_of(&with(change));
        assert_eq!(found, (Err(*check), true), "{what}");
    }
}

fn verdicts_of(case: &Case) -> (Result<(), Check>, bool) {
    let (evidence, stapled) = case.made();
    let theirs = they_accept(&sorted(&stapled), &evidence.body);
    (case.verify().map_err(|why| why.check), theirs)
}

/// The other way round: `sev` guesses the generation of a version 2 report by its chip id, and knows fewer models.
#[test]
fn what_only_they_refuse() {
    let hidden = |case: &mut Case| {
        *case = Case::new(Product::Milan, SigningKey::Vlek);
        let report = &mut case.platform.report;
        report.put(at::VERSION, &[2]).put(at::CPU, &[0; 3]);
        report.put(at::LAUNCH_MITIGATIONS, &[0; 16]);
    };
    let model = |case: &mut Case| {
        *case = Case::new(Product::Turin, SigningKey::Vcek);
        case.platform.report.put(at::CPU, &[26, 0x12]);
    };
    assert_eq!(verdicts_of(&with(hidden)), (Ok(()), false));
    assert_eq!(verdicts_of(&with(model)), (Ok(()), false));
}
