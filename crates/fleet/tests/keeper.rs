//! The keeper over real processes: ordered kills, deaths that nobody ordered, and the end.
//!
//! A failure is: a kill of the wrong process or at the wrong moment, a dead process that nobody
//! restarts or reports, a hopeless fleet that is waited for.
#![cfg(feature = "simulation")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod common;

use std::future::pending;
use std::time::Duration;

use common::{DEPOT, LOG, ROOT, kms, processes, worker};
use siegel_fleet::cluster::{Cluster, Mode, Options};
use siegel_fleet::keeper::{Death, Keeper};
use siegel_fleet::kills::{Bounds, KillPlan};
use siegel_fleet::{FleetError, ProcessName};
use siegel_ident::{ProgramDigest, Step};
use tempfile::TempDir;
use tokio::time::timeout;

async fn cluster(mode: Mode) -> (TempDir, Cluster) {
    let dir = tempfile::tempdir().unwrap();
    let options = Options::new(dir.path().into(), "run", ProgramDigest::of(b"program"));
    let cluster = Box::pin(Cluster::start(mode, options)).await.unwrap();
    (dir, cluster)
}

fn plan(text: &str) -> KillPlan {
    let bounds = Bounds {
        workers: 2,
        kms: 3,
        witnesses: 2,
        rounds: 3,
    };
    KillPlan::parse(&[text], bounds).unwrap()
}

fn keep(cluster: &Cluster, text: &str) -> Keeper {
    Keeper::start(cluster, &plan(text), |_| ()).unwrap()
}

fn pid_of(cluster: &Cluster, name: ProcessName) -> u32 {
    let reports = cluster.reports();
    let found = reports
        .iter()
        .find(|report| report.name == name.to_string());
    found.unwrap().pid
}

// Catches kills that fire at another step, twice, or out of order; a kill of somebody who is away;
// a kill whose moment never came and that nobody is told of.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_ordered_is_killed_then_and_comes_back() {
    let (_dir, cluster) = cluster(processes().await).await;
    let before = pid_of(&cluster, worker(2));
    let text =
        "root:step=2;worker#2:step=1;log:t=0s;depot:t=50ms;worker#2:step=2;root:step=3;log:t=60m";
    let keeper = keep(&cluster, text);
    // Not yet: the times count from the first upload.
    keeper.committed(Step(1));
    keeper.uploading();
    keeper.committed(Step(2));
    tokio::time::sleep(Duration::from_millis(300)).await;
    let told = timeout(Duration::from_secs(60), keeper.finish()).await;
    let told = told.unwrap().unwrap();
    let names: Vec<ProcessName> = told
        .incidents
        .iter()
        .map(|incident| incident.name)
        .collect();
    assert_eq!(names[0], worker(2));
    let mut sorted = names.clone();
    sorted.sort();
    assert_eq!(sorted, [LOG, DEPOT, worker(2), worker(2), ROOT]);
    for incident in &told.incidents {
        assert!(matches!(incident.why, Death::Ordered(_)), "{incident}");
        assert!(incident.away.is_some(), "{incident}");
    }
    let unfired: Vec<String> = told.unfired.iter().map(ToString::to_string).collect();
    assert_eq!(unfired, ["root:step=3", "log:t=60m"]);
    assert_ne!(pid_of(&cluster, worker(2)), before);
    let restarts: Vec<(String, u32)> = cluster
        .reports()
        .into_iter()
        .filter(|report| report.restarts > 0)
        .map(|report| (report.name, report.restarts))
        .collect();
    let expected = [("worker#2", 2), ("root", 1), ("siegel", 2)];
    assert_eq!(restarts, expected.map(|(name, n)| (name.to_owned(), n)));
}

// Catches a death that nobody notices, one that is hidden, and a process that is started for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_death_that_nobody_ordered_is_mended_and_a_habit_of_it_is_the_end() {
    let (_dir, cluster) = cluster(processes().await).await;
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    let keeper = Keeper::start(&cluster, &KillPlan::default(), move |incident| {
        let _ = tell.send(incident.clone());
    })
    .unwrap();
    let mut incidents = Vec::new();
    let killing = async {
        loop {
            let pid = pid_of(&cluster, worker(1)).to_string();
            let killed = std::process::Command::new("kill")
                .args(["-9", &pid])
                .status();
            assert!(killed.unwrap().success());
            let died = told.recv().await.unwrap();
            assert!(died.away.is_none() && died.name == worker(1), "{died}");
            incidents.push(died);
            // Back again, or never.
            match told.recv().await {
                Some(back) => assert!(back.away.is_some(), "{back}"),
                None => pending().await,
            }
        }
    };
    let end = timeout(Duration::from_secs(120), keeper.guard(killing)).await;
    let error = end.unwrap().unwrap_err();
    let shown = error.to_string();
    assert!(
        matches!(error, FleetError::CrashLoop { times: 6, .. }),
        "{shown}"
    );
    assert!(
        shown.contains("worker#1 died 6 times") && shown.contains("signal: 9"),
        "{shown}"
    );
    assert_eq!(incidents.len(), 6);
    assert!(matches!(&incidents[0].why, Death::Unordered(why) if why.contains("signal: 9")));
}

// Catches a lost quorum that is waited for, and a leader that is guessed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_quorum_ends_the_run_at_once() {
    let (_dir, cluster) = cluster(Mode::InProcess).await;
    let leader = cluster.kms_leader().await.unwrap();
    let keeper = keep(&cluster, "kms-leader:step=1;kms-follower:step=1");
    keeper.committed(Step(1));
    let end = timeout(Duration::from_secs(60), keeper.guard(pending::<()>())).await;
    let error = end.unwrap().unwrap_err();
    let FleetError::QuorumLost { dead, nodes } = &error else {
        panic!("{error}");
    };
    assert!(
        dead.contains(&leader) && dead.len() == 2 && *nodes == 3,
        "{error}"
    );
    assert!(error.to_string().contains("2 of 3"), "{error}");
    assert_eq!(
        (1..=3).map(kms).filter(|node| dead.contains(node)).count(),
        2
    );
}
