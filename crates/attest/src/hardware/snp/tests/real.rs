//! Real reports of other people's machines.

use super::*;
use crate::hardware::tests::vectors::folder;
use crate::hardware::{Freshness, Status};

const YEAR: u64 = 365 * 86_400;

fn verified(vector: &Vector, now: Timestamp) -> Result<crate::hardware::Authentic, Rejection> {
    let roots = TrustRoots::vendors();
    verify_any(&vector.evidence(), &vector.endorsements(), &roots, now)
}

/// Everything may be anything; what is refused now is refused always.
fn anything() -> Reference {
    fn any<T>() -> Rule<T> {
        Rule::Ignore("test".to_owned())
    }
    let mut reference = example();
    reference.product = any();
    reference.report_version = any();
    reference.signing_key = any();
    reference.crl = Freshness::Ignore("test".to_owned());
    reference.tcb.boot_loader = any();
    reference.tcb.snp = any();
    reference.tcb.microcode = any();
    reference.launch_mitigations = any();
    reference.current_mitigations = any();
    reference.vmpl = any();
    reference.migration_agent = any();
    reference.measurement = any();
    reference.platform.ecc = any();
    reference.platform.alias_check = any();
    reference.platform.other_bits = any();
    reference
}

fn appraised(vector: &Vector, reference: Reference) -> Result<Appraisal, Rejection> {
    let expected = Expected {
        report_data: Rule::Ignore("test".to_owned()),
        config: Rule::Ignore("test".to_owned()),
    };
    let (evidence, stapled) = (vector.evidence(), vector.endorsements());
    let roots = TrustRoots::vendors();
    appraise(
        &evidence,
        &stapled,
        &roots,
        &only(reference),
        &expected,
        NOW,
    )
}

/// The checks that failed, in order, each once.
fn failed(found: &Result<Appraisal, Rejection>) -> Vec<&'static str> {
    let mut failed = Vec::new();
    if let Err(rejection) = found {
        let all = rejection.outcomes.iter();
        failed.extend(
            all.filter(|one| one.status == Status::Failed)
                .map(|one| one.check.id()),
        );
    }
    failed.dedup();
    failed
}

#[test]
fn real_reports_verify() {
    if folder().is_none() {
        return;
    }
    for vector in &REAL {
        let found = verified(vector, NOW).unwrap_or_else(|e| panic!("{}: {e}", vector.report));
        let crate::hardware::Authentic::SevSnp(found) = found else {
            panic!("{}", vector.report);
        };
        assert_eq!(
            (found.product(), found.report().version),
            (vector.product, vector.version)
        );
    }
}

#[test]
fn i3_a_production_policy_refuses_old_reports_and_old_platforms() {
    if folder().is_none() {
        return;
    }
    let found = failed(&appraised(MILAN_V2, example()));
    for check in [
        "snp-format",
        "snp-product-allowed",
        "snp-crl",
        "snp-platform",
        "snp-measurement",
    ] {
        assert!(found.contains(&check), "{check} is not among {found:?}");
    }
    let mut alias = anything();
    alias.platform.alias_check = Rule::Exact(true);
    assert_eq!(failed(&appraised(MILAN_V2, alias)), ["snp-platform"]);
    let mut version = anything();
    version.report_version = Rule::AtLeast(3);
    assert_eq!(failed(&appraised(MILAN_V2, version)), ["snp-format"]);
}

/// Debugging has no rule: no policy can accept it.
#[test]
fn i3_a_debug_guest_is_authentic_and_refused() {
    if folder().is_none() {
        return;
    }
    verified(DEBUG, NOW).unwrap();
    let found = appraised(DEBUG, anything()).unwrap_err();
    assert_eq!(found.check, Check::SnpGuestPolicy);
    assert!(found.detail.starts_with("debugging: found on"), "{found}");
    appraised(
        MILAN_V2,
        Reference {
            guest_policy: anything().guest_policy,
            ..anything()
        },
    )
    .unwrap();
}

#[test]
fn broken_vceks_are_refused() {
    if folder().is_none() {
        return;
    }
    for leaf in [
        "milan_v2b.vcek-invalid-legacy.der",
        "milan_v2b.vcek-invalid-new.der",
    ] {
        let stapled = endorsements(leaf, MILAN);
        let found = verify_any(&MILAN_V2B.evidence(), &stapled, &TrustRoots::vendors(), NOW);
        assert_eq!(found.unwrap_err().check, Check::SnpChain, "{leaf}");
    }
}

#[test]
fn a_vlek_is_verified_through_the_asvk_only() {
    if folder().is_none() {
        return;
    }
    let crate::hardware::Authentic::SevSnp(found) = verified(VLEK, NOW).unwrap() else {
        panic!("another kind");
    };
    assert_eq!(found.provider(), Some("CN=cc-us-east-2.amazonaws.com"));
    let roots = TrustRoots::vendors();
    let without = endorsements(VLEK.leaf, MILAN);
    let found = verify_any(&VLEK.evidence(), &without, &roots, NOW).unwrap_err();
    assert_eq!(found.check, Check::SnpChain);
    assert!(
        found.detail.contains("SEV-VLEK-Milan is not stapled"),
        "{found}"
    );
    // The ASK in the ASVK's place.
    let mut mixed = VLEK.endorsements();
    mixed.certificates.remove(3);
    mixed.certificates.push(mixed.certificates[1].clone());
    assert!(verify_any(&VLEK.evidence(), &mixed, &roots, NOW).is_err());
    // A chip cannot be denied where the provider hides it.
    let mut denied = anything();
    denied.denied_chips = vec![Hex([1; 64])];
    assert_eq!(failed(&appraised(VLEK, denied)), ["snp-chip-allowed"]);
}

