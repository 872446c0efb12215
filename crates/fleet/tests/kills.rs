//! I8: parts of a running pipeline are killed or paused, and nothing that was acknowledged is lost,
//! counted twice, or other than it would have been.
#![cfg(feature = "simulation")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod common;

use std::collections::BTreeSet;
use std::time::Duration;

use common::{DEPOT, LOG, World, logged, people, processes, worker};
use siegel_fleet::FleetError;
use siegel_fleet::cluster::Mode;
use siegel_fleet::deployment::Deployment;
use siegel_ident::EpochId;
use siegel_operator::{FinishedRun, RunEvent};
use siegel_rekor::LogReader;
use tokio::sync::{Notify, mpsc, oneshot};

// The depot dies three times under 200 clients. Catches an upload that is lost, stored twice, or
// reported as a duplicate because the depot died between storing and saying so.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_upload_is_lost_or_counted_twice_when_the_depot_dies() {
    let world = World::start(Mode::InProcess).await;
    let data = people(200);
    let (tell, mut done) = mpsc::unbounded_channel();
    let killing = async {
        while let Some(done) = done.recv().await {
            if [20, 80, 150].contains(&done) {
                world.deployment.cluster.kill(DEPOT).await.unwrap();
                tokio::time::sleep(Duration::from_millis(200)).await;
                world.deployment.cluster.restart(DEPOT).await.unwrap();
            }
        }
    };
    let uploading = async {
        let tell = tell;
        world
            .upload(&data, &mut |done| tell.send(done).unwrap())
            .await
    };
    let (uploaded, ()) = tokio::join!(uploading, killing);
    let (report, epoch) = uploaded.unwrap();
    assert_eq!(
        (report.accepted, report.duplicates, report.refused),
        (200, 0, 0)
    );
    let operator = &world.deployment.operator;
    assert_eq!(
        operator.uploads(&world.policy, epoch).await.unwrap().len(),
        200
    );
}

// The log dies again and again while receipts are carried. Catches a receipt that is lost or logged
// twice, a broken chain, and an errand that gives up.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn receipts_are_in_the_log_once_though_it_dies_again_and_again() {
    let mut world = World::start(Mode::InProcess).await;
    let (_, epoch) = world.upload(&people(6), &mut |_| ()).await.unwrap();
    let order = world.order(epoch, 1);
    world.deployment.operator.run(&order, |_| ()).await.unwrap();

    let Deployment {
        cluster,
        operator,
        trail,
        ..
    } = &mut world.deployment;
    cluster.kill(LOG).await.unwrap();
    let (all_carried, mut carried) = oneshot::channel();
    let killing = async {
        // Each life is longer: on a busy machine, too, one is long enough for an answer of both witnesses.
        for life in 0..100u64 {
            cluster.restart(LOG).await.unwrap();
            tokio::time::sleep(Duration::from_millis(5 * life)).await;
            if carried.try_recv().is_ok() {
                return;
            }
        }
        panic!("the receipts never arrived");
    };
    let carrying = async {
        let count = operator.carry_receipts(trail).await;
        all_carried.send(()).unwrap();
        count
    };
    let (count, ()) = tokio::join!(carrying, killing);
    let count = count.unwrap();

    let carried = trail.carried();
    assert!(count == carried.len() && count >= 6, "{count}");
    let mut previous = None;
    for (n, one) in carried.iter().enumerate() {
        assert_eq!(one.receipt.seq, n as u64 + 1);
        if let Some(previous) = previous {
            assert_eq!(one.receipt.previous, previous, "receipt {n}");
        }
        let body = one.receipt.to_bytes().unwrap();
        previous = Some(siegel_ident::Digest::of(&body));
    }
    let places: BTreeSet<u64> = carried.iter().map(|one| one.log_index).collect();
    assert_eq!(places.len(), count);
    // Genesis, program, two endorsements, policy, key offer, and each receipt once: nothing else.
    let log = LogReader::new(cluster.log_url()).unwrap();
    let checkpoint = log.checkpoint().await.unwrap();
    let size: usize = checkpoint.lines().nth(1).unwrap().parse().unwrap();
    assert_eq!(size, 6 + count);
}

// A worker stands still in the middle of a step, with its keys, until long after its lease; then it
// goes on. Catches another output (I7), a run that waits for it, and keys that outlive the lease (I9).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_that_is_paused_beyond_its_lease_changes_nothing() {
    let data = people(12);
    let mut world = World::start(processes().await).await;
    let (_, epoch) = world.upload(&data, &mut |_| ()).await.unwrap();
    let cluster = &world.deployment.cluster;
    let run = disturbed(&world, epoch, async {
        // Without the depot both workers stand in the middle of the step, keys in hand.
        cluster.kill(DEPOT).await.unwrap();
        logged(world.dir.path(), worker(1), "run prepared").await;
        cluster.pause(worker(1)).unwrap();
        cluster.restart(DEPOT).await.unwrap();
    })
    .await;
    // The lease is of 30 s.
    tokio::time::sleep(Duration::from_secs(31)).await;
    cluster.resume(worker(1)).unwrap();
    // Whether its own clock or the key service says so first.
    logged(world.dir.path(), worker(1), "keys erased").await;
    let log = std::fs::read_to_string(world.dir.path().join("logs/worker-1.jsonl")).unwrap();
    assert!(!log.contains("blocks summed"), "{log}");
    assert_eq!(world.open(&run).await, World::undisturbed(&data).await);
}

// Both workers are killed in the middle of a step and come back with new keys. Catches a root that
// waits for the dead, adds their blocks twice, or keeps a session with who is not there any more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workers_that_are_killed_in_a_step_change_no_byte() {
    let data = people(12);
    let mut world = World::start(processes().await).await;
    let (_, epoch) = world.upload(&data, &mut |_| ()).await.unwrap();
    let cluster = &world.deployment.cluster;
    let run = disturbed(&world, epoch, async {
        cluster.kill(DEPOT).await.unwrap();
        for n in [1, 2] {
            logged(world.dir.path(), worker(n), "run prepared").await;
            cluster.kill(worker(n)).await.unwrap();
        }
        cluster.restart(DEPOT).await.unwrap();
        cluster.restart(worker(1)).await.unwrap();
        cluster.restart(worker(2)).await.unwrap();
    })
    .await;
    assert_eq!(world.open(&run).await, World::undisturbed(&data).await);
}

// A paused part of this process cannot be told apart from the whole.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thread_is_not_paused_alone() {
    let world = World::start(Mode::InProcess).await;
    let cluster = &world.deployment.cluster;
    assert!(matches!(cluster.pause(DEPOT), Err(FleetError::NotAProcess(name)) if name == DEPOT));
    assert!(matches!(
        cluster.pause(worker(9)),
        Err(FleetError::Unknown(_))
    ));
}

/// Runs to the end; `disturbance` begins when the run is registered.
async fn disturbed(
    world: &World,
    epoch: EpochId,
    disturbance: impl Future<Output = ()>,
) -> FinishedRun {
    let order = world.order(epoch, 1);
    let registered = Notify::new();
    let running = async {
        let tell = |event: &RunEvent| {
            if matches!(event, RunEvent::Registered { .. }) {
                registered.notify_one();
            }
        };
        world.deployment.operator.run(&order, tell).await.unwrap()
    };
    let disturbing = async {
        registered.notified().await;
        disturbance.await;
    };
    tokio::join!(running, disturbing).0
}
