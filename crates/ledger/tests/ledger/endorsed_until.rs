//! A policy ends with its endorsements, and so does all that started under it.

use siegel_endorse::testing::of_policy;
use siegel_ident::{EpochId, PolicyDigest, Timestamp};
use siegel_ledger::{Done, Entry, Event, Fact, Ledger, Outcome, RunPhase, SecretSource, Wrapped};

use crate::receipts::assert_replay;
use crate::world::{START, TTL, World, first_release, prove, run_event};

pub(crate) const UNTIL: u64 = START + 600;

/// A policy that demands endorsements, registered with those that last until `until`.
pub(crate) fn registered(until: u64) -> (World, PolicyDigest) {
    let mut world = World::new();
    let policy = world.demanding();
    let endorsements = world.endorse(&policy, START, until);
    let event = world.endorsed_registration(&policy, endorsements);
    match world.done(event) {
        Done::PolicyRegistered { policy } => (world, policy),
        other => panic!("{other:?}"),
    }
}

fn open(policy: PolicyDigest) -> Event {
    Event::OpenEpoch {
        policy,
        secret: Wrapped::new(vec![2; 60]),
    }
}

// I9: catches an epoch that outlives the endorsements, and a policy that goes on after them.
#[test]
fn i9_nothing_starts_after_the_last_endorsed_second() {
    let (mut world, policy) = registered(UNTIL);
    let expected = Done::EpochOpened {
        epoch: EpochId(1),
        expires: Timestamp(UNTIL),
    };
    const { assert!(UNTIL < START + TTL) };
    assert_eq!(world.done(open(policy)), expected);
    world.now = UNTIL - 1;
    assert_eq!(world.done(open(policy)), expected);
    let mut claim = world.claim(policy, vec![EpochId(1)]);
    claim.deadline = Timestamp(UNTIL + 1);
    assert_eq!(world.code(run_event(1, &claim)), ("bad-deadline", "I9"));
    claim.deadline = Timestamp(UNTIL);
    let run = world.start(1, &claim);
    let (root, worker) = (world.root(1), world.worker(7));
    let take = Event::TakeRun { run, root };
    world.ask_as(900, take.clone());
    world.done(Event::Authorize {
        run,
        worker: worker.clone(),
    });
    let seq = world.commit(run);
    let bundle = world.log_receipt(seq);
    world.done(first_release(run, bundle.clone()));

    world.now = UNTIL;
    let expired = ("endorsement-expired", "I9");
    assert_eq!(world.code(open(policy)), expired);
    assert_eq!(world.code(run_event(2, &claim)), expired);
    let view = world.ledger.run(run).unwrap();
    assert_eq!(
        (view.phase, view.secret),
        (RunPhase::Expired, SecretSource::Erased)
    );
    // Nobody gets its keys: not a new root, not the old one that asks again, no worker, no reader.
    let by = worker.signing_key.clone();
    assert_eq!(world.code(take.clone()), ("run-erased", "I9"));
    let again = match world.ask_as(900, take).outcome {
        Outcome::Refused(refusal) => refusal.code(),
        other => panic!("{other:?}"),
    };
    assert_eq!(again, "run-erased");
    for event in [
        Event::Authorize { run, worker },
        Event::RenewLease { run, by },
        first_release(run, bundle),
    ] {
        assert_eq!(world.code(event).1, "I9");
    }
    assert_replay(&world);
}

// I9: the first thing to end ends the policy; and a policy that ends first keeps its own end.
#[test]
fn i9_the_earlier_end_counts() {
    let mut world = World::new();
    let policy = world.demanding();
    let mut endorsements = world.endorse(&policy, START, UNTIL + 100);
    let sooner = of_policy(&policy, Timestamp(START), Timestamp(UNTIL));
    let last = endorsements.len() - 1;
    endorsements[last] = prove(&mut world.log, &world.endorser, &sooner[last]);
    let event = world.endorsed_registration(&policy, endorsements);
    let Done::PolicyRegistered { policy } = world.done(event) else {
        panic!()
    };
    let epoch = world.epoch(policy);
    assert_eq!(world.ledger.epoch(epoch).unwrap().expires, Timestamp(UNTIL));

    let (mut world, policy) = registered(START + 200_000);
    world.now = START + 99_900;
    let epoch = world.epoch(policy);
    assert_eq!(
        world.ledger.epoch(epoch).unwrap().expires,
        Timestamp(START + 100_000)
    );
    world.now = START + 100_000;
    assert_eq!(world.code(open(policy)), ("outside-window", "I9"));
}

