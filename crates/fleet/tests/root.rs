//! I6, I7, I8: the root is killed between the steps of a run and its successor goes on; the key
//! service loses a follower and then its leader. One seed, the same bytes.
#![cfg(feature = "simulation")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod common;

use std::collections::BTreeMap;
use std::time::Duration;

use common::{World, people, processes};
use siegel_fleet::Part;
use siegel_fleet::cluster::Mode;
use siegel_fleet::keeper::{Chronicle, Keeper};
use siegel_fleet::kills::{Bounds, KillPlan};
use siegel_operator::RunEvent;
use siegel_program::Bundle;
use tokio::time::timeout;

/// Looks at the data twice and releases the second table.
const TWICE: &str = r#"
def init(public):
    return None

def step(state, n, clients):
    return dp_histogram(clients, column = "words", vocabulary = "words.txt", max_per_user = 4, share = 0.5)

def finish(state):
    return table("twice", state)
"#;

fn bundle() -> Bundle {
    let assets = BTreeMap::from([("words.txt".to_owned(), "cat\ndog\nhouse\n".to_owned())]);
    Bundle::new("word-histogram", TWICE, assets).unwrap()
}

/// The bytes that a run of two rounds gives under these kills, the steps that were reported, and
/// what happened.
async fn run(mode: Mode, kills: &[&str]) -> (Vec<u8>, Vec<u64>, Chronicle) {
    let data = people(12);
    let mut world = World::of(mode, bundle()).await;
    let (_, epoch) = world.upload(&data, &mut |_| ()).await.unwrap();
    let bounds = Bounds {
        workers: 2,
        kms: 3,
        witnesses: 2,
        rounds: 2,
    };
    let plan = KillPlan::parse(kills, bounds).unwrap();
    let keeper = Keeper::start(&world.deployment.cluster, &plan, |_| ()).unwrap();
    let (order, mut steps) = (world.order(epoch, 2), Vec::new());
    let running = world.deployment.operator.run(&order, |event| {
        if let RunEvent::Committed(step) = event {
            steps.push(step.step.0);
            keeper.committed(step.step);
        }
    });
    let run = timeout(Duration::from_secs(240), keeper.guard(running)).await;
    let run = run.unwrap().unwrap().unwrap();
    let bytes = world.open(&run).await;
    (bytes, steps, keeper.finish().await.unwrap())
}

// Catches a successor that starts over, draws other noise, commits a step twice, or is never asked.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_root_that_is_killed_between_steps_changes_no_byte() {
    let (undisturbed, steps, _) = run(Mode::InProcess, &[]).await;
    assert_eq!(steps, [1, 2]);
    let killed = [
        "root:step=1;worker#1:step=1;depot:step=1",
        "root:step=2;log:step=2",
    ];
    let (bytes, steps, chronicle) = run(processes().await, &killed).await;
    assert_eq!(bytes, undisturbed);
    assert_eq!(steps, [1, 2]);
    assert_eq!(chronicle.unfired, []);
    assert_eq!(chronicle.incidents.len(), 5);
}

// Catches a replacement that does not take its place: the second death would be the end then.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_follower_and_then_the_leader_of_the_key_service_die() {
    let mut world = World::of(processes().await, bundle()).await;
    let cluster = &world.deployment.cluster;
    let leader = cluster.kms_leader().await.unwrap();
    let nodes = (1..=3).map(common::kms);
    for follower in nodes.filter(|node| *node != leader) {
        cluster.kill(follower).await.unwrap();
        cluster.restart(follower).await.unwrap();
        cluster.kms_caught_up(follower).await.unwrap();
    }
    let leader = cluster.kms_leader().await.unwrap();
    cluster.kill(leader).await.unwrap();
    cluster.restart(leader).await.unwrap();
    cluster.kms_caught_up(leader).await.unwrap();
    // Nobody of the first members is left, and everything that they knew is there.
    let data = people(12);
    let (_, epoch) = world.upload(&data, &mut |_| ()).await.unwrap();
    let order = world.order(epoch, 2);
    let run = world.deployment.operator.run(&order, |_| ()).await.unwrap();
    let bytes = world.open(&run).await;
    assert_eq!(bytes, self::run(Mode::InProcess, &[]).await.0);
    let restarted = world.deployment.cluster.reports();
    let restarted = restarted.iter().filter(|report| report.restarts == 1);
    assert!(
        restarted
            .filter(|report| report.name.starts_with(Part::Kms.as_str()))
            .count()
            >= 3
    );
}
