//! What the rebuilt binaries must be, and who says so.

use serde::Serialize;
use siegel_attest::{Profile, ReferenceValue};
use siegel_endorse::{Binaries, Binary, Build, Manifest, Part, Subject, Voice};
use siegel_ident::{Digest, KeyDigest, Timestamp};
use siegel_policy::{AccessPolicy, Finding, Severity};

/// Binaries as someone stated them, and all that is known of how they were built.
#[derive(Clone, Debug)]
pub struct Expected {
    pub flavour: Profile,
    pub files: Vec<ExpectedFile>,
    pub build: Build,
    /// The source manifest, if it could be had.
    pub manifest: Option<Manifest>,
    /// The text of the recipe, if it could be had.
    pub recipe: Option<String>,
}

/// One binary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedFile {
    pub role: Part,
    pub name: String,
    pub sha256: Digest,
}

/// Which endorsement is rebuilt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EndorsementRef {
    pub log_index: u64,
    pub endorser: KeyDigest,
    pub name: String,
    pub not_before: Timestamp,
    pub not_after: Timestamp,
}

impl EndorsementRef {
    pub fn of(voice: &Voice) -> Self {
        Self {
            log_index: voice.log_index,
            endorser: voice.endorser,
            name: voice.endorsement.name.clone(),
            not_before: voice.endorsement.not_before,
            not_after: voice.endorsement.not_after,
        }
    }
}

/// The files of an endorsement.
pub fn files(binaries: &Binaries) -> Vec<ExpectedFile> {
    let file = |file: &Binary| ExpectedFile {
        role: file.role,
        name: file.name.clone(),
        sha256: file.sha256,
    };
    binaries.files.iter().map(file).collect()
}

/// The endorsement of binaries that covers most of what a policy lets in; of several the one that can
/// be rebuilt, holds now, and came last. What speaks against taking it for the whole policy stands in
/// the findings.
pub fn for_policy<'a>(
    policy: &AccessPolicy,
    voices: &'a [Voice],
    now: Timestamp,
) -> (Option<&'a Voice>, Vec<Finding>) {
    let mut findings = Vec::new();
    let values = values(policy);
    let counts = |voice: &&Voice| {
        let demanded = policy.endorsers.is_empty() || policy.endorsers.contains(&voice.endorser);
        let flavour = binaries(voice).is_some_and(|binaries| binaries.flavour == policy.profile);
        demanded && flavour
    };
    let covers = |voice: &Voice| values.iter().filter(|value| names(voice, value)).count();
    let best = voices
        .iter()
        .filter(counts)
        .filter(|voice| covers(voice) > 0)
        .max_by_key(|voice| {
            let build = binaries(voice).and_then(|binaries| binaries.build.as_ref());
            let rebuildable = build.is_some_and(Build::is_reproducible);
            let holds = voice.endorsement.holds_at(now);
            (covers(voice), rebuildable, holds, voice.log_index)
        });
    let missing = values
        .iter()
        .filter(|value| best.is_none_or(|best| !names(best, value)));
    for value in missing {
        let counted = voices
            .iter()
            .filter(counts)
            .find_map(|voice| file(voice, value));
        let anyone = voices.iter().find(|voice| names(voice, value));
        findings.push(not_covered(value, counted, anyone));
    }
    findings.extend(best.and_then(|best| expired(best, now)));
    (best, findings)
}

/// A reference value outside the endorsement that is rebuilt: whose it is instead.
fn not_covered(value: &Value, counted: Option<&Binary>, anyone: Option<&Voice>) -> Finding {
    let (part, measurement) = (value.0.as_str(), value.1.digest());
    let (id, message) = match (counted, anyone) {
        (Some(file), _) => (
            "other-build",
            format!(
                "the policy lets in another build of the {part} as well, which this did not rebuild: \
                 siegel reproduce --digest {}",
                file.sha256
            ),
        ),
        (None, Some(voice)) => (
            "other-endorser",
            format!(
                "{part} measuring {measurement} is endorsed only by {}, or for the other flavour: not \
                 as the policy demands",
                voice.endorser
            ),
        ),
        (None, None) => (
            "not-endorsed",
            format!(
                "{part} measuring {measurement} is endorsed by nobody in this log: nobody says what \
                 source it is of"
            ),
        ),
    };
    Finding::new(Severity::Error, id, "I3", message)
}

/// The last endorsement that names a file of this digest.
pub fn for_file(digest: Digest, voices: &[Voice]) -> Option<&Voice> {
    voices
        .iter()
        .filter(|voice| {
            let files = binaries(voice).map(|binaries| binaries.files.iter());
            files.is_some_and(|mut files| files.any(|file| file.sha256 == digest))
        })
        .max_by_key(|voice| voice.log_index)
}

/// An endorsement that does not hold now can still be rebuilt, but lets nobody in.
pub fn expired(voice: &Voice, now: Timestamp) -> Option<Finding> {
    let endorsement = &voice.endorsement;
    if endorsement.holds_at(now) {
        return None;
    }
    let message = format!(
        "the endorsement holds from {} until {}, not at {now}",
        endorsement.not_before, endorsement.not_after
    );
    Some(Finding::new(
        Severity::Warning,
        "endorsement-expired",
        "I9",
        message,
    ))
}

/// The binaries of an endorsement.
pub fn binaries(voice: &Voice) -> Option<&Binaries> {
    match &voice.endorsement.subject {
        Subject::Binaries(binaries) => Some(binaries),
        Subject::Program(_) => None,
    }
}

type Value = (Part, ReferenceValue);

fn values(policy: &AccessPolicy) -> Vec<Value> {
    let of = |part, values: &[ReferenceValue]| -> Vec<Value> {
        values.iter().map(|value| (part, value.clone())).collect()
    };
    [
        of(Part::Kms, &policy.kms.reference_values),
        of(Part::Root, &policy.roles.root.reference_values),
        of(Part::Worker, &policy.roles.worker.reference_values),
    ]
    .concat()
}

fn names(voice: &Voice, value: &Value) -> bool {
    file(voice, value).is_some()
}

/// The file of an endorsement that measures thus in the role.
fn file<'a>(voice: &'a Voice, (part, value): &Value) -> Option<&'a Binary> {
    let mut files = binaries(voice)?.files.iter();
    files.find(|file| file.role == *part && file.measurements.contains(value))
}

#[cfg(test)]
mod tests;
