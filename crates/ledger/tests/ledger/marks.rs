//! I3: statements of vendors never get older (checklist 46).

use siegel_attest::hardware::Mark;
use siegel_ident::RunId;
use siegel_ledger::limits::{MAX_MARKS, MAX_MARKS_EACH};
use siegel_ledger::{Done, Event, Ledger, Outcome, Workload};

use crate::world::{World, fresh};

const NUMBER: &str = "intel/b0c06f000000/tcb-evaluation";

fn mark(what: &str, value: u64) -> Mark {
    Mark {
        what: what.into(),
        value,
    }
}

fn showing(workload: Workload, marks: &[(&str, u64)]) -> Workload {
    let marks = marks
        .iter()
        .map(|(what, value)| mark(what, *value))
        .collect();
    Workload { marks, ..workload }
}

fn take(run: RunId, root: Workload) -> Event {
    Event::TakeRun { run, root }
}

fn authorize(run: RunId, worker: Workload) -> Event {
    Event::Authorize { run, worker }
}

const REFUSED: (&str, &str) = ("tcb-rolled-back", "I3");

// Catches a cluster that forgets what it has seen: at registration, taking, authorisation, or through a snapshot.
#[test]
fn i3_no_evidence_on_older_statements_than_before() {
    let (mut world, policy, epoch) = World::open();
    let mut claim = world.claim(policy, vec![epoch]);
    claim.root = showing(claim.root, &[(NUMBER, 16)]);
    let run = world.start(1, &claim);
    assert_eq!(world.ledger.marks()[NUMBER], 16);

    assert_eq!(
        world.code(take(run, showing(world.root(1), &[(NUMBER, 15)]))),
        REFUSED
    );
    assert!(matches!(
        world.done(take(run, showing(world.root(1), &[(NUMBER, 17)]))),
        Done::RunTaken { .. }
    ));
    let worker = |n| showing(world.worker(1), &[(NUMBER, n)]);
    let (old, same, new) = (worker(16), worker(17), worker(18));
    assert_eq!(world.code(authorize(run, old.clone())), REFUSED);
    let good = Done::WorkerAuthorized { run };
    assert_eq!(world.done(authorize(run, same)), good);
    // The same process with newer evidence gets its keys again, and with the older no more.
    assert_eq!(world.done(authorize(run, new.clone())), good);
    assert_eq!(world.code(authorize(run, old.clone())), REFUSED);
    assert_eq!(world.ledger.marks()[NUMBER], 18);

    let snapshot = world.ledger.snapshot().unwrap();
    world.ledger = Ledger::restore(&world.genesis, &snapshot).unwrap();
    assert_eq!(world.code(authorize(run, old)), REFUSED);
    assert_eq!(world.done(authorize(run, new)), good);

    let mut claim = world.claim(policy, vec![epoch]);
    claim.root = showing(claim.root, &[(NUMBER, 17)]);
    let spent = world.spent();
    let fresh = Some(fresh(2));
    assert_eq!(world.code(Event::RegisterRun { claim, fresh }), REFUSED);
    assert_eq!(world.spent(), spent, "a refused run costs nothing");
}

// I14: catches a host that fills the state, and one statement that counts for another.
#[test]
fn i14_marks_are_bounded_and_apart() {
    let (mut world, policy, epoch) = World::open();
    let run = world.taken(1, policy, epoch);
    let good = Done::WorkerAuthorized { run };
    let worker = |world: &World, marks: &[(&str, u64)]| showing(world.worker(1), marks);
    let first = worker(&world, &[(NUMBER, 9), ("amd/genoa/crl", 100)]);
    assert_eq!(world.done(authorize(run, first)), good);
    let other = worker(&world, &[("amd/turin/crl", 1), (NUMBER, 9)]);
    assert_eq!(world.done(authorize(run, other)), good);
    // One that is good does not carry one that is not, and nothing of both is kept.
    let mixed = worker(&world, &[(NUMBER, 20), ("amd/genoa/crl", 99)]);
    assert_eq!(world.code(authorize(run, mixed)), REFUSED);
    assert_eq!(world.ledger.marks()[NUMBER], 9);

    let many = vec![(NUMBER, 9); MAX_MARKS_EACH + 1];
    let long = "x".repeat(65);
    for bad in [&many[..], &[(&long, 1)], &[(NUMBER, 1 << 53)]] {
        let bad = worker(&world, bad);
        assert_eq!(world.code(authorize(run, bad)).1, "I14");
    }
    let known = world.ledger.marks().len();
    for n in known..MAX_MARKS {
        let worker = worker(&world, &[(&format!("amd/{n}/crl"), 1)]);
        assert_eq!(world.done(authorize(run, worker)), good);
    }
    let full = worker(&world, &[("one/more", 1)]);
    assert_eq!(world.code(authorize(run, full)).0, "full");
    assert_eq!(world.ledger.marks().len(), MAX_MARKS);
}

// I6: catches a retry that counts as another request because the evidence was renewed in between.
#[test]
fn i6_a_retry_with_newer_evidence_is_the_same_request() {
    let (mut world, policy, epoch) = World::open();
    let claim = |world: &World, n| {
        let mut claim = world.claim(policy, vec![epoch]);
        claim.root = showing(claim.root, &[(NUMBER, n)]);
        Event::RegisterRun {
            claim,
            fresh: Some(fresh(1)),
        }
    };
    let (first, again) = (claim(&world, 1), claim(&world, 2));
    let Outcome::Done(Done::RunRegistered { run, receipt }) = world.ask_as(70, first).outcome
    else {
        panic!("not registered");
    };
    let spent = world.spent();
    let answer = world.ask_as(70, again).outcome;
    assert_eq!(answer, Outcome::Done(Done::RunRegistered { run, receipt }));
    assert_eq!(world.spent(), spent);
    for (request, of) in [(71, take as fn(RunId, Workload) -> Event), (72, authorize)] {
        let workload = |n| {
            let workload = match request {
                71 => world.root(1),
                _ => world.worker(1),
            };
            of(run, showing(workload, &[(NUMBER, n)]))
        };
        let (first, again) = (workload(3), workload(4));
        let first = world.ask_as(request, first).outcome;
        assert!(matches!(first, Outcome::Done(_)), "{first:?}");
        assert_eq!(world.ask_as(request, again).outcome, first);
    }
}
