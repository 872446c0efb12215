//! The result of a rebuild.

mod text;

use serde::Serialize;
use siegel_attest::Profile;
use siegel_endorse::Part;
use siegel_ident::{Digest, PolicyDigest};
use siegel_policy::{Finding, Severity};

use super::causes::Cause;
use super::expected::{EndorsementRef, Expected};
use super::lookup::Looked;
use super::rebuild::Rebuilt;
use crate::failure::Exit;

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The same bytes.
    Match,
    /// Other bytes, or certainly other bytes.
    Mismatch,
    /// Nobody says how to build these binaries.
    NotReproducible,
    /// Source and recipe are as stated; nothing was built (`--no-build`).
    NotBuilt,
}

/// `siegel/reproduce/v1`.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub schema: &'static str,
    pub result: Outcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<PolicyDigest>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub release: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endorsement: Option<EndorsementRef>,
    pub flavour: Option<Profile>,
    pub commit: Option<String>,
    pub here: bool,
    pub recipe: Option<Digest>,
    pub source: Option<Digest>,
    pub binaries: Vec<BinaryReport>,
    pub causes: Vec<Cause>,
    pub findings: Vec<Finding>,
    pub timing: Timing,
}

/// One binary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BinaryReport {
    pub name: String,
    pub role: Part,
    pub expected: Digest,
    pub built: Option<Digest>,
    pub result: Outcome,
}

/// Seconds.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Timing {
    pub build_s: Option<f64>,
    pub total_s: f64,
}

impl Report {
    /// Of what was stated and what was built; `rebuilt` is absent if nothing could be repeated.
    pub fn of(looked: Looked, rebuilt: Option<Rebuilt>, here: bool) -> Self {
        let Looked {
            policy,
            endorsement,
            expected,
            mut findings,
        } = looked;
        let rebuilt = match (&expected, rebuilt) {
            (Some(_), Some(rebuilt)) => rebuilt,
            _ => {
                let mut report = Self::empty(policy, endorsement, here);
                report.state(expected.as_ref());
                report.findings = sorted(findings);
                return report;
            }
        };
        let mut report = Self::empty(policy, endorsement, here);
        report.state(expected.as_ref());
        let files = expected.iter().flat_map(|expected| &expected.files);
        report.binaries = files
            .map(|file| {
                let built = rebuilt
                    .record
                    .as_ref()
                    .map(|record| record.binaries.get(&file.name));
                let result = match built {
                    None if rebuilt.certain => Outcome::Mismatch,
                    None => Outcome::NotBuilt,
                    Some(built) if built == Some(&file.sha256) => Outcome::Match,
                    Some(_) => Outcome::Mismatch,
                };
                BinaryReport {
                    name: file.name.clone(),
                    role: file.role,
                    expected: file.sha256,
                    built: built.flatten().copied(),
                    result,
                }
            })
            .collect();
        let binaries = &report.binaries;
        let all = |wanted| !binaries.is_empty() && binaries.iter().all(|b| b.result == wanted);
        report.result = if all(Outcome::Match) {
            Outcome::Match
        } else if all(Outcome::NotBuilt) && rebuilt.causes.is_empty() {
            Outcome::NotBuilt
        } else {
            Outcome::Mismatch
        };
        findings.extend(rebuilt.findings);
        if report.result == Outcome::Match {
            // Another comment in the source, or another compiler, and the same bytes.
            let harmless = |cause: &Cause| {
                let message = format!("without effect on the bytes: {}", cause.message);
                Finding::new(Severity::Info, cause.id, "", message)
            };
            findings.extend(rebuilt.causes.iter().map(harmless));
        } else {
            report.causes = rebuilt.causes;
        }
        if report.flavour == Some(Profile::Simulation) {
            let message = "INSECURE SIMULATION: these binaries take simulated evidence";
            findings.push(Finding::new(
                Severity::Warning,
                "insecure-simulation",
                "I11",
                message,
            ));
        }
        report.timing.build_s = rebuilt.build_s;
        report.findings = sorted(findings);
        report
    }

    fn empty(
        policy: Option<PolicyDigest>,
        endorsement: Option<EndorsementRef>,
        here: bool,
    ) -> Self {
        Self {
            schema: "siegel/reproduce/v1",
            result: Outcome::NotReproducible,
            policy,
            release: None,
            endorsement,
            flavour: None,
            commit: None,
            here,
            recipe: None,
            source: None,
            binaries: Vec::new(),
            causes: Vec::new(),
            findings: Vec::new(),
            timing: Timing::default(),
        }
    }

    fn state(&mut self, expected: Option<&Expected>) {
        if let Some(expected) = expected {
            self.flavour = Some(expected.flavour);
            self.commit.clone_from(&expected.build.commit);
            self.recipe = expected.build.recipe;
            self.source = Some(expected.build.source);
        }
    }

    /// 3 unless all is as stated: a match with an error finding is none of the whole policy.
    pub fn exit(&self) -> Exit {
        match self.result {
            Outcome::Mismatch | Outcome::NotReproducible => Exit::NotTrustworthy,
            _ if Finding::any_error(&self.findings) => Exit::NotTrustworthy,
            Outcome::Match | Outcome::NotBuilt => Exit::Ok,
        }
    }
}

/// The worst first.
fn sorted(mut findings: Vec<Finding>) -> Vec<Finding> {
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    findings
}

#[cfg(test)]
mod tests;
