//! Whether a policy's measurements are those of the stated files.
//!
//! The endorser says what a file measures. One who says it of the wrong file would have the good file
//! rebuilt and the other one let in, so this computes it again (I3).

use siegel_attest::{ReferenceValue, TeeKind};
use siegel_endorse::{Binaries, Binary, Part};
use siegel_ident::Measurement;
use siegel_policy::{AccessPolicy, Finding, Severity};

/// A finding for each reference value of `policy` that an endorsed file is said to have, and has not.
pub fn check(policy: &AccessPolicy, binaries: &Binaries) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in &binaries.files {
        for value in file
            .measurements
            .iter()
            .filter(|value| demanded(policy, file.role, value))
        {
            findings.extend(judge(file, value));
        }
    }
    findings
}

fn demanded(policy: &AccessPolicy, role: Part, value: &ReferenceValue) -> bool {
    let values = match role {
        Part::Kms => &policy.kms.reference_values,
        Part::Root => &policy.roles.root.reference_values,
        Part::Worker => &policy.roles.worker.reference_values,
    };
    values.contains(value)
}

fn judge(file: &Binary, value: &ReferenceValue) -> Option<Finding> {
    let (name, role) = (&file.name, file.role.as_str());
    match of_file(file, value.tee()) {
        Some(measured) if value.measurement() == Some(measured) => None,
        Some(measured) => {
            let message = format!(
                "the policy lets in {} as {role}, and the endorsement says that this is {name} {}; but \
                 that file measures {measured}: what runs is \
                 another binary, or runs otherwise",
                value.digest(),
                file.sha256
            );
            Some(Finding::new(
                Severity::Error,
                "measurement-not-of-file",
                "I3",
                message,
            ))
        }
        None => {
            let message = format!(
                "this build of the command cannot compute what {name} measures as {role}: that the policy \
                 means this file is the endorser's word"
            );
            Some(Finding::new(
                Severity::Warning,
                "measurement-not-checked",
                "I3",
                message,
            ))
        }
    }
}

/// As the launcher starts and measures it: under its role's name, without environment.
#[cfg(feature = "simulation")]
fn of_file(file: &Binary, tee: TeeKind) -> Option<Measurement> {
    let argv0 = format!("siegel-{}", file.role.as_str());
    match tee {
        TeeKind::Simulated => Some(siegel_attest::simulated::measurement(
            file.sha256,
            &[&argv0],
            &[],
        )),
        // The file is one part of a guest's image: see `siegel policy measure`.
        TeeKind::SevSnp | TeeKind::Tdx | TeeKind::Sgx | TeeKind::AwsNitro => None,
    }
}

#[cfg(not(feature = "simulation"))]
fn of_file(_: &Binary, _: TeeKind) -> Option<Measurement> {
    None
}
