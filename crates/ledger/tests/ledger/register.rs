//! RegisterRun: what a run may be, and what it costs.

use siegel_attest::root_config;
use siegel_ident::{Digest, EpochId, Fencing, PolicyDigest, ProgramDigest, Timestamp};
use siegel_ledger::limits::{MAX_LIVE_RUNS, MAX_RUNS};
use siegel_ledger::{
    Done, Event, Fact, FreshRun, Ledger, RunClaim, RunPhase, SecretSource, WorkloadRole, Wrapped,
};

use crate::world::{START, World, cost, fresh, parameters, reference, run_event, run_id};

fn code_of(change: impl FnOnce(&mut RunClaim)) -> (&'static str, &'static str) {
    let (mut world, policy, epoch) = World::open();
    let mut claim = world.claim(policy, vec![epoch]);
    change(&mut claim);
    world.code(run_event(1, &claim))
}

// I6: catches a debit after the fact, in part, or of one unit of account only.
#[test]
fn i6_the_whole_cost_is_debited_before_any_key() {
    let (mut world, policy, epoch) = World::open();
    let claim = world.claim(policy, vec![epoch]);
    let run = world.start(1, &claim);
    assert_eq!(world.spent(), cost(30, 6));
    let view = world.ledger.run(run).unwrap();
    assert_eq!(
        (view.phase, view.fencing, view.root),
        (RunPhase::Registered, Fencing(0), None)
    );
    let receipts = world.receipts();
    let Fact::RunRegistered {
        cost: debit,
        spent,
        parameters,
        ..
    } = receipts[view.registration as usize - 1].fact.clone()
    else {
        panic!()
    };
    assert_eq!((debit, spent), (cost(30, 6), cost(30, 6)));
    assert_eq!(parameters, Digest::of(&claim.parameters));
}

// I6: catches an off-by-one at the end of the budget, for ρ and for δ₀.
#[test]
fn i6_a_run_costs_at_most_what_is_left() {
    let (mut world, policy, epoch) = World::open();
    let claim = world.claim(policy, vec![epoch]);
    world.start(1, &claim);
    let mut next = claim.clone();
    for over in [cost(71, 0), cost(0, 45)] {
        next.parameters = parameters(&[over]);
        assert_eq!(world.code(run_event(2, &next)), ("budget-exhausted", "I6"));
    }
    next.parameters = parameters(&[cost(70, 44)]);
    world.start(2, &next);
    assert_eq!(
        world.ledger.pipeline(crate::world::PIPELINE).unwrap().left,
        cost(0, 0)
    );
    next.parameters = parameters(&[cost(0, 1)]);
    assert_eq!(world.code(run_event(3, &next)), ("budget-exhausted", "I6"));
}

// I6: catches a claimed total that is not the sum of the steps.
#[test]
fn i6_the_total_is_the_sum_of_the_steps() {
    let code = code_of(|claim| {
        let text = String::from_utf8(claim.parameters.clone()).unwrap();
        let lie = text.replace("\"rho_nano\":30", "\"rho_nano\":29");
        assert_ne!(lie, text);
        claim.parameters = lie.into_bytes();
    });
    assert_eq!(code, ("bad-parameters", "I2"));
}

#[test]
fn i2_only_canonical_parameters_register() {
    assert_eq!(
        code_of(|claim| claim.parameters.push(b'\n')),
        ("bad-parameters", "I2")
    );
    assert_eq!(
        code_of(|claim| claim.parameters.clear()),
        ("bad-parameters", "I2")
    );
}

// I3: catches a root, program, configuration or role that the policy does not name.
#[test]
fn i3_root_and_program_are_what_the_policy_names() {
    let not_allowed = ("workload-not-allowed", "I3");
    assert_eq!(
        code_of(|claim| claim.program = ProgramDigest::of(b"x")),
        ("program-not-allowed", "I3")
    );
    assert_eq!(
        code_of(|claim| claim.root.role = WorkloadRole::Worker),
        not_allowed
    );
    assert_eq!(
        code_of(|claim| claim.root.measured = reference("worker").id()),
        not_allowed
    );
    assert_eq!(
        code_of(|claim| claim.root.signing_key = vec![1; 31]),
        not_allowed
    );
    let (mut world, policy, epoch) = World::open();
    let mut claim = world.claim(policy, vec![epoch]);
    // A root that was started for another program.
    claim.root.config = root_config(world.config, ProgramDigest::of(b"x"));
    assert_eq!(world.code(run_event(1, &claim)), not_allowed);
    claim.root.config = world.config;
    assert_eq!(world.code(run_event(1, &claim)), not_allowed);
}

#[test]
fn i3_the_policy_is_registered_and_in_its_window() {
    assert_eq!(
        code_of(|claim| claim.policy = PolicyDigest::of(b"x")),
        ("unknown-policy", "I3")
    );
    let (mut world, policy, _) = World::open();
    world.now = START + 99_990;
    let epoch = world.epoch(policy);
    let claim = world.claim(policy, vec![epoch]);
    world.now = START + 100_000;
    assert_eq!(world.code(run_event(1, &claim)), ("outside-window", "I9"));
}

