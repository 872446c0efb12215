//! OpenRelease.

use siegel_ident::{Digest, Step};
use siegel_ledger::{Done, Event};
use siegel_translog::predicate;
use siegel_translog::testing::{TestLog, TestSigner};

use crate::world::{World, first_release, run_id};

// I17: catches a DEK that leaves before the receipt is in the log, or on another proof.
#[test]
fn i17_a_release_opens_only_on_the_proof_of_its_receipt() {
    let (mut world, policy, epoch) = World::open();
    let run = world.taken(1, policy, epoch);
    let seq = world.commit(run);
    let body = world.ledger.receipt(seq).unwrap().to_vec();
    let registration = world.ledger.run(run).unwrap().registration;

    let other_receipt = world.log_receipt(registration);
    let stranger = TestSigner::generate().unwrap();
    let unsigned = world
        .log
        .publish(&stranger, "receipt", &body, predicate::RECEIPT)
        .unwrap();
    let wrong_type = world
        .log
        .publish(&world.cluster_signer, "receipt", &body, predicate::POLICY)
        .unwrap();
    // The operator holds the key of a log of its own, of the same name.
    let mut own_log = TestLog::new("log.example", [8; 32]);
    let own = own_log
        .publish(&world.cluster_signer, "receipt", &body, predicate::RECEIPT)
        .unwrap();
    for (what, bad) in [
        ("none", Vec::new()),
        ("another receipt", other_receipt),
        ("another signer", unsigned),
        ("another type", wrong_type),
        ("another log", own),
    ] {
        assert_eq!(
            world.code(first_release(run, bad)),
            ("receipt-not-logged", "I17"),
            "{what}"
        );
    }
    let good = world.log_receipt(seq);
    assert_eq!(
        world.done(first_release(run, good.clone())),
        Done::ReleaseOpened { run, step: Step(1) }
    );
    // I6: again and again, the same bytes.
    world.done(first_release(run, good.clone()));
    let release = world.ledger.release(run, Step(1)).unwrap();
    assert_eq!(release.receipt, seq);
    assert_ne!(release.previous, Digest::of(b""));

    let later = Event::OpenRelease {
        run,
        step: Step(2),
        bundle: good.clone(),
    };
    assert_eq!(world.code(later), ("no-release", "I17"));
    let zero = Event::OpenRelease {
        run,
        step: Step(0),
        bundle: good.clone(),
    };
    assert_eq!(world.code(zero), ("no-release", "I17"));
    assert_eq!(
        world.code(first_release(run_id(9), good)),
        ("unknown-run", "I3")
    );
    let huge = vec![0; siegel_ledger::limits::MAX_BUNDLE + 1];
    assert_eq!(
        world.code(first_release(run, huge)),
        ("out-of-bounds", "I14")
    );
}

// I17: a step that releases nothing opens nothing, proof or not.
#[test]
fn i17_a_step_without_a_release_opens_nothing() {
    let (mut world, policy, epoch) = World::open();
    let run = world.taken(1, policy, epoch);
    let (mut commit, by) = (world.next_commit(run), world.holder(run));
    commit.release = None;
    world.done(Event::CommitStep { commit, by });
    let bundle = world.log_receipt(world.ledger.receipts());
    assert_eq!(
        world.code(first_release(run, bundle)),
        ("no-release", "I17")
    );
}
