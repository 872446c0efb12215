//! A policy is covered only if everything that it lets in is, by the right key, flavour and time.

use siegel_ident::Timestamp;
use siegel_policy::testing::{measured, sample};
use siegel_translog::predicate;
use siegel_translog::testing::{TestLog, TestSigner};

use super::*;
use crate::testing::of_policy;
use crate::{EndorseError, Endorsement};

const OURS: KeyDigest = KeyDigest::from_bytes([1; 32]);
const OTHER: KeyDigest = KeyDigest::from_bytes([2; 32]);
const NOW: Timestamp = Timestamp(150);

fn policy() -> AccessPolicy {
    let mut policy = sample();
    policy.endorsers = vec![OURS];
    policy
}

fn voice(endorsement: Endorsement) -> Voice {
    Voice {
        endorsement,
        endorser: OURS,
        log_index: 0,
    }
}

fn voices() -> Vec<Voice> {
    let all = of_policy(&policy(), Timestamp(100), Timestamp(200));
    all.into_iter().map(voice).collect()
}

#[test]
fn i3_a_policy_that_asks_for_nothing_needs_nothing() {
    assert_eq!(endorsed_until(&sample(), &[], NOW), Ok(None));
    assert!(endorsed_until(&policy(), &[], NOW).is_err());
}

#[test]
fn i9_the_first_to_end_counts_and_of_several_the_last() {
    let mut all = voices();
    assert_eq!(
        endorsed_until(&policy(), &all, NOW),
        Ok(Some(Timestamp(200)))
    );
    all[1].endorsement.not_after = Timestamp(180);
    assert_eq!(
        endorsed_until(&policy(), &all, NOW),
        Ok(Some(Timestamp(180)))
    );
    let mut renewed = all[1].clone();
    renewed.endorsement.not_after = Timestamp(300);
    all.push(renewed);
    assert_eq!(
        endorsed_until(&policy(), &all, NOW),
        Ok(Some(Timestamp(200)))
    );
    // A renewal that has not begun counts for nothing yet.
    all[3].endorsement.not_before = Timestamp(151);
    assert_eq!(
        endorsed_until(&policy(), &all, NOW),
        Ok(Some(Timestamp(180)))
    );
}

#[test]
fn i9_the_window_is_exact() {
    for (now, fine) in [(99, false), (100, true), (199, true), (200, false)] {
        let found = endorsed_until(&policy(), &voices(), Timestamp(now));
        assert_eq!(found.is_ok(), fine, "{now}");
        if let Err(error) = found {
            assert_eq!(
                (error.code(), error.invariant()),
                ("endorsement-expired", "I9")
            );
        }
    }
}

// I3: each thing by itself, left out or endorsed by another.
#[test]
fn i3_each_thing_needs_a_voice_of_the_right_key() {
    for at in 0..3 {
        let mut without = voices();
        without.remove(at);
        let error = endorsed_until(&policy(), &without, NOW).unwrap_err();
        assert!(matches!(error, NotEndorsed::Nobody { .. }), "{error}");
        let mut other = voices();
        other[at].endorser = OTHER;
        let error = endorsed_until(&policy(), &other, NOW).unwrap_err();
        assert!(
            matches!(error, NotEndorsed::OtherEndorser { found: OTHER, .. }),
            "{error}"
        );
        let code = [
            "binary-not-endorsed",
            "program-not-endorsed",
            "program-not-endorsed",
        ][at];
        assert_eq!((error.code(), error.invariant()), (code, "I3"));
    }
}

// I3: an endorsement for one role is none for another, and every reference value counts.
#[test]
fn i3_every_reference_value_in_its_role() {
    for (part, add) in [
        (
            Part::Kms,
            (|p: &mut AccessPolicy| p.kms.reference_values.push(measured(4))) as fn(&mut _),
        ),
        (Part::Root, |p| {
            p.roles.root.reference_values.push(measured(5))
        }),
        (Part::Worker, |p| {
            p.roles.worker.reference_values.push(measured(7))
        }),
    ] {
        let mut wider = policy();
        add(&mut wider);
        match endorsed_until(&wider, &voices(), NOW).unwrap_err() {
            NotEndorsed::Nobody {
                thing: Thing::Binary { part: named, .. },
            } => assert_eq!(named, part),
            other => panic!("{other}"),
        }
    }
}

#[test]
fn i11_a_simulation_build_is_not_endorsed_for_production() {
    let mut production = policy();
    production.profile = Profile::Production;
    let error = endorsed_until(&production, &voices(), NOW).unwrap_err();
    assert_eq!(
        (error.code(), error.invariant()),
        ("endorsed-other-flavour", "I11")
    );
}

// I1, I2: a voice is only what stands in the log, byte for byte, as an endorsement.
#[test]
fn i1_a_voice_must_be_in_the_log() {
    let mut log = TestLog::new("log.example.org", [1; 32]);
    let signer = TestSigner::generate().unwrap();
    let document = voices().remove(0).endorsement;
    let bytes = document.to_bytes().unwrap();
    let bundle = log
        .publish(&signer, "e", &bytes, predicate::ENDORSEMENT)
        .unwrap();
    let voice = Voice::proved(&bytes, &bundle, &log.anchors(), Timestamp(0)).unwrap();
    assert_eq!(
        (voice.endorsement, voice.endorser),
        (document, signer.key().digest())
    );

    let mut other = bytes.clone();
    let at = other.len() / 2;
    other[at] ^= 1;
    assert!(matches!(
        Voice::proved(&other, &bundle, &log.anchors(), Timestamp(0)),
        Err(EndorseError::NotLogged(_))
    ));
    let as_policy = log
        .publish(&signer, "e", &bytes, predicate::POLICY)
        .unwrap();
    assert!(Voice::proved(&bytes, &as_policy, &log.anchors(), Timestamp(0)).is_err());
    let elsewhere = TestLog::new("log.example.org", [2; 32]);
    assert!(Voice::proved(&bytes, &bundle, &elsewhere.anchors(), Timestamp(0)).is_err());
}
