//! Who must have vouched for binaries and programs, and whom a device believes (I1, I3).

use siegel_attest::Profile;
use siegel_endorse::{Endorsement, Subject, VOICES_MAX};
use siegel_ident::{KeyDigest, Timestamp};
use siegel_translog::predicate;
use siegel_translog::testing::{TestLog, TestSigner};

use crate::ClientRefusal;
use crate::testing::{NOW, Plan, World, endorsed};

fn outcome(endorse: fn(&mut Vec<Endorsement>)) -> (&'static str, &'static str) {
    let plan = Plan {
        endorse,
        ..Plan::default()
    };
    let refused = World::with(plan).verify().err();
    refused.map_or(("ok", ""), |why| (why.code(), why.invariant()))
}

/// I3. A measurement or program that nobody vouches for; I11, as a build of the other flavour; I9, no
/// more or not yet at this device's clock.
#[test]
fn i3_everything_that_the_policy_lets_in_must_be_endorsed() {
    assert_eq!(outcome(|_| ()), ("ok", ""));
    assert_eq!(outcome(Vec::clear), ("binary-not-endorsed", "I3"));
    let no_program = |said: &mut Vec<Endorsement>| drop(said.pop());
    assert_eq!(outcome(no_program), ("program-not-endorsed", "I3"));
    let production = |said: &mut Vec<Endorsement>| {
        for one in said {
            if let Subject::Binaries(binaries) = &mut one.subject {
                binaries.flavour = Profile::Production;
            }
        }
    };
    assert_eq!(outcome(production), ("endorsed-other-flavour", "I11"));
    let ended = |said: &mut Vec<Endorsement>| said[1].not_after = NOW;
    assert_eq!(outcome(ended), ("endorsement-expired", "I9"));
    let early = |said: &mut Vec<Endorsement>| said[0].not_before = Timestamp(NOW.0 + 1);
    assert_eq!(outcome(early), ("endorsement-expired", "I9"));
}

/// I9. Nothing is sealed when the first of the endorsements has ended.
#[test]
fn i9_nothing_is_sealed_after_an_endorsement() {
    let plan = Plan {
        endorse: |said| said[2].not_after = Timestamp(NOW.0 + 60),
        ..Plan::default()
    };
    let verified = World::with(plan).verify().ok().unwrap();
    assert_eq!(verified.expires(), Timestamp(NOW.0 + 60));
}

/// I3. Somebody else's voice does not count.
#[test]
fn i3_only_the_policys_endorsers_count() {
    let mut world = World::honest();
    let stranger = TestSigner::generate().unwrap();
    let said = Endorsement::parse(&world.endorsements[0].document).unwrap();
    world.endorsements[0] = endorsed(&mut world.log, &stranger, &said);
    assert_eq!(world.outcome(), "binary-not-endorsed");
}

/// I1. A policy adds demands, it chooses no anchors: the device's own endorsers are compared with the
/// policy's.
#[test]
fn i1_a_device_believes_its_own_endorsers_only() {
    let stranger = KeyDigest::from_bytes([0; 32]);
    let nobody = Plan {
        policy: |p| p.endorsers.clear(),
        ..Plan::default()
    };
    let mut world = World::with(nobody);
    assert_eq!(world.outcome(), "endorsers-not-demanded");
    // A device without endorsers of its own leaves it to the policy.
    world.config.endorsers.clear();
    world.endorsements.clear();
    assert_eq!(world.outcome(), "ok");

    let mut world = World::honest();
    world.config.endorsers.push(stranger);
    assert_eq!(world.outcome(), "ok");
    world.config.endorsers = vec![stranger];
    assert_eq!(world.outcome(), "endorser-not-pinned");
    world.config.endorsers.clear();
    assert_eq!(world.outcome(), "ok");
    world.endorsements.clear();
    assert_eq!(world.outcome(), "binary-not-endorsed");

    // One of ours has endorsed everything, but a stranger could go on when that ends.
    let more = Plan {
        policy: |p| p.endorsers.insert(0, KeyDigest::from_bytes([0; 32])),
        ..Plan::default()
    };
    let mut world = World::with(more);
    assert_eq!(world.outcome(), "endorser-not-pinned");
    world.config.endorsers.push(stranger);
    assert_eq!(world.outcome(), "ok");
}

/// I1, I2. An endorsement that is not in the pinned log in these bytes, or is none.
#[test]
fn i1_endorsements_are_logged() {
    let mut world = World::honest();
    world.endorsements[0].bundle = world.policy_bundle.clone();
    assert_eq!(world.outcome(), "endorsement-not-logged");

    let mut world = World::honest();
    world.endorsements[0].document.push(b'\n');
    assert_eq!(world.outcome(), "endorsement-not-logged");

    let mut world = World::honest();
    let said = Endorsement::parse(&world.endorsements[0].document).unwrap();
    let mut other = TestLog::new("log.example.test", [9; 32]);
    world.endorsements[0] = endorsed(&mut other, &world.endorser, &said);
    assert_eq!(world.outcome(), "endorsement-not-logged");

    let mut world = World::honest();
    let publish = |world: &mut World, bytes: &[u8], kind| {
        let logged = world.log.publish(&world.endorser, "x", bytes, kind);
        world.endorsements[0].document = bytes.to_vec();
        world.endorsements[0].bundle = logged.unwrap();
    };
    let document = world.endorsements[0].document.clone();
    publish(&mut world, &document, predicate::POLICY);
    assert_eq!(world.outcome(), "endorsement-not-logged");
    publish(&mut world, b"{}", predicate::ENDORSEMENT);
    assert_eq!(world.outcome(), "endorsement-malformed");
}

/// I1. Evidence over a checkpoint from before an endorsement was public.
#[test]
fn i1_checkpoint_before_an_endorsement() {
    let mut world = World::honest();
    world.endorse_again();
    assert!(matches!(
        world.verify().err(),
        Some(ClientRefusal::CheckpointTooOld {
            size: 5,
            what: "endorsement",
            log_index: 5
        })
    ));
    let now = world.log.checkpoint();
    world.rebind(&now);
    assert_eq!(world.outcome(), "ok");
}

/// I14. So many are looked at, and no more.
#[test]
fn i14_endorsements_are_bounded() {
    let mut world = World::honest();
    let one = world.endorsements[0].clone();
    world.endorsements.resize(VOICES_MAX, one.clone());
    assert_eq!(world.outcome(), "ok");
    world.endorsements.push(one);
    assert_eq!(world.outcome(), "endorsements-too-many");
}
