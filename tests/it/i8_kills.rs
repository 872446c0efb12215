//! I8, I10: one dead KMS node is nothing, two are the end, and the end is a clear error.

use std::time::{Duration, Instant};

use siegel_fleet::{Part, ProcessName};
use siegel_tests::{World, code, crowd};

/// Catches a cluster that needs all three nodes, and one that goes on without a quorum. The time is
/// bounded, not measured: "within seconds" is part of the promise.
#[tokio::test(flavor = "multi_thread")]
async fn one_death_goes_on_and_two_release_nothing() {
    let mut world = World::new().await;
    let (_, epoch) = world.upload(&crowd(6, "a cat")).await;
    world
        .deployment
        .cluster
        .kill(ProcessName::new(Part::Kms, 1))
        .await
        .unwrap();
    let run = world.run(epoch).await.expect("one death");
    world
        .deployment
        .cluster
        .kill(ProcessName::new(Part::Kms, 2))
        .await
        .unwrap();
    let start = Instant::now();
    let refused = world.open(&run).await.map(drop).expect_err("two deaths");
    assert_eq!(code(&refused), "no-quorum");
    assert!(
        start.elapsed() < Duration::from_secs(60),
        "a clear error within seconds"
    );
}

/// A worker that dies before the run: the other computes all blocks.
#[tokio::test(flavor = "multi_thread")]
async fn a_dead_worker_is_done_without() {
    let mut world = World::new().await;
    let (_, epoch) = world.upload(&crowd(6, "a cat")).await;
    world
        .deployment
        .cluster
        .kill(ProcessName::new(Part::Worker, 1))
        .await
        .unwrap();
    world.run_and_open(epoch).await;
}
