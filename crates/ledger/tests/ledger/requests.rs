//! The table of answered requests.

use siegel_ident::{EpochId, Fencing, RequestId, Timestamp};
use siegel_ledger::limits::REQUESTS_KEPT;
use siegel_ledger::{Done, Entry, Event, Outcome, Refusal, Wrapped};

use crate::world::{START, TTL, World, cost, run_event, run_id};

fn refused(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Refused(refusal) => refusal.code(),
        Outcome::Done(done) => panic!("{done:?}"),
    }
}

// I6: catches a retry that debits twice. The second proposer chose other random values.
#[test]
fn i6_a_retry_gets_the_same_answer_and_no_second_debit() {
    let (mut world, policy, epoch) = World::open();
    let claim = world.claim(policy, vec![epoch]);
    let first = world.ask_as(500, run_event(1, &claim));
    let second = world.ask_as(500, run_event(2, &claim));
    assert_eq!(second.outcome, first.outcome);
    assert_eq!(second.effects, []);
    assert_eq!(world.spent(), cost(30, 6));
    assert!(world.ledger.run(run_id(2)).is_none());

    let open = |n| Event::OpenEpoch {
        policy,
        secret: Wrapped::new(vec![n]),
    };
    world.now = START + 600;
    let first = world.ask_as(501, open(1));
    assert!(matches!(
        first.outcome,
        Outcome::Done(Done::EpochOpened {
            epoch: EpochId(2),
            ..
        })
    ));
    world.now = START + 1300;
    assert_eq!(world.ask_as(501, open(2)).outcome, first.outcome);
}

// I6: catches one id for two requests.
#[test]
fn i6_an_id_stands_for_one_request() {
    let (mut world, policy, epoch) = World::open();
    let claim = world.claim(policy, vec![epoch]);
    world.ask_as(500, run_event(1, &claim));
    let mut other = claim.clone();
    other.blob_count += 1;
    let before = world.ledger.receipts();
    assert_eq!(
        refused(world.ask_as(500, run_event(2, &other)).outcome),
        "request-id-reused"
    );
    let cancel = Event::CancelRun { run: run_id(1) };
    assert_eq!(
        refused(world.ask_as(500, cancel).outcome),
        "request-id-reused"
    );
    assert_eq!(world.ledger.receipts(), before);
}

// A refusal is an answer like any other.
#[test]
fn i6_a_refusal_is_remembered() {
    let (mut world, policy, epoch) = World::open();
    let mut claim = world.claim(policy, vec![epoch]);
    claim.parameters = crate::world::parameters(&[cost(90, 0)]);
    let run = world.start(1, &world.claim(policy, vec![epoch]));
    assert_eq!(
        refused(world.ask_as(500, run_event(2, &claim)).outcome),
        "budget-exhausted"
    );
    world.done(Event::CancelRun { run });
    assert_eq!(
        refused(world.ask_as(500, run_event(2, &claim)).outcome),
        "budget-exhausted"
    );
    world.start(2, &claim);
}

// I9: catches a retry that gets keys after their time, or for a root that was replaced.
#[test]
fn i9_a_remembered_grant_is_given_again_only_while_it_holds() {
    let (mut world, policy, epoch) = World::open();
    let run = world.start(1, &world.claim(policy, vec![epoch]));
    let (root, worker) = (world.root(1), world.worker(7));
    let take = Event::TakeRun { run, root };
    let authorize = Event::Authorize { run, worker };
    let open = Event::OpenEpoch {
        policy,
        secret: Wrapped::new(vec![1]),
    };
    world.ask_as(500, take.clone());
    world.ask_as(501, authorize.clone());
    world.ask_as(502, open.clone());
    let again = world.ask_as(500, take.clone()).outcome;
    assert_eq!(
        again,
        Outcome::Done(Done::RunTaken {
            run,
            fencing: Fencing(1)
        })
    );
    let root = world.root(2);
    world.done(Event::TakeRun { run, root });
    assert_eq!(
        refused(world.ask_as(500, take.clone()).outcome),
        "stale-fencing"
    );

    world.now = START + 500;
    for (id, event) in [(500, take), (501, authorize)] {
        let Outcome::Refused(refusal) = world.ask_as(id, event).outcome else {
            panic!()
        };
        assert_eq!((refusal.code(), refusal.invariant()), ("run-over", "I9"));
    }
    assert!(matches!(
        world.ask_as(502, open.clone()).outcome,
        Outcome::Done(_)
    ));
    world.now = START + TTL;
    assert_eq!(refused(world.ask_as(502, open).outcome), "epoch-expired");
}

// I14: catches a table that grows without end, or forgets the youngest first.
#[test]
fn i14_the_oldest_request_goes_first() {
    let (mut world, policy, epoch) = World::open();
    let claim = world.claim(policy, vec![epoch]);
    let first = world.ask_as(u64::MAX, run_event(1, &claim)).outcome;
    let run = run_id(200);
    for n in 0..REQUESTS_KEPT - 1 {
        world.ask_as(1_000 + n as u64, Event::CancelRun { run });
    }
    assert_eq!(world.ask_as(u64::MAX, run_event(1, &claim)).outcome, first);
    // Questions that change nothing take no room.
    for _ in 0..3 {
        world.ask(Event::Tick {});
        world.ask(Event::RenewLease { run, by: vec![1] });
    }
    assert_eq!(world.ask_as(u64::MAX, run_event(1, &claim)).outcome, first);
    world.ask(Event::CancelRun { run });
    let forgotten = world.ask_as(u64::MAX, run_event(1, &claim)).outcome;
    assert_eq!(
        forgotten,
        Outcome::Refused(Refusal::RunExists { run: run_id(1) })
    );
}

// I14: catches an entry that only one replica would take.
#[test]
fn i14_entries_are_bounded_and_strict() {
    let entry = Entry {
        request_id: RequestId::from_bytes([1; 16]),
        now: Timestamp(1),
        event: Event::RegisterPolicy {
            policy: vec![0; siegel_ledger::limits::MAX_ENTRY / 2],
            bundle: Vec::new(),
            endorsements: Vec::new(),
        },
    };
    assert!(entry.to_bytes().is_err());
    let tick = Entry {
        event: Event::Tick {},
        ..entry
    };
    let bytes = tick.to_bytes().unwrap();
    assert_eq!(Entry::parse(&bytes).unwrap(), tick);
    let text = String::from_utf8(bytes).unwrap();
    for (from, to) in [
        ("\"now\"", "\"more\":0,\"now\""),
        ("\"tick\"", "\"tock\""),
        ("}}", "}"),
    ] {
        assert!(
            Entry::parse(text.replacen(from, to, 1).as_bytes()).is_err(),
            "{from}"
        );
    }
}
