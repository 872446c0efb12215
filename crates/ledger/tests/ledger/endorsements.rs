//! What a policy demands of its endorsers.

use siegel_attest::Profile;
use siegel_endorse::testing::of_policy;
use siegel_endorse::{ENDORSEMENT_MAX, Endorsement, NotEndorsed, Part, Subject, Thing};
use siegel_ident::{KeyDigest, RequestId, Timestamp};
use siegel_ledger::limits::{MAX_BUNDLE, MAX_ENDORSEMENT_BYTES, MAX_ENDORSEMENTS};
use siegel_ledger::{EndorsementProof, Entry, Event, Refusal};
use siegel_translog::predicate;
use siegel_translog::testing::{TestLog, TestSigner};

use crate::endorsed_until::{UNTIL, registered};
use crate::receipts::assert_replay;
use crate::world::{START, World, program, prove, reference};

/// Code and invariant of registering the demanding policy with these; nothing is registered.
fn code_with(
    endorse: impl FnOnce(&mut World, Vec<Endorsement>) -> Vec<EndorsementProof>,
) -> (&'static str, &'static str) {
    let mut world = World::new();
    let policy = world.demanding();
    let all = of_policy(&policy, Timestamp(START), Timestamp(UNTIL));
    let endorsements = endorse(&mut world, all);
    let event = world.endorsed_registration(&policy, endorsements);
    let code = world.code(event);
    assert!(
        world
            .ledger
            .policy(policy.compile().unwrap().digest())
            .is_none()
    );
    code
}

fn by_endorser(world: &mut World, all: &[Endorsement]) -> Vec<EndorsementProof> {
    all.iter()
        .map(|one| prove(&mut world.log, &world.endorser, one))
        .collect()
}

// I3: catches a KMS that gives keys for binaries and programs that nobody has vouched for, or
// somebody else.
#[test]
fn i3_all_that_a_policy_lets_in_is_endorsed_by_its_endorser() {
    assert_eq!(code_with(|_, _| Vec::new()), ("binary-not-endorsed", "I3"));
    assert_eq!(
        code_with(|world, all| by_endorser(world, &all[..1])),
        ("program-not-endorsed", "I3")
    );
    assert_eq!(
        code_with(|world, all| by_endorser(world, &all[1..])),
        ("binary-not-endorsed", "I3")
    );
    let other = code_with(|world, all| {
        all.iter()
            .map(|one| prove(&mut world.log, &world.author, one))
            .collect()
    });
    assert_eq!(other, ("binary-not-endorsed", "I3"));
}

// I11: catches a simulation that runs on what is endorsed for production, and the other way round.
#[test]
fn i11_endorsed_for_the_policys_flavour() {
    let code = code_with(|world, mut all| {
        if let Subject::Binaries(binaries) = &mut all[0].subject {
            binaries.flavour = Profile::Production;
        }
        by_endorser(world, &all)
    });
    assert_eq!(code, ("endorsed-other-flavour", "I11"));
}

// I9: catches an endorsement that is not looked at with the replicated clock.
#[test]
fn i9_endorsements_hold_at_the_replicated_clock() {
    for (now, fine) in [
        (START + 99, false),
        (START + 100, true),
        (START + 199, true),
        (START + 200, false),
    ] {
        let mut world = World::new();
        world.now = now;
        let policy = world.demanding();
        let endorsements = world.endorse(&policy, START + 100, START + 200);
        let event = world.endorsed_registration(&policy, endorsements);
        if fine {
            world.done(event);
        } else {
            assert_eq!(world.code(event), ("endorsement-expired", "I9"), "{now}");
        }
    }
}

// I1, I2: catches a KMS that believes an endorsement which the cluster's log does not show.
#[test]
fn i1_an_endorsement_without_its_proof_is_refused() {
    let bad = ("bad-endorsement", "I1");
    let of = |change: fn(&mut World, &mut Vec<EndorsementProof>)| {
        code_with(|world, all| {
            let mut proofs = by_endorser(world, &all);
            change(world, &mut proofs);
            proofs
        })
    };
    assert_eq!(of(|_, proofs| proofs[1].bundle.clear()), bad);
    assert_eq!(of(|_, proofs| proofs[1].document.clear()), bad);
    assert_eq!(
        of(|_, proofs| proofs[0].bundle = proofs[1].bundle.clone()),
        bad
    );
    // Another log of the same name, and another kind of statement in the right one.
    let strange = of(|world, proofs| {
        let mut log = TestLog::new("log.example", [8; 32]);
        let one = Endorsement::parse(&proofs[0].document).unwrap();
        proofs[0] = prove(&mut log, &world.endorser, &one);
    });
    assert_eq!(strange, bad);
    let as_policy = of(|world, proofs| {
        let document = &proofs[0].document;
        let bundle = world
            .log
            .publish(&world.endorser, "e", document, predicate::POLICY);
        proofs[0].bundle = bundle.unwrap();
    });
    assert_eq!(as_policy, bad);
    // One too many that is none: not passed over (I2).
    let more = of(|_, proofs| {
        let (document, bundle) = (b"{}".to_vec(), proofs[0].bundle.clone());
        proofs.push(EndorsementProof { document, bundle });
    });
    assert_eq!(more, bad);
}

