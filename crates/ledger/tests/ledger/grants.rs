//! TakeRun, Authorize, RenewLease.

use siegel_ident::{Fencing, RunId, Seconds};
use siegel_ledger::limits::MAX_WORKERS;
use siegel_ledger::{Done, Event, RunPhase, WorkloadRole};

use crate::world::{START, World, reference, run_id};

fn take(run: RunId, root: siegel_ledger::Workload) -> Event {
    Event::TakeRun { run, root }
}

// I6: catches two roots that may both commit.
#[test]
fn i6_each_taking_gets_a_larger_number_and_only_the_largest_acts() {
    let (mut world, policy, epoch) = World::open();
    let run = world.start(1, &world.claim(policy, vec![epoch]));
    let (first, second) = (world.root(1), world.root(2));
    assert_eq!(
        world.done(take(run, first)),
        Done::RunTaken {
            run,
            fencing: Fencing(1)
        }
    );
    let stale = world.next_commit(run);
    assert_eq!(
        world.done(take(run, second)),
        Done::RunTaken {
            run,
            fencing: Fencing(2)
        }
    );
    assert_eq!(world.holder(run), vec![2; 32]);
    let code = world.code(Event::CommitStep {
        commit: stale.clone(),
        by: vec![1; 32],
    });
    assert_eq!(code, ("stale-fencing", "I6"));
    let finish = Event::FinishRun {
        run,
        fencing: Fencing(1),
        by: vec![1; 32],
    };
    assert_eq!(world.code(finish), ("stale-fencing", "I6"));
    world.commit(run);
    // Keys that workers got stay with the run, not with the root.
    assert_eq!(world.ledger.run(run).unwrap().phase, RunPhase::Taken);
}

// I3: catches a ledger that trusts the proposer's word for role, measurement or configuration.
#[test]
fn i3_only_appraised_workloads_of_the_role_get_keys() {
    let (mut world, policy, epoch) = World::open();
    let run = world.taken(1, policy, epoch);
    let not_allowed = ("workload-not-allowed", "I3");
    for change in 0..4 {
        let (mut root, mut worker) = (world.root(3), world.worker(3));
        match change {
            0 => (root.role, worker.role) = (WorkloadRole::Worker, WorkloadRole::Root),
            1 => {
                (root.measured, worker.measured) =
                    (reference("worker").id(), reference("root").id())
            }
            2 => (root.config, worker.config) = (worker.config, root.config),
            _ => (root.signing_key, worker.signing_key) = (vec![], vec![3; 33]),
        }
        assert_eq!(world.code(take(run, root)), not_allowed, "root {change}");
        assert_eq!(
            world.code(Event::Authorize { run, worker }),
            not_allowed,
            "worker {change}"
        );
    }
    let mut worker = world.worker(3);
    worker.kem_key = vec![0; 2049];
    assert_eq!(
        world.code(Event::Authorize { run, worker }),
        ("out-of-bounds", "I14")
    );
    let unknown = run_id(9);
    let (root, worker) = (world.root(3), world.worker(3));
    assert_eq!(world.code(take(unknown, root)), ("unknown-run", "I3"));
    assert_eq!(
        world.code(Event::Authorize {
            run: unknown,
            worker
        }),
        ("unknown-run", "I3")
    );
}

// I3: catches worker keys before a root has the run, and after the run is over.
#[test]
fn i3_workers_get_keys_only_while_a_root_has_the_run() {
    let (mut world, policy, epoch) = World::open();
    let run = world.start(1, &world.claim(policy, vec![epoch]));
    let (root, worker) = (world.root(1), world.worker(7));
    let authorize = || Event::Authorize {
        run,
        worker: worker.clone(),
    };
    let renew = || Event::RenewLease {
        run,
        by: worker.signing_key.clone(),
    };
    assert_eq!(world.code(authorize()), ("run-not-taken", "I3"));
    world.done(take(run, root.clone()));
    assert_eq!(world.code(renew()), ("not-the-holder", "I3"));
    world.done(authorize());
    world.done(renew());
    world.commit(run);
    world.commit(run);
    let (fencing, by) = (world.fencing(run), world.holder(run));
    world.done(Event::FinishRun { run, fencing, by });
    let over = ("run-over", "I3");
    assert_eq!(world.code(authorize()), over);
    assert_eq!(world.code(renew()), over);
    assert_eq!(world.code(take(run, root)), over);
}

// I9: catches a lease that reaches past the run's deadline.
#[test]
fn i9_a_lease_ends_with_the_run() {
    let (mut world, policy, epoch) = World::open();
    let run = world.taken(1, policy, epoch);
    let worker = world.worker(7);
    world.done(Event::Authorize {
        run,
        worker: worker.clone(),
    });
    for (now, lease) in [
        (START, 30),
        (START + 470, 30),
        (START + 471, 29),
        (START + 499, 1),
    ] {
        world.now = now;
        let event = Event::RenewLease {
            run,
            by: worker.signing_key.clone(),
        };
        assert_eq!(
            world.done(event),
            Done::LeaseRenewed {
                lease: Seconds(lease)
            },
            "{now}"
        );
    }
}

#[test]
fn i14_workers_are_bounded_and_keep_their_keys() {
    let (mut world, policy, epoch) = World::open();
    let run = world.taken(1, policy, epoch);
    let mut worker = world.worker(0);
    for n in 0..MAX_WORKERS {
        worker.signing_key[..8].copy_from_slice(&(n as u64).to_be_bytes());
        world.done(Event::Authorize {
            run,
            worker: worker.clone(),
        });
    }
    // One that is known is asked in again; a new one is not.
    world.done(Event::Authorize {
        run,
        worker: worker.clone(),
    });
    assert_eq!(world.ledger.workers(run).count(), MAX_WORKERS);
    // I3: catches a KEM key swapped under a signing key that the root trusts already.
    let mut swapped = worker.clone();
    swapped.kem_key = vec![1; 1218];
    let code = world.code(Event::Authorize {
        run,
        worker: swapped,
    });
    assert_eq!(code, ("not-the-holder", "I3"));
    worker.signing_key = vec![255; 32];
    assert_eq!(
        world.code(Event::Authorize { run, worker }),
        ("full", "I14")
    );
}
