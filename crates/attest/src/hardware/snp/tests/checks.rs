//! The table of [`super::rows`], run: every check of SNP refuses what it is for, and nothing else does.

use super::rows::{ROWS, Row};
use super::*;
use crate::hardware::Status;

#[test]
fn every_check_has_a_row() {
    let ours = Check::ALL.iter().filter(|check| {
        check.id().starts_with("snp-") || ["size", "kind", "report-data"].contains(&check.id())
    });
    for check in ours {
        let rows: Vec<&Row> = ROWS.iter().filter(|row| row.check == *check).collect();
        assert_eq!(rows.len(), 1, "{check}: one row, please");
        assert!(!rows[0].negative.is_empty(), "{check}: no negative case");
        // Nothing is said about a size that is in bounds; every accepted case is within them.
        let quiet = *check == Check::Size;
        assert!(
            quiet || !rows[0].positive.is_empty(),
            "{check}: no positive case"
        );
    }
}

#[test]
fn i3_every_positive_case_is_accepted() {
    for row in ROWS {
        for (name, change) in row.positive {
            let found = with(*change).appraise();
            let found = found.unwrap_or_else(|e| panic!("{}, {name}: {e}", row.check));
            let asked = found.outcomes().iter().filter(|one| one.check == row.check);
            let asked: Vec<Status> = asked.map(|one| one.status).collect();
            assert!(!asked.is_empty(), "{}, {name}: not on the list", row.check);
            assert!(!asked.contains(&Status::Failed), "{}, {name}", row.check);
        }
    }
}

#[test]
fn i3_every_negative_case_is_refused_by_its_check() {
    for row in ROWS {
        for (name, change) in row.negative {
            let mut case = with(*change);
            let kind = row.check == Check::Kind;
            let found = match kind {
                false => case.appraise(),
                true => {
                    let (evidence, stapled) = case.made();
                    case.reference = example();
                    let none = ReferenceValues::default();
                    appraise(&evidence, &stapled, &case.roots, &none, &case.expected, NOW)
                }
            };
            let refused = found.expect_err(&format!("{}, {name}: accepted", row.check));
            assert_eq!(refused.check, row.check, "{name}: {refused}");
            let failed = refused
                .outcomes
                .iter()
                .find(|one| one.status == Status::Failed);
            assert_eq!(failed.map(|one| one.check), Some(row.check), "{name}");
        }
    }
}

/// A policy for another kind of TEE says nothing about this one, and evidence does not become another kind by its label.
#[test]
fn i3_evidence_of_another_kind_is_refused() {
    let case = Case::good();
    let (mut evidence, stapled) = case.made();
    for kind in [Kind::Tdx, Kind::Sgx, Kind::AwsNitro] {
        evidence.kind = kind;
        let found = verify_any(&evidence, &stapled, &case.roots, NOW);
        assert!(found.is_err(), "SNP report relabelled {kind}");
    }
}
