//! RegisterPolicy.

use siegel_attest::Profile;
use siegel_ident::{ClusterId, ConfigDigest, Digest, PolicyDigest, Timestamp};
use siegel_ledger::{Done, Event};
use siegel_policy::AccessPolicy;
use siegel_policy::testing::real;
use siegel_translog::predicate;
use siegel_translog::testing::TestLog;

use crate::world::{PIPELINE, START, World, cost, parameters, reference, run_event};

fn code_of(change: impl FnOnce(&mut AccessPolicy)) -> (&'static str, &'static str) {
    let mut world = World::new();
    let mut policy = world.policy();
    change(&mut policy);
    let event = world.registration(&policy);
    world.code(event)
}

// I1, I2: catches a KMS that takes a policy without looking at its proof.
#[test]
fn i1_a_policy_without_its_proof_is_refused() {
    let mut world = World::new();
    let (policy, bundle) = world.publish(&world.policy());
    let mut other = world.policy();
    other.name = "other".to_owned();
    let (_, other_bundle) = world.publish(&other);

    let mut strange = TestLog::new("log.example", [8; 32]);
    let strange_bundle = strange
        .publish(&world.author, "policy", &policy, predicate::POLICY)
        .unwrap();
    let wrong_type = world
        .log
        .publish(&world.author, "policy", &policy, predicate::PROGRAM)
        .unwrap();
    for bad in [Vec::new(), other_bundle, strange_bundle, wrong_type] {
        let event = Event::RegisterPolicy {
            policy: policy.clone(),
            bundle: bad,
            endorsements: Vec::new(),
        };
        assert_eq!(world.code(event), ("bad-proof", "I1"));
    }
    let huge = vec![b' '; siegel_ledger::limits::MAX_BUNDLE + 1];
    let event = Event::RegisterPolicy {
        policy: policy.clone(),
        bundle: huge,
        endorsements: Vec::new(),
    };
    assert_eq!(world.code(event), ("out-of-bounds", "I14"));
    world.done(Event::RegisterPolicy {
        policy,
        bundle,
        endorsements: Vec::new(),
    });
}

// I2: catches a KMS that reads a policy more leniently than it hashes it.
#[test]
fn i2_only_canonical_policy_bytes_register() {
    let mut world = World::new();
    let bytes = world.policy().to_bytes().unwrap();
    let spaced = [b" ".as_slice(), &bytes].concat();
    let bundle = world
        .log
        .publish(&world.author, "policy", &spaced, predicate::POLICY)
        .unwrap();
    let event = Event::RegisterPolicy {
        policy: spaced,
        bundle,
        endorsements: Vec::new(),
    };
    assert_eq!(world.code(event), ("bad-policy", "I2"));
}

// I3: catches a KMS that serves a policy written for another cluster.
#[test]
fn i3_a_policy_for_another_cluster_is_refused() {
    let mismatch = ("policy-mismatch", "I3");
    assert_eq!(
        code_of(|p| p.kms.cluster_id = ClusterId::from(Digest::of(b"x"))),
        mismatch
    );
    assert_eq!(
        code_of(|p| p.kms.config = ConfigDigest::from(Digest::of(b"x"))),
        mismatch
    );
    assert_eq!(
        code_of(|p| p.log.origin = "other.example".to_owned()),
        mismatch
    );
    assert_eq!(code_of(|p| p.log.witnesses = 2), mismatch);
}

// I3: catches a policy that does not accept all members, or accepts a binary that is none.
#[test]
fn i3_the_policy_accepts_exactly_the_genesis_set() {
    let mismatch = ("policy-mismatch", "I3");
    assert_eq!(
        code_of(|p| p.kms.reference_values = vec![reference("x")]),
        mismatch
    );
    let more = code_of(|p| {
        p.kms.reference_values = vec![reference("kms"), reference("x")];
        p.kms.reference_values.sort();
    });
    assert_eq!(more, mismatch);
}

// I11: catches a production policy that gets keys from a simulated cluster.
#[test]
fn i11_the_profiles_are_the_same() {
    let code = code_of(|p| {
        p.profile = Profile::Production;
        p.log.witnesses = 2;
        p.kms.reference_values = vec![real(1)];
        p.roles.root.reference_values = vec![real(2)];
        p.roles.worker.reference_values = vec![real(3)];
    });
    assert_eq!(code, ("profile-mismatch", "I11"));
    // And the other way round: a simulation's policy gets no keys from a cluster of production.
    let mut production = World::production();
    let event = production.registration(&production.policy());
    assert_eq!(production.code(event), ("profile-mismatch", "I11"));
}

