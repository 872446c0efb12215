//! CancelRun, AbandonRun, FinishRun.

use siegel_ident::Fencing;
use siegel_ledger::{Done, Effect, Event, RunPhase, SecretSource};

use crate::world::{World, cost, first_release, run_event};

// I6: catches a cancellation that returns nothing, in part, or twice.
#[test]
fn i6_a_run_that_nobody_took_is_cancelled_and_refunded_once() {
    let (mut world, policy, epoch) = World::open();
    let claim = world.claim(policy, vec![epoch]);
    world.start(1, &claim);
    let run = world.start(2, &claim);
    assert_eq!(world.spent(), cost(60, 12));
    let applied = world.ask(Event::CancelRun { run });
    assert_eq!(applied.effects[0], Effect::EraseRun(run));
    assert_eq!(world.spent(), cost(30, 6));
    assert_eq!(
        world.done(Event::CancelRun { run }),
        Done::RunCancelled { run }
    );
    assert_eq!(world.spent(), cost(30, 6));
    assert_eq!(world.ledger.run(run).unwrap().secret, SecretSource::Erased);
    let root = world.root(1);
    assert_eq!(world.code(Event::TakeRun { run, root }), ("run-over", "I3"));
    // Its id is not free again, or one id would stand for two runs in the receipts.
    assert_eq!(world.code(run_event(2, &claim)), ("run-exists", "I6"));
}

// I6: catches a refund after keys were given: look at the result, then take the money back.
#[test]
fn i6_a_taken_run_is_never_refunded() {
    let (mut world, policy, epoch) = World::open();
    let run = world.taken(1, policy, epoch);
    assert_eq!(world.code(Event::CancelRun { run }), ("run-has-keys", "I6"));
    world.commit(run);
    assert_eq!(world.code(Event::CancelRun { run }), ("run-has-keys", "I6"));
    let (fencing, by) = (world.fencing(run), world.holder(run));
    let abandon = Event::AbandonRun { run, fencing, by };
    world.done(abandon.clone());
    assert_eq!(world.done(abandon), Done::RunAbandoned { run });
    assert_eq!(world.spent(), cost(30, 6));
    assert_eq!(world.code(Event::CancelRun { run }), ("run-over", "I3"));
    assert_eq!(world.ledger.run(run).unwrap().phase, RunPhase::Abandoned);
}

// I3: catches an end that anybody can bring about.
#[test]
fn i3_only_the_holder_ends_a_run() {
    let (mut world, policy, epoch) = World::open();
    let run = world.taken(1, policy, epoch);
    world.commit(run);
    world.commit(run);
    let (fencing, by) = (world.fencing(run), world.holder(run));
    for (fencing, by, code) in [
        (fencing, vec![7; 32], "not-the-holder"),
        (Fencing(0), by.clone(), "stale-fencing"),
    ] {
        let finish = Event::FinishRun {
            run,
            fencing,
            by: by.clone(),
        };
        assert_eq!(world.code(finish).0, code);
        let abandon = Event::AbandonRun { run, fencing, by };
        assert_eq!(world.code(abandon).0, code);
    }
}

// I6: catches a run that is called finished with steps missing.
#[test]
fn i6_a_run_finishes_after_its_last_step() {
    let (mut world, policy, epoch) = World::open();
    let run = world.taken(1, policy, epoch);
    let (fencing, by) = (world.fencing(run), world.holder(run));
    let finish = Event::FinishRun { run, fencing, by };
    assert_eq!(world.code(finish.clone()), ("run-unfinished", "I6"));
    let seq = world.commit(run);
    let bundle = world.log_receipt(seq);
    assert_eq!(world.code(finish.clone()), ("run-unfinished", "I6"));
    world.commit(run);
    let applied = world.ask(finish.clone());
    assert_eq!(applied.effects[0], Effect::EndRun(run));
    assert_eq!(world.done(finish), Done::RunFinished { run });
    // Its releases open until the TTL.
    world.done(first_release(run, bundle));
}
