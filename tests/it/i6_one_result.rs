//! I6, I8: one committed result per step, whoever else computed it, and whatever was withheld.

use siegel_fleet::{Part, ProcessName};
use siegel_ident::{RunId, Step};
use siegel_operator::{FinishedRun, OperatorError, RunEvent, RunOrder};
use siegel_seal::object::{self, ObjectHeader};
use siegel_tests::gate::Gate;
use siegel_tests::orders::{refusal, steps};
use siegel_tests::training::writers;
use siegel_tests::{World, code};
use tokio::sync::oneshot;

use crate::i7_training::{ROUNDS, WRITERS, undisturbed};

/// Runs the order of this world, and says when which run is registered.
async fn ordered(
    world: &World,
    order: &RunOrder,
    registered: oneshot::Sender<RunId>,
) -> Result<FinishedRun, OperatorError> {
    let mut registered = Some(registered);
    let tell = |event: &RunEvent| {
        if let RunEvent::Registered { run, .. } = event {
            registered.take().unwrap().send(*run).unwrap();
        }
    };
    world.deployment.operator.run(order, tell).await
}

async fn opened(world: &mut World, run: RunId) -> Vec<Vec<u8>> {
    let mut models = Vec::new();
    for step in world.committed(run) {
        let plain = world.open_step(run, &step).await.unwrap();
        models.push(plain.expose().to_vec());
    }
    models
}

/// Two roots on one run. The older one sleeps with a step that it has computed; the younger one
/// commits that step and one more; then the older one wakes up. Catches a commit that looks at the
/// step alone, a second debit, a second result that opens, and a younger root that is disturbed.
#[tokio::test(flavor = "multi_thread")]
async fn an_old_root_that_wakes_up_is_refused() {
    let gate = Gate::new();
    let (mut world, epoch) = World::gated(ROUNDS, &gate, &writers(WRITERS)).await;
    let order = world.order(epoch);
    let cluster = &world.deployment.cluster;
    let another = cluster.another_root().await.unwrap();
    let (tell, told) = oneshot::channel();
    gate.hold(3);
    let older = async {
        let stopped = ordered(&world, &order, tell).await;
        // The younger one is in the middle of the run, and goes on from here.
        gate.open(5);
        stopped
    };
    let younger = async {
        let run = told.await.unwrap();
        gate.caught(3).await;
        // The order again, while its root sleeps: one run at a time.
        let busy = world.resume(cluster.root(), &order, run).await;
        assert_eq!(refusal(&busy).code, "busy");
        gate.hold(5);
        let waking = async {
            gate.caught(5).await;
            gate.open(3);
        };
        let (said, ()) = tokio::join!(world.resume(&another, &order, run), waking);
        assert_eq!(steps(&said), (2, vec![3, 4, 5, 6]));
        run
    };
    let (older, run) = tokio::join!(older, younger);
    let Err(OperatorError::Stopped {
        code, invariant, ..
    }) = older
    else {
        panic!("{older:?}");
    };
    assert_eq!((&*code, &*invariant), ("stale-fencing", "I6"));
    // Whoever asks for it again is told that it is over.
    for root in [cluster.root(), &another] {
        let said = world.resume(root, &order, run).await;
        assert_eq!(said.len(), 1, "{said:?}");
    }
    world.carry().await;
    assert_eq!(world.committed_by(run), [1, 1, 2, 2, 2, 2]);
    assert_eq!(world.registered(), 1);
    assert!(opened(&mut world, run).await == undisturbed().await);
    // Both roots have sealed step 3, and one of the two opens.
    let sealed = gate.releases(3);
    assert_eq!(sealed.len(), 2);
    let deployment = &world.deployment;
    let receipt = deployment.trail.of_step(run, Step(3)).unwrap();
    let key = deployment
        .operator
        .release_key(run, Step(3), &receipt.bundle);
    let key = key.await.unwrap();
    let opens = |bytes: &&bytes::Bytes| {
        let (header, _) = ObjectHeader::parse_prefix(bytes).unwrap();
        object::open_release(&key, &header.context, bytes).is_ok()
    };
    assert_eq!(sealed.iter().filter(opens).count(), 1);
}

/// Registered uploads are withheld from workers that have lost what they had read, and later given
/// back. Catches a step that is computed without them (the only other way to go on), a refusal that
/// spoils the run, a second debit, and a resumption that computes anything else.
#[tokio::test(flavor = "multi_thread")]
async fn a_withheld_upload_stops_the_run_and_harms_nothing() {
    let gate = Gate::new();
    let (mut world, epoch) = World::gated(ROUNDS, &gate, &writers(WRITERS)).await;
    let order = world.order(epoch);
    let deployment = &world.deployment;
    let cluster = &deployment.cluster;
    let (tell, told) = oneshot::channel();
    gate.hold(3);
    let withholding = async {
        gate.caught(3).await;
        // Uploads lie many to an object.
        gate.hide("upload/");
        for n in [1, 2] {
            let worker = ProcessName::new(Part::Worker, n);
            cluster.restart(worker).await.unwrap();
        }
        gate.open(3);
    };
    let (stopped, ()) = tokio::join!(ordered(&world, &order, tell), withholding);
    assert_eq!(
        code(&stopped.expect_err("an upload is missing")),
        "blob-missing"
    );
    let run = told.await.unwrap();
    let said = world.resume(cluster.root(), &order, run).await;
    assert_eq!(refusal(&said).code, "blob-missing", "it still is");
    gate.give_back();
    // Another order of the same is another run, and there is no budget for it.
    let again = world.run(epoch).await.expect_err("one debit");
    assert_eq!(code(&again), "budget-exhausted");
    let said = world.resume(cluster.root(), &order, run).await;
    assert_eq!(steps(&said), (3, vec![4, 5, 6]));
    world.carry().await;
    assert_eq!(world.committed_by(run), [1, 1, 1, 3, 3, 3]);
    assert_eq!(world.registered(), 1);
    assert!(opened(&mut world, run).await == undisturbed().await);
}
