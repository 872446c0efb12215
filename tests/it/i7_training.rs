//! I7, I8: one seed gives one model after every round, whatever dies on the way.

use std::sync::Arc;
use std::time::Duration;

use siegel_fleet::clients;
use siegel_fleet::deployment::Deployment;
use siegel_fleet::keeper::{Chronicle, Keeper};
use siegel_fleet::kills::{Bounds, KillPlan};
use siegel_fleet::{Part, ProcessName};
use siegel_ident::EpochId;
use siegel_operator::{FinishedRun, RunEvent};
use siegel_tests::World;
use siegel_tests::gate::Gate;
use siegel_tests::training::writers;
use tokio::sync::{OnceCell, mpsc};

pub(super) const ROUNDS: u64 = 6;
pub(super) const WRITERS: usize = 12;

/// The models of a run that nobody disturbs, of seed 1.
pub(super) async fn undisturbed() -> &'static [Vec<u8>] {
    static MODELS: OnceCell<Vec<Vec<u8>>> = OnceCell::const_new();
    MODELS.get_or_init(|| models(1, 1)).await
}

async fn models(seed: u8, workers: u32) -> Vec<Vec<u8>> {
    let mut world = World::training(ROUNDS, |options| {
        options.seed = Some([seed; 32]);
        options.workers = workers;
    })
    .await;
    let (_, epoch) = world.upload(&writers(WRITERS)).await;
    world.train(epoch).await.models
}

/// Runs under a plan of one kill after each of some steps. The root is held in the step after it,
/// computed and not yet stored, until whoever died is back: so each death is within the run.
async fn killed(
    world: &World,
    epoch: EpochId,
    gate: &Gate,
    kills: &[(&str, u64)],
) -> (FinishedRun, Chronicle) {
    let cluster = &world.deployment.cluster;
    let bounds = Bounds {
        workers: 2,
        kms: 3,
        witnesses: 2,
        rounds: ROUNDS,
    };
    let orders = kills.iter().map(|(who, step)| format!("{who}:step={step}"));
    let plan = KillPlan::parse(&orders.collect::<Vec<_>>(), bounds).unwrap();
    let (tell, mut told) = mpsc::unbounded_channel();
    let keeper = Keeper::start(cluster, &plan, move |incident| {
        let _ = tell.send(incident.clone());
    })
    .unwrap();
    keeper.uploading();
    for (_, step) in kills {
        gate.hold(step + 1);
    }
    let order = world.order(epoch);
    let mut reported = Vec::new();
    let running = world.deployment.operator.run(&order, |event| {
        if let RunEvent::Committed(step) = event {
            keeper.committed(step.step);
            reported.push(step.step.0);
        }
    });
    let holding = async {
        for (_, step) in kills {
            gate.caught(step + 1).await;
            let back = loop {
                let incident = told.recv().await.expect("the keeper lives");
                if incident.away.is_some() {
                    break incident.name;
                }
            };
            if back.part == Part::Kms {
                cluster.kms_caught_up(back).await.unwrap();
            }
            gate.open(step + 1);
        }
    };
    let both = Box::pin(async { tokio::join!(running, holding).0 });
    let run = keeper.guard(both).await.expect("a fleet that goes on");
    let run = run.expect("a run");
    assert_eq!(reported, (1..=ROUNDS).collect::<Vec<_>>(), "each step once");
    let chronicle = keeper.finish().await.unwrap();
    assert_eq!(chronicle.unfired, [], "all were killed");
    assert_eq!(chronicle.incidents.len(), kills.len());
    (run, chronicle)
}

/// Catches sums, noise or state that depend on who computed which block, and noise that does not come
/// from the seed.
#[tokio::test(flavor = "multi_thread")]
async fn workers_change_no_model_and_seeds_change_all() {
    let one = undisturbed().await;
    assert_eq!(one.len() as u64, ROUNDS);
    assert!(one.windows(2).all(|pair| pair[0] != pair[1]));
    assert!(models(1, 2).await == one, "two workers");
    assert!(models(1, 4).await == one, "four workers");
    let other = models(2, 2).await;
    assert!(other.iter().zip(one).all(|(other, one)| other != one));
}

/// The root dies after the first, a middle and the last but one step, each time with a step that
/// it has computed and not committed. Catches a new root that starts over, draws noise again, loses
/// weights or momentum, or takes another list of uploads.
#[tokio::test(flavor = "multi_thread")]
async fn roots_that_die_change_no_model() {
    let gate = Gate::new();
    let (mut world, epoch) = World::gated(ROUNDS, &gate, &writers(WRITERS)).await;
    let kills = [("root", 1), ("root", 3), ("root", ROUNDS - 1)];
    let (run, _) = killed(&world, epoch, &gate, &kills).await;
    let models = world.open_all(&run).await;
    assert_eq!(world.committed_by(run.run), [1, 2, 2, 3, 3, 4]);
    assert!(models == undisturbed().await);
}