#[test]
fn i3_milan_is_refused_where_the_policy_denies_it() {
    if folder().is_none() {
        return;
    }
    let mut reference = anything();
    appraised(MILAN_V3, reference.clone()).unwrap();
    reference.product = Rule::AnyOf(vec![Product::Genoa, Product::Turin]);
    assert_eq!(
        failed(&appraised(MILAN_V3, reference)),
        ["snp-product-allowed"]
    );
}

/// The documented example on a real machine: all that keeps it out is what its author has to fill in, and the list.
#[test]
fn i3_the_example_accepts_a_real_genoa_guest() {
    if folder().is_none() {
        return;
    }
    let found = failed(&appraised(GENOA_V5, example()));
    assert_eq!(found, ["snp-crl", "snp-measurement"]);
    let crate::hardware::Authentic::SevSnp(guest) = verified(GENOA_V5, NOW).unwrap() else {
        panic!("another kind");
    };
    let mut filled = example();
    filled.measurement = Rule::Exact(guest.report().measurement);
    filled.crl = Freshness::Ignore("none was kept with the report".to_owned());
    let found = appraised(GENOA_V5, filled).unwrap();
    assert_eq!(found.valid_until(), found.authentic().valid_until());
}

#[test]
fn only_the_diagonal_of_reports_and_certificates() {
    if folder().is_none() {
        return;
    }
    let roots = TrustRoots::vendors();
    let stapled: Vec<Endorsements> = REAL.iter().map(Vector::endorsements).collect();
    for (i, report) in REAL.iter().enumerate() {
        for (j, endorsements) in stapled.iter().enumerate() {
            let found = verify_any(&report.evidence(), endorsements, &roots, NOW);
            assert_eq!(
                found.is_ok(),
                i == j,
                "{} with {}",
                report.report,
                REAL[j].leaf
            );
        }
    }
    // The right leaf under another generation's authorities.
    for chain in [
        MILAN,
        &["ask_turin.pem", "ark_turin.pem"],
        &["ask_genoa.pem", "ark_milan.pem"],
    ] {
        let foreign = endorsements(GENOA_V5.leaf, chain);
        let found = verify_any(&GENOA_V5.evidence(), &foreign, &roots, NOW);
        assert_eq!(found.unwrap_err().check, Check::SnpChain, "{chain:?}");
    }
}

#[test]
fn only_inside_the_window() {
    if folder().is_none() {
        return;
    }
    for vector in &REAL {
        let leaf =
            crate::hardware::x509::Certificate::parse(&vector.endorsements().certificates[0]);
        let window = leaf.unwrap().window();
        let (from, until) = (window.from.0, window.until.0);
        for inside in [from, from + 1, from.midpoint(until), until - 1, until] {
            let found = verified(vector, Timestamp(inside));
            found.unwrap_or_else(|e| panic!("{} at {inside}: {e}", vector.report));
        }
        let outside = [
            0,
            from - 10 * YEAR,
            from - 1,
            until + 1,
            until + 10 * YEAR,
            u64::MAX,
        ];
        for outside in outside {
            let found = verified(vector, Timestamp(outside)).unwrap_err();
            assert_eq!(
                found.check,
                Check::SnpChain,
                "{} at {outside}",
                vector.report
            );
        }
    }
}

/// The same names under another key, both ways.
#[test]
fn i1_real_and_development_roots_do_not_mix() {
    if folder().is_none() {
        return;
    }
    let (vendor, mock) = (TrustRoots::vendors(), mock::roots().unwrap());
    let refuse = |evidence: &Evidence, stapled: &Endorsements, roots: &TrustRoots| {
        let found = verify_any(evidence, stapled, roots, NOW).unwrap_err();
        assert_eq!(found.check, Check::SnpChain, "{found}");
    };
    let (development, certificates) = Case::good().made();
    let real = GENOA_V5.endorsements();
    refuse(&GENOA_V5.evidence(), &real, &mock);
    refuse(&development, &certificates, &vendor);
    // A real leaf under development authorities, and a development leaf under real ones.
    for roots in [&vendor, &mock] {
        for kept in [1, 2] {
            let mut mixed = real.clone();
            mixed.certificates.truncate(kept);
            mixed
                .certificates
                .extend_from_slice(&certificates.certificates[kept..]);
            refuse(&GENOA_V5.evidence(), &mixed, roots);
            let mut mixed = certificates.clone();
            mixed.certificates.truncate(kept);
            mixed
                .certificates
                .extend_from_slice(&real.certificates[kept..]);
            refuse(&development, &mixed, roots);
        }
    }
}
