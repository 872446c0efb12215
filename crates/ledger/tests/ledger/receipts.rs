//! The chain of receipts, and replicas.

use siegel_ident::Digest;
use siegel_ledger::limits::{MAX_LIVE_RUNS, RECEIPTS_KEPT};
use siegel_ledger::{Effect, Event, Fact, Ledger, Receipt};

use crate::world::{World, cost, parameters, receipts_of, run_event};

/// Every receipt names the one before it; the first names the genesis.
pub(crate) fn assert_chain(world: &World) {
    let mut previous = world.ledger.cluster_id().digest();
    for seq in 1..=world.ledger.receipts() {
        let body = world.ledger.receipt(seq).unwrap();
        let receipt = Receipt::parse(body).unwrap();
        assert_eq!((receipt.seq, receipt.previous), (seq, previous));
        assert_eq!(receipt.cluster, world.ledger.cluster_id());
        previous = Digest::of(body);
    }
    assert_eq!(world.ledger.receipt_head(), previous);
}

/// A replica that applies the same entries has the same bytes, with or without a snapshot between.
pub(crate) fn assert_replay(world: &World) {
    let state = world.ledger.snapshot().unwrap();
    let mut replica = Ledger::new(&world.genesis).unwrap();
    for (at, entry) in world.entries.iter().enumerate() {
        if at == world.entries.len() / 2 {
            replica = Ledger::restore(&world.genesis, &replica.snapshot().unwrap()).unwrap();
        }
        replica.apply(entry);
    }
    assert_eq!(replica.snapshot().unwrap(), state);
    let restored = Ledger::restore(&world.genesis, &state).unwrap();
    assert_eq!(restored.snapshot().unwrap(), state);
}

// I17: catches a gap, a second first receipt, a receipt of another cluster, and a fact without one.
#[test]
fn i17_one_chain_without_gaps_from_the_genesis_on() {
    let (mut world, policy, epoch) = World::open();
    let run = world.taken(1, policy, epoch);
    world.commit(run);
    world.commit(run);
    let (fencing, by) = (world.fencing(run), world.holder(run));
    world.done(Event::FinishRun { run, fencing, by });
    let claim = world.claim(policy, vec![epoch]);
    let cancelled = world.start(2, &claim);
    world.done(Event::CancelRun { run: cancelled });
    let abandoned = world.taken(3, policy, epoch);
    let (fencing, by) = (world.fencing(abandoned), world.holder(abandoned));
    world.done(Event::AbandonRun {
        run: abandoned,
        fencing,
        by,
    });
    world.start(4, &claim);
    world.now += 1000;
    let applied = world.ask(Event::Tick {});
    assert_eq!(receipts_of(&applied.effects), [14, 15]);
    assert_chain(&world);
    assert_replay(&world);
    let kinds: Vec<String> = world
        .receipts()
        .iter()
        .map(|r| {
            serde_json::to_value(&r.fact).unwrap()["kind"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    let expected = "policy-registered epoch-opened run-registered run-taken step-committed \
        step-committed run-finished run-registered run-cancelled run-registered run-taken \
        run-abandoned run-registered run-expired epoch-expired";
    let expected: Vec<&str> = expected.split_whitespace().collect();
    assert_eq!(kinds, expected);
}

// I17: catches an expiry whose receipt would be too long to write.
#[test]
fn i17_the_longest_expiry_has_its_receipt() {
    let (mut world, policy, epoch) = World::open();
    let mut claim = world.claim(policy, vec![epoch]);
    claim.parameters = parameters(&[cost(0, 0)]);
    for n in 0..MAX_LIVE_RUNS {
        world.start(n as u8, &claim);
    }
    world.now += 1000;
    world.ask(Event::Tick {});
    let receipts = world.receipts();
    let Fact::EpochExpired { runs, .. } = &receipts.last().unwrap().fact else {
        panic!()
    };
    assert_eq!(runs.len(), MAX_LIVE_RUNS);
    assert_eq!(receipts.len(), 2 + 2 * MAX_LIVE_RUNS + 1);
}

// I17: catches an effect that names another receipt than the one in the chain.
#[test]
fn i17_each_receipt_is_announced() {
    let (mut world, policy, epoch) = World::open();
    let claim = world.claim(policy, vec![epoch]);
    let applied = world.ask(run_event(1, &claim));
    let [Effect::Receipt { seq, digest }] = applied.effects[..] else {
        panic!()
    };
    let body = world.ledger.receipt(seq).unwrap();
    assert_eq!(Receipt::digest_of(body), digest);
    assert_eq!(world.ledger.receipts(), seq);
    assert!(world.ledger.receipt(0).is_none() && world.ledger.receipt(seq + 1).is_none());
}

// I2: the bytes that auditors read; a change here is a new schema.
#[test]
fn i2_golden_receipt() {
    let (world, policy, epoch) = World::open();
    let body = String::from_utf8(world.ledger.receipt(2).unwrap().to_vec()).unwrap();
    let cluster = world.ledger.cluster_id();
    let previous = Digest::of(world.ledger.receipt(1).unwrap());
    assert_eq!(
        body,
        format!(
            "{{\"at\":1700000000,\"cluster\":\"{cluster}\",\"fact\":{{\"epoch\":{epoch},\
             \"expires\":1700001000,\"kind\":\"epoch-opened\",\"policy\":\"{policy}\"}},\
             \"previous\":\"{previous}\",\"schema\":\"siegel/receipt/v1\",\"seq\":2}}"
        )
    );
    let receipt = Receipt::parse(body.as_bytes()).unwrap();
    assert!(matches!(receipt.fact, Fact::EpochOpened { .. }));
    for bad in [
        body.replace("v1", "v2"),
        format!("{body} "),
        body.replace(":2}", ":2,\"x\":1}"),
    ] {
        assert!(Receipt::parse(bad.as_bytes()).is_err(), "{bad}");
    }
}

// I14: catches bodies that are kept for ever, and a forgotten one that breaks the numbers.
#[test]
fn i14_old_bodies_are_forgotten_and_the_chain_goes_on() {
    let (mut world, policy, epoch) = World::open();
    let run = world.taken(1, policy, epoch);
    let seq = world.commit(run);
    let bundle = world.log_receipt(seq);
    let mut claim = world.claim(policy, vec![epoch]);
    claim.parameters = parameters(&[cost(0, 0)]);
    let root = world.root(2);
    let second = world.start(2, &claim);
    while world.ledger.receipts() < seq + RECEIPTS_KEPT as u64 {
        world.ask(Event::TakeRun {
            run: second,
            root: root.clone(),
        });
        world.entries.clear();
    }
    assert!(world.ledger.receipt(seq).is_none());
    let kept = world.ledger.receipt(seq + 1).unwrap();
    assert_eq!(Receipt::parse(kept).unwrap().seq, seq + 1);
    let code = world.code(crate::world::first_release(run, bundle));
    assert_eq!(code, ("receipt-forgotten", "I17"));
}

// A snapshot of another cluster would give its budget to this one.
#[test]
fn i6_a_snapshot_belongs_to_its_cluster() {
    let (world, ..) = World::open();
    let other = World::new();
    let snapshot = world.ledger.snapshot().unwrap();
    assert!(Ledger::restore(&world.genesis, &snapshot).is_ok());
    assert!(Ledger::restore(&other.genesis, &snapshot).is_err());
    assert!(Ledger::restore(&world.genesis, b"{}").is_err());
    assert!(Ledger::new(b"{}").is_err());
}