/// Each worker dies once and comes back with new keys and nothing in its memory. Catches a root that
/// keeps a session with the dead, blocks that are lost or added twice, and an upload order or cache
/// that decides over a sum.
#[tokio::test(flavor = "multi_thread")]
async fn workers_that_die_change_no_model() {
    let gate = Gate::new();
    let (mut world, epoch) = World::gated(ROUNDS, &gate, &writers(WRITERS)).await;
    let kills = [("worker#1", 1), ("worker#2", 3)];
    let (run, _) = killed(&world, epoch, &gate, &kills).await;
    let models = world.open_all(&run).await;
    assert_eq!(world.committed_by(run.run), [1; ROUNDS as usize]);
    assert!(models == undisturbed().await);
}

/// A follower dies and, after its replacement has caught up, the leader. Catches a replacement that
/// got another run secret, epoch key or receipt chain, or none, and a run or an opening that knows
/// only the first leader.
#[tokio::test(flavor = "multi_thread")]
async fn key_service_nodes_that_are_replaced_change_no_model() {
    let gate = Gate::new();
    let (mut world, epoch) = World::gated(ROUNDS, &gate, &writers(WRITERS)).await;
    let kills = [("kms-follower", 1), ("kms-leader", 3)];
    let (run, chronicle) = killed(&world, epoch, &gate, &kills).await;
    assert_ne!(chronicle.incidents[0].name, chronicle.incidents[1].name);
    // The third of the first three goes as well: only replacements are left to open with.
    let third = (1..=3).map(|n| ProcessName::new(Part::Kms, n));
    let third = third.filter(|name| chronicle.incidents.iter().all(|i| i.name != *name));
    let cluster = &world.deployment.cluster;
    for name in third.collect::<Vec<_>>() {
        cluster.kill(name).await.unwrap();
    }
    let models = world.open_all(&run).await;
    assert!(models == undisturbed().await);
}

/// The depot dies while the clients upload, the log while the receipts are carried to it. Catches an
/// upload that is lost or counted twice, and a release that opens without its receipt in the log,
/// or never.
#[tokio::test(flavor = "multi_thread")]
async fn a_depot_and_a_log_that_die_change_no_model() {
    const DEPOT: ProcessName = ProcessName::new(Part::Depot, 1);
    const LOG: ProcessName = ProcessName::new(Part::Log, 1);
    let mut world = World::training(ROUNDS, |options| options.seed = Some([1; 32])).await;
    let (offer, epoch) = world.offer().await;
    let mut options = world.clients();
    options.concurrency = 2;
    let cluster = &world.deployment.cluster;
    let (data, offer) = (writers(WRITERS), Arc::new(offer));
    let (depot, clock) = (world.deployment.operator.depot(), cluster.clock());
    let (tell, mut done) = mpsc::unbounded_channel();
    let mut tell = |n| {
        let _ = tell.send(n);
    };
    let uploading = clients::upload_all(&data, &offer, &options, depot, clock, &mut tell);
    let killing = async {
        while done.recv().await != Some(3) {}
        cluster.kill(DEPOT).await.unwrap();
        tokio::time::sleep(Duration::from_millis(100)).await;
        cluster.restart(DEPOT).await.unwrap();
    };
    let (report, ()) = tokio::join!(uploading, killing);
    let report = report.unwrap();
    assert_eq!((report.accepted, report.duplicates), (WRITERS as u64, 0));

    let run = world.run(epoch).await.expect("a run");
    assert_eq!(run.blobs, WRITERS as u64);
    let Deployment {
        cluster,
        operator,
        trail,
        ..
    } = &mut world.deployment;
    cluster.kill(LOG).await.unwrap();
    let killing = async {
        for life in [20, 40, 80] {
            cluster.restart(LOG).await.unwrap();
            tokio::time::sleep(Duration::from_millis(life)).await;
            cluster.kill(LOG).await.unwrap();
        }
        cluster.restart(LOG).await.unwrap();
    };
    let (carried, ()) = tokio::join!(operator.carry_receipts(trail), killing);
    assert!(carried.unwrap() as u64 > ROUNDS);
    assert!(world.open_all(&run).await == undisturbed().await);
}
