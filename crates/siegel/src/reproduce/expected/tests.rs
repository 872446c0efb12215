//! Which endorsement is taken, and what speaks against it.

use siegel_attest::ReferenceValue;
use siegel_endorse::testing::of_policy;
use siegel_ident::Measurement;
use siegel_policy::testing::sample;

use super::*;

const NOW: Timestamp = Timestamp(1000);

fn key(n: u8) -> KeyDigest {
    KeyDigest::from_bytes([n; 32])
}

fn voice(policy: &AccessPolicy, endorser: u8, log_index: u64) -> Voice {
    let mut documents = of_policy(policy, Timestamp(500), Timestamp(2000));
    Voice {
        endorsement: documents.remove(0),
        endorser: key(endorser),
        log_index,
    }
}

fn change(voice: &mut Voice, change: impl FnOnce(&mut Binaries)) {
    if let Subject::Binaries(binaries) = &mut voice.endorsement.subject {
        change(binaries);
    }
}

fn ids(findings: &[Finding]) -> Vec<&str> {
    findings.iter().map(|finding| finding.id.as_str()).collect()
}

fn value(name: &str) -> ReferenceValue {
    ReferenceValue::simulated(Measurement::of(name.as_bytes()))
}

/// Catches: a match that is said for another endorser's build, or for the older one.
#[test]
fn the_endorsement_that_can_be_rebuilt_and_came_last_is_taken() {
    let policy = sample();
    let voices = [
        voice(&policy, 1, 3),
        voice(&policy, 1, 9),
        voice(&policy, 1, 5),
    ];
    let (best, findings) = for_policy(&policy, &voices, NOW);
    assert_eq!((best, ids(&findings)), (Some(&voices[1]), vec![]));
    let mut plain = voices.clone();
    change(&mut plain[1], |binaries| binaries.build = None);
    assert_eq!(for_policy(&policy, &plain, NOW).0, Some(&plain[2]));
    let mut dirty = voices.clone();
    change(&mut dirty[1], |b| b.build.as_mut().unwrap().dirty = true);
    assert_eq!(for_policy(&policy, &dirty, NOW).0, Some(&dirty[2]));
}

/// I3. Catches: an endorser whom the policy does not name.
#[test]
fn i3_only_the_policys_endorsers_count() {
    let mut policy = sample();
    policy.endorsers = vec![key(2)];
    let voices = [voice(&policy, 1, 3), voice(&policy, 2, 1)];
    assert_eq!(for_policy(&policy, &voices, NOW).0, Some(&voices[1]));
    let (best, findings) = for_policy(&policy, &voices[..1], NOW);
    assert_eq!(best, None);
    assert_eq!(ids(&findings), ["other-endorser"; 4]);
    let (best, findings) = for_policy(&policy, &[], NOW);
    assert_eq!((best, ids(&findings)), (None, vec!["not-endorsed"; 4]));
    assert!(findings.iter().all(|f| f.severity == Severity::Error));
}

/// I11. Catches: a simulation build taken for a production policy's.
#[test]
fn i11_the_other_flavour_does_not_count() {
    let policy = sample();
    let mut other = voice(&policy, 1, 3);
    change(&mut other, |binaries| {
        binaries.flavour = match binaries.flavour {
            Profile::Simulation => Profile::Production,
            Profile::Production => Profile::Simulation,
        };
    });
    assert_eq!(for_policy(&policy, &[other], NOW).0, None);
}

/// I3. Catches: MATCH for one of two workers that the policy lets in.
#[test]
fn i3_a_second_build_is_not_passed_over() {
    let mut policy = sample();
    let first = voice(&policy, 1, 3);
    let mut second = first.clone();
    second.log_index = 2;
    change(&mut second, |binaries| {
        binaries.files.retain(|file| file.role == Part::Worker);
        binaries.files[0].measurements = vec![value("another worker")];
        binaries.files[0].sha256 = Digest::of(b"another worker");
    });
    policy
        .roles
        .worker
        .reference_values
        .push(value("another worker"));
    let both = [first.clone(), second];
    let (best, findings) = for_policy(&policy, &both, NOW);
    assert_eq!(
        (best, ids(&findings)),
        (Some(&both[0]), vec!["other-build"])
    );
    let digest = Digest::of(b"another worker").to_string();
    assert!(findings[0].message.contains(&digest));
    assert_eq!(
        for_file(Digest::of(b"another worker"), &both),
        Some(&both[1])
    );
    let (_, findings) = for_policy(&policy, &both[..1], NOW);
    assert_eq!(ids(&findings), ["not-endorsed"]);
}

/// I9. An endorsement that is over can be rebuilt, and is said to be over.
#[test]
fn i9_an_expired_endorsement_is_said() {
    let policy = sample();
    let voices = [voice(&policy, 1, 3)];
    let (best, findings) = for_policy(&policy, &voices, Timestamp(2000));
    assert!(best.is_some());
    assert_eq!(ids(&findings), ["endorsement-expired"]);
    assert_eq!(findings[0].severity, Severity::Warning);
}

/// A measurement counts only in its role.
#[test]
fn i3_a_root_is_no_worker() {
    let policy = sample();
    let mut turned = voice(&policy, 1, 3);
    change(&mut turned, |binaries| {
        let (root, worker) = (
            binaries.files[1].measurements.clone(),
            binaries.files[2].measurements.clone(),
        );
        binaries.files[1].measurements = worker;
        binaries.files[2].measurements = root;
    });
    let (_, findings) = for_policy(&policy, &[turned], NOW);
    assert_eq!(ids(&findings), ["not-endorsed"; 3]);
}