// I3: catches endorsements that are taken and then not enforced.
#[test]
fn i3_a_policy_without_endorsers_takes_no_endorsements() {
    let mut world = World::new();
    let policy = world.policy();
    let endorsements = world.endorse(&policy, START, UNTIL);
    let event = world.endorsed_registration(&policy, endorsements);
    assert_eq!(world.code(event), ("endorsements-not-demanded", "I3"));
    let policy = world.register(&policy);
    let view = world.ledger.policy(policy).unwrap();
    assert_eq!(view.endorsed_until, None);
}

// I14: catches endorsements without a bound, and bounds that an entry cannot hold.
#[test]
fn i14_endorsements_are_bounded() {
    let out = ("out-of-bounds", "I14");
    let with = |change: fn(&mut Vec<EndorsementProof>)| {
        code_with(|world, all| {
            let mut proofs = by_endorser(world, &all);
            change(&mut proofs);
            proofs
        })
    };
    let one_more = with(|proofs| {
        while proofs.len() <= MAX_ENDORSEMENTS {
            proofs.push(proofs[0].clone());
        }
    });
    assert_eq!(one_more, out);
    assert_eq!(
        with(|proofs| proofs[0].document = vec![b' '; ENDORSEMENT_MAX + 1]),
        out
    );
    assert_eq!(
        with(|proofs| proofs[0].bundle = vec![b' '; MAX_BUNDLE + 1]),
        out
    );
    let together = with(|proofs| {
        let bundle = vec![b' '; MAX_BUNDLE];
        *proofs = vec![
            EndorsementProof {
                document: Vec::new(),
                bundle
            };
            8
        ];
        proofs[0].document.push(b' ');
    });
    assert_eq!(together, out);

    let full = Entry {
        request_id: RequestId::from_bytes([1; 16]),
        now: Timestamp(START),
        event: Event::RegisterPolicy {
            policy: vec![b' '; siegel_policy::POLICY_MAX],
            bundle: vec![b' '; MAX_BUNDLE],
            endorsements: vec![
                EndorsementProof {
                    document: vec![b' '; MAX_ENDORSEMENT_BYTES / MAX_ENDORSEMENTS / 2],
                    bundle: vec![b' '; MAX_ENDORSEMENT_BYTES / MAX_ENDORSEMENTS / 2],
                };
                MAX_ENDORSEMENTS
            ],
        },
    };
    assert_eq!(Entry::parse(&full.to_bytes().unwrap()).unwrap(), full);
}

// One word for one thing, whoever says it: client, audit and ledger.
#[test]
fn the_codes_are_those_of_the_endorsements() {
    let (now, found) = (Timestamp(3), KeyDigest::from_bytes([1; 32]));
    let binary = Thing::Binary {
        part: Part::Root,
        value: reference("root"),
    };
    let mut all = Vec::new();
    for thing in [binary, Thing::Program(program())] {
        all.push(NotEndorsed::Nobody {
            thing: thing.clone(),
        });
        all.push(NotEndorsed::OtherEndorser {
            thing: thing.clone(),
            found,
        });
        all.push(NotEndorsed::OtherFlavour {
            thing: thing.clone(),
            found: Profile::Simulation,
            expected: Profile::Production,
        });
        let (not_before, not_after) = (Timestamp(1), Timestamp(2));
        all.push(NotEndorsed::Window {
            thing,
            not_before,
            not_after,
            now,
        });
    }
    for error in &all {
        let refusal = Refusal::from(error);
        assert_eq!(
            (refusal.code(), refusal.invariant()),
            (error.code(), error.invariant())
        );
        let stored = serde_json::to_value(&refusal).unwrap();
        assert_eq!(stored["code"], error.code());
        assert!(refusal.to_string().contains(&error.to_string()));
    }
}

// I7, I8: what one replica takes, all take; also with endorsements of a signer made anew.
#[test]
fn i8_replicas_agree_on_refused_and_taken_endorsements() {
    let (mut world, _) = registered(UNTIL);
    let mut other = world.demanding();
    other.pipeline = "other".to_owned();
    let stranger = TestSigner::generate().unwrap();
    let all = of_policy(&other, Timestamp(START), Timestamp(UNTIL));
    let strange = all
        .iter()
        .map(|one| prove(&mut world.log, &stranger, one))
        .collect();
    let refused = world.endorsed_registration(&other, strange);
    world.code(refused);
    let taken = world.endorse(&other, START, UNTIL);
    let taken = world.endorsed_registration(&other, taken);
    world.done(taken);
    assert_replay(&world);
}
