//! I8: a root that dies at any moment. The root and the key service here are scripts; the operator
//! is the real one, over the real channel.
//!
//! A failure is: a run that is paid for twice, a step that the caller hears of twice, not at all or
//! out of order, a resumption of another run, a wait without an end.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod script;

use std::time::Duration;

use siegel_ident::{ObjectDigest, Step};
use siegel_operator::{OperatorError, RunEvent};

use script::Act::{self, *};
use script::{World, run_id};

/// All that a root does from the order to the end, in its order.
const WHOLE: [Act; 8] = [
    Register,
    SayRegistered(0),
    Commit(1),
    SayStep(1),
    Commit(2),
    SayStep(2),
    Finish,
    SayFinished,
];

/// What the next root says that finds steps 1 to `done` committed.
fn successor(done: u64) -> Vec<Act> {
    let mut acts = vec![SayRegistered(done)];
    for step in done + 1..=2 {
        acts.extend([Commit(step), SayStep(step)]);
    }
    acts.extend([Finish, SayFinished]);
    acts
}

fn expected_events(unnamed: &[u64]) -> Vec<RunEvent> {
    let mut events = vec![RunEvent::Registered {
        run: run_id(1),
        blobs: 7,
    }];
    events.extend((1..=2).map(|n| {
        let name = if unnamed.contains(&n) { "" } else { "table" };
        RunEvent::Committed(siegel_operator::CommittedStep {
            step: Step(n),
            release: Some((name.into(), ObjectDigest::of(&[n as u8]))),
        })
    }));
    events
}

// Catches a death at any of these moments that loses or repeats something.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_root_that_dies_at_any_moment_is_done_without() {
    // After so many acts the root dies; then there are so many steps to take over.
    let moments = [
        ("before it was asked", 0, None),
        ("registered, and nobody knows", 1, Some(0)),
        ("registered", 2, Some(0)),
        ("step 1 committed, and nobody knows", 3, Some(1)),
        ("between the steps", 4, Some(1)),
        ("step 2 committed, and nobody knows", 5, Some(2)),
        ("after the last step", 6, Some(2)),
    ];
    for (moment, acts, taken) in moments {
        let world = World::start().await;
        let mut first = WHOLE[..acts].to_vec();
        first.push(Die);
        let second = taken.map_or(WHOLE.to_vec(), successor);
        let (events, run) = world.run(vec![first, second]).await;
        let run = run.unwrap_or_else(|error| panic!("{moment}: {error}"));
        let unnamed: &[u64] = match acts {
            3 => &[1],
            5 => &[2],
            _ => &[],
        };
        assert_eq!(events, expected_events(unnamed), "{moment}");
        assert_eq!((run.run, run.blobs, run.steps.len()), (run_id(1), 7, 2));
        let asked: Vec<_> = world.asked();
        let resumed = taken.map(|_| run_id(1));
        assert_eq!(asked, [None, resumed], "{moment}");
        assert_eq!(world.registrations(), 1, "{moment}: paid for twice");
    }
}

// Catches an operator that asks a root for a run that is over, or waits for one for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_is_over_needs_no_root() {
    let world = World::start().await;
    let mut only = WHOLE[..7].to_vec();
    only.push(Die);
    let (events, run) = world.run(vec![only]).await;
    assert_eq!(run.unwrap().steps.len(), 2);
    assert_eq!(events, expected_events(&[]));
    assert_eq!(world.asked(), [None]);
}

// Two deaths, a successor that repeats what is known, and one that is behind the receipts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn steps_that_are_reported_twice_count_once() {
    let world = World::start().await;
    let scripts = vec![
        vec![Register, SayRegistered(0), Commit(1), SayStep(1), Die],
        vec![SayRegistered(0), SayStep(1), Die],
        vec![
            SayRegistered(1),
            SayStep(1),
            Commit(2),
            SayStep(2),
            Finish,
            SayFinished,
        ],
    ];
    let (events, run) = world.run(scripts).await;
    assert_eq!(run.unwrap().steps.len(), 2);
    assert_eq!(events, expected_events(&[]));
    assert_eq!(world.asked(), [None, Some(run_id(1)), Some(run_id(1))]);
}

// Catches a root that was only cut off, and whose run is given up or ordered again while it goes on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_root_that_is_busy_with_this_run_is_waited_for() {
    let world = World::start().await;
    let scripts = vec![
        vec![Register, SayRegistered(0), Commit(1), SayStep(1), CutOff],
        vec![Busy],
        vec![Commit(2), Busy],
        vec![Finish, Busy],
    ];
    let (events, run) = world.run(scripts).await;
    assert_eq!(run.unwrap().steps.len(), 2);
    assert_eq!(events, expected_events(&[2]));
    assert_eq!(world.registrations(), 1);
}

// Catches an earlier run of the same order that is taken for this one: its steps are another's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_earlier_run_of_the_same_order_is_another_run() {
    let world = World::start().await;
    let (_, earlier) = world.run(vec![WHOLE.to_vec()]).await;
    assert_eq!(earlier.unwrap().run, run_id(1));
    let (_, later) = world.run(vec![vec![Die], WHOLE.to_vec()]).await;
    assert_eq!(later.unwrap().run, run_id(2));
    assert_eq!(world.asked(), [None, None, None]);
}

// Catches a refusal that is retried, an end that is not told, and a wait without an end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refusals_and_the_end_of_patience_are_errors() {
    let world = World::start().await;
    let (_, refused) = world.run(vec![vec![Refuse], WHOLE.to_vec()]).await;
    assert!(
        matches!(&refused, Err(OperatorError::Stopped { code, .. }) if code == "too-few-blobs")
    );
    assert_eq!(world.asked(), [None], "a refusal is an answer");

    let world = World::start().await;
    let (events, abandoned) = world
        .run(vec![
            vec![Register, SayRegistered(0), Abandon, Die],
            vec![Busy],
        ])
        .await;
    assert!(
        matches!(&abandoned, Err(OperatorError::Stopped { message, .. }) if message.contains("abandoned"))
    );
    assert_eq!(events.len(), 1);

    let world = World::patient(Duration::from_millis(500)).await;
    let (events, away) = world.run(vec![vec![Register, SayRegistered(0), Die]]).await;
    assert!(matches!(&away, Err(OperatorError::Root(_))), "{away:?}");
    assert_eq!(events.len(), 1);
}