// I9: catches a window that is not looked at, or whose end counts as inside.
#[test]
fn i9_the_window_holds() {
    for (now, refused) in [
        (START - 1, true),
        (START + 99_999, false),
        (START + 100_000, true),
    ] {
        let mut world = World::new();
        world.now = now;
        let event = world.registration(&world.policy());
        if refused {
            assert_eq!(world.code(event), ("outside-window", "I9"), "{now}");
        } else {
            world.done(event);
        }
    }
}

// I6: catches a second "first" version, which would come with a fresh budget.
#[test]
fn i6_a_version_follows_the_current_one() {
    let mut world = World::new();
    let first = world.register(&world.policy());
    let mut second = world.policy();
    second.name = "second".to_owned();
    for bad in [None, Some(PolicyDigest::of(b"x"))] {
        second.predecessor = bad;
        let event = world.registration(&second);
        assert_eq!(world.code(event), ("wrong-predecessor", "I6"));
    }
    second.predecessor = Some(first);
    let second = world.register(&second);
    // A fork of the first version comes too late.
    let mut fork = world.policy();
    fork.name = "fork".to_owned();
    fork.predecessor = Some(first);
    let event = world.registration(&fork);
    assert_eq!(world.code(event), ("wrong-predecessor", "I6"));
    assert_eq!(world.ledger.pipeline(PIPELINE).unwrap().current, second);
}

// I6: catches a new version that refreshes or raises the budget.
#[test]
fn i6_a_version_may_lower_but_never_raise_and_spent_carries_over() {
    let (mut world, first, epoch) = World::open();
    world.taken(1, first, epoch);
    let spent = world.spent();
    assert_eq!(spent, cost(30, 6));
    let mut second = world.policy();
    second.predecessor = Some(first);
    for raised in [cost(101, 50), cost(100, 51), cost(99, 51)] {
        second.privacy.total = raised;
        let event = world.registration(&second);
        assert_eq!(world.code(event), ("budget-raised", "I6"));
    }
    second.privacy.total = cost(40, 5);
    world.register(&second);
    let pipeline = world.ledger.pipeline(PIPELINE).unwrap();
    assert_eq!((pipeline.total, pipeline.spent), (cost(40, 5), spent));
    assert_eq!(
        pipeline.left,
        cost(10, 0),
        "a total below what is spent leaves nothing"
    );
}

// I6: catches a run that looks only at the part of the budget that it costs. Found by the model.
#[test]
fn i6_a_pipeline_that_is_overdrawn_in_one_part_starts_nothing() {
    let (mut world, first, epoch) = World::open();
    world.taken(1, first, epoch);
    let mut second = world.policy();
    second.predecessor = Some(first);
    second.privacy.total = cost(40, 5);
    let second = world.register(&second);
    let epoch = world.epoch(second);
    let mut claim = world.claim(second, vec![epoch]);
    for spent in [cost(1, 0), cost(0, 0)] {
        claim.parameters = parameters(&[spent]);
        assert_eq!(world.code(run_event(2, &claim)), ("budget-exhausted", "I6"));
    }
}

// I6: catches a registration that, repeated, would reset the pipeline.
#[test]
fn i6_registering_again_changes_nothing() {
    let (mut world, policy, epoch) = World::open();
    world.taken(1, policy, epoch);
    let receipts = world.ledger.receipts();
    let event = world.registration(&world.policy());
    assert_eq!(world.done(event), Done::PolicyRegistered { policy });
    assert_eq!(
        (world.spent(), world.ledger.receipts()),
        (cost(30, 6), receipts)
    );
}

// I14: catches a table of policies without a bound.
#[test]
fn i14_policies_are_bounded() {
    let mut world = World::new();
    for n in 0..siegel_ledger::limits::MAX_POLICIES {
        let mut policy = world.policy();
        policy.pipeline = format!("p{n}");
        world.register(&policy);
    }
    let event = world.registration(&world.policy());
    assert_eq!(world.code(event), ("full", "I14"));
}

// I9: a superseded policy starts nothing, yet what it started goes on.
#[test]
fn i3_a_superseded_policy_starts_nothing() {
    let (mut world, first, epoch) = World::open();
    let run = world.taken(1, first, epoch);
    let mut second = world.policy();
    second.predecessor = Some(first);
    world.register(&second);
    let claim = world.claim(first, vec![epoch]);
    assert_eq!(
        world.code(run_event(2, &claim)),
        ("policy-superseded", "I3")
    );
    let secret = siegel_ledger::Wrapped::new(vec![1]);
    let code = world.code(Event::OpenEpoch {
        policy: first,
        secret,
    });
    assert_eq!(code, ("policy-superseded", "I3"));
    world.commit(run);
    assert!(world.ledger.policy(first).is_some());
    assert_eq!(world.ledger.clock(), Timestamp(START));
}
