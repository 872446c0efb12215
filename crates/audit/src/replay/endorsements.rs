//! Endorsements: what stood in the log when a policy needed it (I1, I3, I9, I11).

use siegel_endorse::{Build, NotEndorsed, Subject, Thing, Voice, endorsed_until, things};
use siegel_ident::Timestamp;
use siegel_policy::{AccessPolicy, Policy};

use super::World;
use super::policies::label;
use super::wrong::Wrong;
use crate::anchors::AuditAnchors;
use crate::findings::Findings;
use crate::report::EndorsedReport;

/// Holds the policies' endorsers against the auditor's, and says what cannot be rebuilt.
pub(super) fn judge(world: &World, anchors: &AuditAnchors, findings: &mut Findings) {
    for logged in world.policies.values() {
        their_endorsers(&logged.policy, anchors, findings);
    }
    for voice in &world.voices {
        let mut policies = world.policies.values().map(|logged| &logged.policy);
        if policies.any(|policy| policy.endorsers.contains(&voice.endorser)) {
            build(voice, findings);
        }
    }
}

/// I3: a policy adds a demand, it chooses no anchors.
fn their_endorsers(policy: &Policy, anchors: &AuditAnchors, findings: &mut Findings) {
    let name = label(policy);
    if anchors.endorsers.is_empty() {
        return;
    }
    if policy.endorsers.is_empty() {
        let message = format!("policy {name} demands no endorsement, the anchors pin endorsers");
        findings.error("policy-no-endorser", "I3", message);
    }
    for endorser in &policy.endorsers {
        if !anchors.endorsers.contains(endorser) {
            let message = format!("policy {name} believes endorser {endorser}, the anchors do not");
            findings.error("policy-other-endorser", "I3", message);
        }
    }
}

/// Whether anyone can be expected to build the endorsed files again.
fn build(voice: &Voice, findings: &mut Findings) {
    let Subject::Binaries(binaries) = &voice.endorsement.subject else {
        return;
    };
    let name = format!(
        "endorsement {:?} (log entry {})",
        voice.endorsement.name, voice.log_index
    );
    let Some(build) = &binaries.build else {
        let message = format!("{name} does not say how its binaries were built");
        findings.warning("build-unknown", "", message);
        return;
    };
    if build.recipe.is_none() {
        let message = format!(
            "{name}: its binaries come from a plain cargo build; nobody can be expected to repeat \
             that bit for bit"
        );
        findings.warning("plain-cargo-build", "", message);
    }
    if build.dirty || build.commit.is_none() {
        let message = format!(
            "{name}: built from a tree that is no commit; nobody else can get that source by name"
        );
        findings.warning("dirty-tree", "", message);
    }
}

/// Until when a policy is endorsed at `at`, by what stood in the log before entry `before`; `None`
/// if it demands nothing.
pub(super) fn until(
    world: &World,
    policy: &AccessPolicy,
    at: Timestamp,
    before: u64,
) -> Result<Option<Timestamp>, Wrong> {
    // Only these can count; to leave the others out here spares copies of what strangers log (I14).
    let own = |voice: &&Voice| policy.endorsers.contains(&voice.endorser);
    let early = |voice: &&Voice| voice.log_index < before;
    let voices: Vec<Voice> = world
        .voices
        .iter()
        .filter(early)
        .filter(own)
        .cloned()
        .collect();
    let lack = match endorsed_until(policy, &voices, at) {
        Ok(until) => return Ok(until),
        Err(lack) => lack,
    };
    let all: Vec<Voice> = world.voices.iter().filter(own).cloned().collect();
    if endorsed_until(policy, &all, at).is_ok() {
        let why = format!("{lack}; the endorsement was logged only after it was needed");
        return Err(Wrong::new("endorsement-late", "I1", why));
    }
    // Strangers' voices count for nothing, but they make the better message.
    let lack = match lack {
        NotEndorsed::Nobody { .. } => endorsed_until(policy, &world.voices, at)
            .err()
            .unwrap_or(lack),
        lack => lack,
    };
    Err(Wrong::new(lack.code(), lack.invariant(), &lack))
}

/// True if `end` is the end of an endorsement that counts for the policy and stood in the log
/// before entry `before`.
pub(super) fn ends_at(world: &World, policy: &AccessPolicy, end: Timestamp, before: u64) -> bool {
    world.voices.iter().any(|voice| {
        voice.log_index < before
            && voice.endorsement.not_after == end
            && things(policy).any(|thing| voice.counts_for(policy, &thing))
    })
}

/// For each thing that a policy lets in: the endorsement that lasts longest.
pub(super) fn report(voices: &[Voice], policy: &AccessPolicy) -> Vec<EndorsedReport> {
    let longest = |thing: Thing| {
        let voice = voices
            .iter()
            .filter(|voice| voice.counts_for(policy, &thing))
            .max_by_key(|voice| voice.endorsement.not_after)?;
        let build = build_of(voice);
        let (role, digest) = match thing {
            Thing::Binary { part, value } => (part.as_str(), value.digest()),
            Thing::Program(program) => ("program", program.digest()),
        };
        Some(EndorsedReport {
            role: role.to_owned(),
            digest,
            endorser: voice.endorser,
            until: voice.endorsement.not_after,
            commit: build.and_then(|build| build.commit.clone()),
            recipe: build.and_then(|build| build.recipe),
        })
    };
    things(policy).filter_map(longest).collect()
}

fn build_of(voice: &Voice) -> Option<&Build> {
    match &voice.endorsement.subject {
        Subject::Binaries(binaries) => binaries.build.as_ref(),
        Subject::Program(_) => None,
    }
}
