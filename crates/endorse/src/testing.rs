//! Endorsements for the tests of this crate and of others (feature `test-util`).

use siegel_attest::ReferenceValue;
use siegel_ident::{Digest, Timestamp};
use siegel_policy::AccessPolicy;

use crate::{Binaries, Binary, Build, Endorsement, Part, Subject};

/// All that `policy` lets in, in two documents (binaries, then one per program), for this window.
pub fn of_policy(
    policy: &AccessPolicy,
    not_before: Timestamp,
    not_after: Timestamp,
) -> Vec<Endorsement> {
    let document = |name: &str, subject| Endorsement {
        schema: Endorsement::SCHEMA.into(),
        name: name.into(),
        not_before,
        not_after,
        subject,
    };
    let files = [
        (Part::Kms, &policy.kms.reference_values),
        (Part::Root, &policy.roles.root.reference_values),
        (Part::Worker, &policy.roles.worker.reference_values),
    ];
    let binaries = Subject::Binaries(Binaries {
        flavour: policy.profile,
        files: files.map(|(role, values)| binary(role, values)).into(),
        build: Some(build()),
    });
    let programs = policy.programs.iter().copied();
    let programs = programs.map(|program| document("a program", Subject::Program(program)));
    std::iter::once(document("binaries", binaries))
        .chain(programs)
        .collect()
}

/// A binary of a role with these measurements.
pub fn binary(role: Part, measurements: &[ReferenceValue]) -> Binary {
    Binary {
        role,
        name: format!("siegel-{}", role.as_str()),
        sha256: Digest::of(role.as_str().as_bytes()),
        measurements: measurements.to_vec(),
    }
}

/// A reproducible build.
pub fn build() -> Build {
    Build {
        source: Digest::of(b"source"),
        commit: Some("0123456789abcdef0123456789abcdef01234567".into()),
        dirty: false,
        recipe: Some(Digest::of(b"recipe")),
        rustc: "rustc 1.95.0".into(),
        cc: "cc 12.2.0".into(),
    }
}
