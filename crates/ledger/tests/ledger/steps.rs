//! CommitStep.

use siegel_ident::{Digest, Fencing, ObjectDigest, Step};
use siegel_ledger::{Done, Event, Fact, StepCommit};

use crate::world::{World, cost, run_id};

fn code_of(change: impl FnOnce(&mut StepCommit, &mut Vec<u8>)) -> (&'static str, &'static str) {
    let (mut world, policy, epoch) = World::open();
    let run = world.taken(1, policy, epoch);
    let (mut commit, mut by) = (world.next_commit(run), world.holder(run));
    change(&mut commit, &mut by);
    world.code(Event::CommitStep { commit, by })
}

// I6: catches a step that is skipped, repeated with another result, or not planned.
#[test]
fn i6_steps_come_in_order_and_each_has_one_result() {
    let (mut world, policy, epoch) = World::open();
    let run = world.taken(1, policy, epoch);
    let by = world.holder(run);
    let first = world.next_commit(run);
    let mut skipping = first.clone();
    skipping.step = Step(2);
    skipping.cost = cost(20, 4);
    let code = world.code(Event::CommitStep {
        commit: skipping,
        by: by.clone(),
    });
    assert_eq!(code, ("wrong-step", "I6"));
    world.commit(run);
    let changes: [fn(&mut StepCommit); 3] = [
        |c| c.next = ObjectDigest::of(b"x"),
        |c| c.release = None,
        |c| c.release.as_mut().unwrap().header.push(1),
    ];
    for change in changes {
        let mut second_result = first.clone();
        change(&mut second_result);
        let code = world.code(Event::CommitStep {
            commit: second_result,
            by: by.clone(),
        });
        assert_eq!(code, ("wrong-step", "I6"));
    }
    world.commit(run);
    let third = world.next_commit(run);
    assert_eq!(
        world.code(Event::CommitStep { commit: third, by }),
        ("wrong-step", "I6")
    );
    let zero = code_of(|commit, _| commit.step = Step(0));
    assert_eq!(zero, ("wrong-step", "I6"));
}

// I6: catches a commit that does not compare before it sets.
#[test]
fn i6_a_step_starts_from_the_committed_state() {
    let wrong = ("wrong-previous", "I6");
    assert_eq!(
        code_of(|commit, _| commit.previous = Digest::of(b"x")),
        wrong
    );
    let (mut world, policy, epoch) = World::open();
    let run = world.taken(1, policy, epoch);
    let registration = world.ledger.run(run).unwrap().previous;
    world.commit(run);
    let mut second = world.next_commit(run);
    assert_eq!(second.previous, ObjectDigest::of(b"checkpoint 1").digest());
    second.previous = registration;
    let by = world.holder(run);
    assert_eq!(world.code(Event::CommitStep { commit: second, by }), wrong);
}

// I6: catches a step that pays more, less, or another step's price.
#[test]
fn i6_a_step_costs_what_was_allotted() {
    for bad in [
        cost(9, 2),
        cost(11, 2),
        cost(10, 1),
        cost(10, 3),
        cost(20, 4),
        cost(0, 0),
    ] {
        let code = code_of(|commit, _| commit.cost = bad);
        assert_eq!(code, ("wrong-cost", "I6"), "{bad:?}");
    }
    let (mut world, policy, epoch) = World::open();
    let run = world.taken(1, policy, epoch);
    world.commit(run);
    world.commit(run);
    let receipts = world.receipts();
    let Fact::StepCommitted { used, .. } = &receipts.last().unwrap().fact else {
        panic!()
    };
    assert_eq!(*used, cost(30, 6));
    assert_eq!(
        world.spent(),
        cost(30, 6),
        "steps are paid from the allotment, not again"
    );
}

// I3, I6: catches a commit by somebody who is not the run's root.
#[test]
fn i3_only_the_holder_commits() {
    assert_eq!(code_of(|_, by| *by = vec![7; 32]), ("not-the-holder", "I3"));
    assert_eq!(
        code_of(|commit, _| commit.fencing = Fencing(0)),
        ("stale-fencing", "I6")
    );
    assert_eq!(
        code_of(|commit, _| commit.fencing = Fencing(2)),
        ("stale-fencing", "I6")
    );
    assert_eq!(
        code_of(|commit, _| commit.run = run_id(9)),
        ("unknown-run", "I3")
    );
    let (mut world, policy, epoch) = World::open();
    let run = world.start(1, &world.claim(policy, vec![epoch]));
    let commit = world.next_commit(run);
    let code = world.code(Event::CommitStep {
        commit,
        by: Vec::new(),
    });
    assert_eq!(code, ("run-not-taken", "I3"));
}

// I6, I8: catches a second receipt for a commit whose answer was lost.
#[test]
fn i6_the_same_commit_again_gets_the_same_answer() {
    let (mut world, policy, epoch) = World::open();
    let run = world.taken(1, policy, epoch);
    let (commit, by) = (world.next_commit(run), world.holder(run));
    let event = Event::CommitStep { commit, by };
    let first = world.done(event.clone());
    let receipts = world.ledger.receipts();
    assert_eq!(world.done(event.clone()), first);
    world.commit(run);
    assert_eq!(world.done(event), first);
    assert_eq!(world.ledger.receipts(), receipts + 1);
    assert!(matches!(first, Done::StepCommitted { step: Step(1), .. }));
}

// I14: catches a header without a bound.
#[test]
fn i14_release_headers_are_bounded() {
    let code = code_of(|commit, _| commit.release.as_mut().unwrap().header = vec![0; 4097]);
    assert_eq!(code, ("out-of-bounds", "I14"));
    let (mut world, policy, epoch) = World::open();
    let run = world.taken(1, policy, epoch);
    let (mut commit, by) = (world.next_commit(run), world.holder(run));
    commit.release.as_mut().unwrap().header = vec![0; 4096];
    world.done(Event::CommitStep { commit, by });
    assert_eq!(
        world.ledger.release(run, Step(1)).unwrap().header.len(),
        4096
    );
}
