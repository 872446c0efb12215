//! Vectors of Intel and AWS with all that belongs to them, at a time when they are good.

use siegel_ident::Timestamp;

use super::read;
use crate::hardware::{
    Appraisal, Authentic, Check, Endorsements, Evidence, Expected, Hex, Kind, Outcome,
    ReferenceValues, Rejection, Rule, Status, TrustRoots,
};

#[derive(Clone)]
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) evidence: Evidence,
    pub(crate) endorsements: Endorsements,
    pub(crate) now: Timestamp,
    pub(crate) expected: Expected,
}

/// 2025-07-01T00:00Z.
pub(crate) fn tdx() -> Case {
    quote(Kind::Tdx, "tdx/v4_uptodate", 1_751_328_000)
}

/// 2026-03-17T00:00Z; debug on, platform out of date.
pub(crate) fn tdx_debug() -> Case {
    quote(Kind::Tdx, "tdx/v4_debug", 1_773_705_600)
}

/// 2025-07-01T00:00Z.
pub(crate) fn sgx() -> Case {
    quote(Kind::Sgx, "sgx/v3", 1_751_328_000)
}

/// 2025-12-25T13:45Z. The file holds dstack's wrapper.
pub(crate) fn nitro() -> Case {
    let file = read("nitro/attestation.cbor");
    let opened = crate::hardware::open(&file).unwrap();
    assert_eq!((opened.kind, opened.around), (Kind::AwsNitro, 155));
    let mut case = Case {
        name: "nitro/attestation",
        evidence: Evidence {
            kind: Kind::AwsNitro,
            body: opened.body.to_vec(),
        },
        endorsements: Endorsements::default(),
        now: Timestamp(1_766_670_300),
        expected: anything(),
    };
    case.expected.report_data = Rule::Exact(Hex([0; 64]));
    case
}

fn quote(kind: Kind, name: &'static str, now: u64) -> Case {
    let file = read(&format!("{name}.quote"));
    let opened = crate::hardware::open(&file).unwrap();
    assert_eq!(opened.kind, kind);
    let mut case = Case {
        name,
        evidence: Evidence {
            kind,
            body: opened.body.to_vec(),
        },
        endorsements: Endorsements {
            collateral: Some(read(&format!("{name}.collateral.json"))),
            ..Endorsements::default()
        },
        now: Timestamp(now),
        expected: anything(),
    };
    case.expected = Expected {
        report_data: Rule::Exact(match case.verify().unwrap() {
            Authentic::Tdx(found) => found.report_data(),
            Authentic::Sgx(found) => found.report_data(),
            other => panic!("{other:?}"),
        }),
        config: Rule::Exact(Hex([0; 32])),
    };
    case
}

fn anything() -> Expected {
    Expected {
        report_data: Rule::Ignore("a test".to_owned()),
        config: Rule::Ignore("a test".to_owned()),
    }
}

impl Case {
    pub(crate) fn verify(&self) -> Result<Authentic, Rejection> {
        let roots = TrustRoots::vendors();
        crate::hardware::verify(&self.evidence, &self.endorsements, &roots, self.now)
    }

    pub(crate) fn verify_at(&self, now: u64) -> Result<Authentic, Rejection> {
        let now = Timestamp(now);
        Self {
            now,
            ..self.clone()
        }
        .verify()
    }

    pub(crate) fn appraise(&self, references: &ReferenceValues) -> Result<Appraisal, Rejection> {
        crate::hardware::appraise(
            &self.evidence,
            &self.endorsements,
            &TrustRoots::vendors(),
            references,
            &self.expected,
            self.now,
        )
    }

    /// The outcomes of appraising after `bend`.
    pub(crate) fn bent(
        mut self,
        references: &ReferenceValues,
        bend: impl FnOnce(&mut Self),
    ) -> Vec<Outcome> {
        bend(&mut self);
        match self.appraise(references) {
            Ok(appraisal) => appraisal.outcomes().to_vec(),
            Err(rejection) => rejection.outcomes,
        }
    }
}

/// The documented examples: `policies/reference/KIND.toml`.
pub(crate) fn references(kind: &str) -> ReferenceValues {
    toml::from_str(&reference_text(kind)).unwrap_or_else(|e| panic!("{kind}: {e}"))
}

pub(crate) fn reference_text(kind: &str) -> String {
    let path = format!(
        "{}/../../policies/reference/{kind}.toml",
        env!("CARGO_MANIFEST_DIR")
    );
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// The checks that failed, each once.
pub(crate) fn failed(outcomes: &[Outcome]) -> Vec<Check> {
    let failed = outcomes.iter().filter(|one| one.status == Status::Failed);
    let mut checks: Vec<Check> = failed.map(|one| one.check).collect();
    checks.dedup();
    checks
}
