//! OpenEpoch, and what expires.

use siegel_ident::{EpochId, PolicyDigest, Timestamp};
use siegel_ledger::{Done, Effect, Event, Fact, RunPhase, SecretSource, Wrapped};

use crate::world::{START, TTL, World, first_release, run_event};

fn open(policy: PolicyDigest) -> Event {
    Event::OpenEpoch {
        policy,
        secret: Wrapped::new(vec![2; 60]),
    }
}

// I9: catches an epoch without the policy's TTL, and one that outlives the policy.
#[test]
fn i9_an_epoch_lives_for_the_ttl_within_the_policy() {
    let (mut world, policy, epoch) = World::open();
    let view = world.ledger.epoch(epoch).unwrap();
    assert_eq!(
        (view.opened, view.expires),
        (Timestamp(START), Timestamp(START + TTL))
    );
    world.now = START + 99_900;
    let expected = Done::EpochOpened {
        epoch: EpochId(2),
        expires: Timestamp(START + 100_000),
    };
    assert_eq!(world.done(open(policy)), expected);
    // No later one could last longer.
    world.now += 90;
    assert_eq!(world.done(open(policy)), expected);
}

// I9: two nodes that ask at once get one epoch; a young client key has half of its life ahead.
#[test]
fn i9_a_live_epoch_is_named_until_half_of_its_life() {
    let (mut world, policy, epoch) = World::open();
    assert_eq!(world.ledger.current_epoch(policy).unwrap().epoch, epoch);
    for (now, expected) in [
        (START + 499, epoch),
        (START + 500, EpochId(2)),
        (START + 999, EpochId(2)),
    ] {
        world.now = now;
        let Done::EpochOpened { epoch, .. } = world.done(open(policy)) else {
            panic!()
        };
        assert_eq!(epoch, expected, "{now}");
        assert_eq!(world.ledger.current_epoch(policy).unwrap().epoch, expected);
    }
}

#[test]
fn i3_an_epoch_needs_a_registered_policy_in_its_window() {
    let (mut world, policy, _) = World::open();
    assert_eq!(
        world.code(open(PolicyDigest::of(b"x"))),
        ("unknown-policy", "I3")
    );
    let secret = Wrapped::new(vec![0; 1025]);
    let code = world.code(Event::OpenEpoch { policy, secret });
    assert_eq!(code, ("out-of-bounds", "I14"));
    world.now = START + 100_000;
    assert_eq!(world.code(open(policy)), ("outside-window", "I9"));
}

// I9: catches a secret that survives its TTL by a second, and a run that keeps its own.
#[test]
fn i9_expiry_erases_epochs_and_the_runs_over_them() {
    let (mut world, policy, epoch) = World::open();
    let run = world.taken(1, policy, epoch);
    let worker = world.worker(7);
    world.done(Event::Authorize {
        run,
        worker: worker.clone(),
    });
    let seq = world.commit(run);
    let bundle = world.log_receipt(seq);
    world.commit(run);
    let (fencing, by) = (world.fencing(run), world.holder(run));
    world.done(Event::FinishRun { run, fencing, by });

    world.now = START + TTL - 1;
    world.done(first_release(run, bundle.clone()));
    assert!(world.ledger.epoch(epoch).is_some());
    world.now = START + TTL;
    let applied = world.ask(Event::Tick {});
    assert_eq!(
        applied.effects[..2],
        [Effect::EraseEpoch(epoch), Effect::EraseRun(run)]
    );
    assert!(world.ledger.epoch(epoch).is_none());
    let view = world.ledger.run(run).unwrap();
    assert_eq!(view.secret, SecretSource::Erased);
    assert!(view.parameters.is_empty() && view.root.is_none());
    assert_eq!(world.ledger.workers(run).count(), 0);
    assert!(
        world
            .ledger
            .release(run, siegel_ident::Step(1))
            .unwrap()
            .header
            .is_empty()
    );
    let last = world.receipts().pop().unwrap();
    assert_eq!(
        last.fact,
        Fact::EpochExpired {
            epoch,
            runs: vec![run]
        }
    );

    assert_eq!(world.code(first_release(run, bundle)), ("run-erased", "I9"));
    let claim = world.claim(policy, vec![epoch]);
    assert_eq!(world.code(run_event(2, &claim)), ("epoch-expired", "I9"));
    let root = world.root(1);
    assert_eq!(
        world.code(Event::TakeRun { run, root }),
        ("run-erased", "I9")
    );
    // The wrapped bytes are gone from the state, too.
    let state = String::from_utf8(world.ledger.snapshot().unwrap()).unwrap();
    assert!(!state.contains(&"01".repeat(60)));
}

// I9: a run over two epochs lives as long as the first of them.
#[test]
fn i9_the_first_expiry_counts() {
    let (mut world, policy, first) = World::open();
    world.now = START + 600;
    let second = world.epoch(policy);
    assert_ne!(first, second);
    let mut claim = world.claim(policy, vec![first, second]);
    claim.deadline = Timestamp(START + TTL + 1);
    assert_eq!(world.code(run_event(1, &claim)), ("bad-deadline", "I9"));
    claim.deadline = Timestamp(START + TTL);
    let run = world.start(1, &claim);
    world.now = START + TTL;
    world.ask(Event::Tick {});
    assert_eq!(world.ledger.run(run).unwrap().secret, SecretSource::Erased);
    assert!(world.ledger.epoch(second).is_some());
}

// I9: catches a deadline that is not enforced, or is taken for the end of releases.
#[test]
fn i9_a_deadline_ends_a_run_but_not_its_releases() {
    let (mut world, policy, epoch) = World::open();
    let run = world.taken(1, policy, epoch);
    let worker = world.worker(7);
    world.done(Event::Authorize {
        run,
        worker: worker.clone(),
    });
    let seq = world.commit(run);
    let bundle = world.log_receipt(seq);
    let spent = world.spent();
    world.now = START + 500;
    let applied = world.ask(Event::Tick {});
    assert_eq!(applied.effects[0], Effect::EndRun(run));
    assert_eq!(world.ledger.run(run).unwrap().phase, RunPhase::Expired);
    assert_eq!(world.spent(), spent, "a deadline returns nothing (I6)");
    let over = ("run-over", "I9");
    let (root, by) = (world.root(1), world.holder(run));
    let commit = world.next_commit(run);
    assert_eq!(world.code(Event::TakeRun { run, root }), over);
    assert_eq!(
        world.code(Event::Authorize {
            run,
            worker: worker.clone()
        }),
        over
    );
    assert_eq!(
        world.code(Event::RenewLease {
            run,
            by: worker.signing_key
        }),
        over
    );
    assert_eq!(world.code(Event::CommitStep { commit, by }), over);
    assert_eq!(world.code(Event::CancelRun { run }), over);
    world.done(first_release(run, bundle));
}

// I9, I15: catches a replicated clock that a lagging leader turns back.
#[test]
fn i9_the_clock_never_goes_back() {
    let (mut world, _, epoch) = World::open();
    world.now = START + TTL;
    world.ask(Event::Tick {});
    world.now = START;
    assert_eq!(
        world.done(Event::Tick {}),
        Done::Ticked {
            clock: Timestamp(START + TTL)
        }
    );
    assert!(world.ledger.epoch(epoch).is_none());
    // A time that JSON cannot hold is no time at all, and does not move the clock.
    world.now = 1 << 53;
    assert!(matches!(
        world.ask(Event::Tick {}).outcome,
        siegel_ledger::Outcome::Refused(siegel_ledger::Refusal::OutOfBounds { .. })
    ));
    assert_eq!(world.ledger.clock(), Timestamp(START + TTL));
}
