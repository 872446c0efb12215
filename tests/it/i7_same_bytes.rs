//! I7: the same uploads, program and seed give the same output bytes.

use siegel_tests::{World, people};

const TEXTS: &[&str] = &[
    "the cat and the dog",
    "a dog",
    "the house",
    "zzyzx is not in the list",
    "",
    "one two three four five six seven eight nine ten",
    "the the the",
    "and so on and so on",
];

async fn csv(seed: Option<u8>, workers: u32) -> Vec<u8> {
    let mut world = World::with(|options| {
        options.seed = seed.map(|byte| [byte; 32]);
        options.workers = workers;
    })
    .await;
    let (_, epoch) = world.upload(&people(TEXTS)).await;
    world.run_and_open(epoch).await.csv
}

/// Catches noise or bounding that depends on who computed which block, or on random ids.
#[tokio::test(flavor = "multi_thread")]
async fn workers_change_nothing_and_seeds_do() {
    let one = csv(Some(1), 1).await;
    assert_eq!(one, csv(Some(1), 2).await, "two workers");
    assert_eq!(one, csv(Some(1), 4).await, "four workers");
    assert_ne!(one, csv(Some(2), 2).await, "another seed");
    assert_ne!(
        csv(None, 1).await,
        csv(None, 1).await,
        "no seed: fresh noise"
    );
}

/// Real processes give the bytes that the in-process mode gives. Catches a node that behaves
/// otherwise under the launcher.
#[tokio::test(flavor = "multi_thread")]
async fn processes_give_the_same_bytes() {
    let mut world = World::start(
        siegel_tests::processes().await,
        &siegel_tests::bundle(siegel_tests::DRIVER),
        |options| options.seed = Some([1; 32]),
        |_| {},
    )
    .await;
    let (_, epoch) = world.upload(&people(TEXTS)).await;
    let apart = world.run_and_open(epoch).await.csv;
    assert_eq!(apart, csv(Some(1), 2).await);
}