// I3: catches keys of one policy handed out under another.
#[test]
fn i3_epochs_are_live_and_of_this_policy() {
    let (mut world, policy, epoch) = World::open();
    let mut other = world.policy();
    other.pipeline = "other".to_owned();
    let other = world.register(&other);
    let foreign = world.epoch(other);
    for (epochs, code) in [
        (vec![foreign], ("foreign-epoch", "I3")),
        (vec![epoch, foreign], ("foreign-epoch", "I3")),
        (vec![EpochId(0)], ("unknown-epoch", "I9")),
        (vec![EpochId(99)], ("unknown-epoch", "I9")),
        (vec![], ("bad-epochs", "I14")),
        (vec![epoch, epoch], ("bad-epochs", "I14")),
        (vec![foreign, epoch], ("bad-epochs", "I14")),
        ((1..=9).map(EpochId).collect(), ("bad-epochs", "I14")),
    ] {
        let claim = world.claim(policy, epochs.clone());
        assert_eq!(world.code(run_event(1, &claim)), code, "{epochs:?}");
    }
}

// I9: catches a run that could take keys after an epoch's end.
#[test]
fn i9_the_deadline_is_before_the_first_expiry() {
    let bad = ("bad-deadline", "I9");
    assert_eq!(code_of(|claim| claim.deadline = Timestamp(START)), bad);
    assert_eq!(
        code_of(|claim| claim.deadline = Timestamp(START + 1001)),
        bad
    );
    let (mut world, policy, epoch) = World::open();
    let mut claim = world.claim(policy, vec![epoch]);
    claim.deadline = Timestamp(START + 1000);
    world.start(1, &claim);
    claim.deadline = Timestamp(START + 1);
    world.start(2, &claim);
}

#[test]
fn i3_the_minimum_number_of_blobs_holds() {
    assert_eq!(
        code_of(|claim| claim.blob_count = 1),
        ("too-few-blobs", "I3")
    );
    assert_eq!(
        code_of(|claim| claim.blob_count = 1 << 53),
        ("out-of-bounds", "I14")
    );
    let (mut world, policy, epoch) = World::open();
    let mut claim = world.claim(policy, vec![epoch]);
    claim.blob_count = 2;
    world.start(1, &claim);
}

// I6: catches a run id that is used twice, which would overwrite the first run.
#[test]
fn i6_a_run_id_is_used_once() {
    let (mut world, policy, epoch) = World::open();
    let claim = world.claim(policy, vec![epoch]);
    world.start(1, &claim);
    assert_eq!(world.code(run_event(1, &claim)), ("run-exists", "I6"));
}

// I7: with a seed, ids are a function of seed and ordinal; without one they are the proposer's.
#[test]
fn i7_a_seed_fixes_run_ids() {
    let ids = |seed: [u8; 32]| {
        let mut world = World::with_seed(Some(seed));
        let policy = world.register(&world.policy());
        let epoch = world.epoch(policy);
        let claim = world.claim(policy, vec![epoch]);
        let code = world.code(run_event(1, &claim));
        assert_eq!(code, ("fresh-values", "I7"));
        [(); 2].map(|()| {
            let event = Event::RegisterRun {
                claim: claim.clone(),
                fresh: None,
            };
            let Done::RunRegistered { run, .. } = world.done(event) else {
                panic!()
            };
            let view = world.ledger.run(run).unwrap();
            assert_eq!(view.secret, SecretSource::Seeded);
            run
        })
    };
    let first = ids([1; 32]);
    assert_eq!(first, ids([1; 32]));
    assert_ne!(first[0], first[1]);
    assert_ne!(first, ids([2; 32]));
    assert_eq!(
        first[0].to_string(),
        "d701b30887701d193282750267f978e6",
        "golden"
    );

    let (mut world, policy, epoch) = World::open();
    let claim = world.claim(policy, vec![epoch]);
    let code = world.code(Event::RegisterRun {
        claim: claim.clone(),
        fresh: None,
    });
    assert_eq!(code, ("fresh-values", "I7"));
    let run = world.start(1, &claim);
    assert_eq!(
        world.ledger.run(run).unwrap().secret,
        SecretSource::Wrapped(&fresh(1).secret)
    );
}

// I14: catches secrets and runs without a bound.
#[test]
fn i14_runs_are_bounded() {
    let (mut world, policy, epoch) = World::open();
    let mut claim = world.claim(policy, vec![epoch]);
    claim.parameters = parameters(&[cost(0, 0)]);
    let secret = Wrapped::new(vec![0; 1025]);
    let code = world.code(Event::RegisterRun {
        claim: claim.clone(),
        fresh: Some(FreshRun {
            run: run_id(1),
            secret,
        }),
    });
    assert_eq!(code, ("out-of-bounds", "I14"));
    let id = |n: usize| {
        let mut id = [0; 16];
        id[..8].copy_from_slice(&(n as u64).to_be_bytes());
        siegel_ident::RunId::from_bytes(id)
    };
    let event = |n: usize, claim: &RunClaim| Event::RegisterRun {
        claim: claim.clone(),
        fresh: Some(FreshRun {
            run: id(n),
            secret: Wrapped::new(vec![1]),
        }),
    };
    for n in 0..MAX_LIVE_RUNS {
        world.done(event(n, &claim));
    }
    assert_eq!(world.code(event(MAX_LIVE_RUNS, &claim)), ("full", "I14"));
    // Cancelled ones make room; in the end the oldest is forgotten.
    for n in 0..MAX_LIVE_RUNS {
        world.done(Event::CancelRun { run: id(n) });
    }
    for n in MAX_LIVE_RUNS..=MAX_RUNS {
        assert!(world.ledger.run(id(0)).is_some());
        world.done(event(n, &claim));
        world.done(Event::CancelRun { run: id(n) });
    }
    assert!(world.ledger.run(id(0)).is_none());
    assert!(world.ledger.run(id(1)).is_some());
    assert!(Ledger::restore(&world.genesis, &world.ledger.snapshot().unwrap()).is_ok());
}