// I9: catches a registration that, repeated with later endorsements, would stretch the policy.
#[test]
fn i9_registering_again_does_not_renew() {
    let (mut world, digest) = registered(UNTIL);
    let policy = world.demanding();
    let later = world.endorse(&policy, START, UNTIL + 10_000);
    let event = world.endorsed_registration(&policy, later.clone());
    let receipts = world.ledger.receipts();
    world.done(event);
    let view = world.ledger.policy(digest).unwrap();
    assert_eq!(view.endorsed_until, Some(Timestamp(UNTIL)));
    assert_eq!(world.ledger.receipts(), receipts);
    world.now = UNTIL;
    assert_eq!(world.code(open(digest)), ("endorsement-expired", "I9"));
    // A successor does.
    let mut successor = policy;
    successor.predecessor = Some(digest);
    let event = world.endorsed_registration(&successor, later);
    let Done::PolicyRegistered { policy } = world.done(event) else {
        panic!()
    };
    world.done(open(policy));
}

// I9, I17: the end is public, and a replica that was restored keeps it.
#[test]
fn i17_the_end_stands_in_the_receipt_and_in_the_snapshot() {
    let (mut world, policy) = registered(UNTIL);
    let body = String::from_utf8(world.ledger.receipt(1).unwrap().to_vec()).unwrap();
    assert!(
        body.contains(&format!("\"endorsed_until\":{UNTIL},")),
        "{body}"
    );
    let Fact::PolicyRegistered { endorsed_until, .. } = world.receipts()[0].fact else {
        panic!()
    };
    assert_eq!(endorsed_until, Some(Timestamp(UNTIL)));

    let snapshot = world.ledger.snapshot().unwrap();
    world.ledger = Ledger::restore(&world.genesis, &snapshot).unwrap();
    let view = world.ledger.policy(policy).unwrap();
    assert_eq!(view.endorsed_until, Some(Timestamp(UNTIL)));
    world.now = UNTIL;
    assert_eq!(world.code(open(policy)), ("endorsement-expired", "I9"));
}

// I3, I14: bytes from before endorsements existed are refused, not read as "demands none".
#[test]
fn i3_an_absent_end_is_refused() {
    let (world, _) = registered(UNTIL);
    let field = format!(",\"endorsed_until\":{UNTIL}");
    let snapshot = String::from_utf8(world.ledger.snapshot().unwrap()).unwrap();
    assert!(snapshot.contains(&field));
    let old = snapshot.replace(&field, "");
    assert!(Ledger::restore(&world.genesis, old.as_bytes()).is_err());
    let null = snapshot.replace(&field, ",\"endorsed_until\":null");
    assert!(Ledger::restore(&world.genesis, null.as_bytes()).is_ok());

    let body = String::from_utf8(world.ledger.receipt(1).unwrap().to_vec()).unwrap();
    let old = body.replace(&format!("\"endorsed_until\":{UNTIL},"), "");
    assert_ne!(old, body);
    assert!(siegel_ledger::Receipt::parse(old.as_bytes()).is_err());

    let entry = world.entries[0].to_bytes().unwrap();
    let entry: serde_json::Value = serde_json::from_slice(&entry).unwrap();
    let mut old = entry.clone();
    old["event"].as_object_mut().unwrap().remove("endorsements");
    assert!(Entry::parse(&serde_json::to_vec(&entry).unwrap()).is_ok());
    assert!(Entry::parse(&serde_json::to_vec(&old).unwrap()).is_err());
}
