//! I1, I17: what two witnesses have not cosigned is not public.

use std::sync::Arc;
use std::time::Duration;

use siegel_fleet::deployment::Deployment;
use siegel_fleet::{Part, ProcessName};
use siegel_ident::Timestamp;
use siegel_operator::{Operator, OperatorError, ReceiptTrail};
use siegel_rekor::{Log, LogClient, LogKey, PolicySigner, Storage, Witnesses};
use siegel_tests::{World, code, crowd};
use siegel_translog::nonce::NonceDocument;
use siegel_translog::{HashedRekord, ProofError, Statement, predicate, verify_logged};

const FIRST: ProcessName = ProcessName::new(Part::Witness, 1);

/// An operator that carries whatever the log answers.
fn careless(deployment: &Deployment) -> Operator {
    let cluster = &deployment.cluster;
    Operator::new(
        cluster.net(),
        LogClient::new(cluster.log_url()).unwrap(),
        cluster.kms(),
        cluster.depot(),
        cluster.root(),
        PolicySigner::generate().unwrap(),
    )
    .unwrap()
}

fn now(world: &World) -> Timestamp {
    world.deployment.cluster.clock().now()
}

/// What the deployment's verifiers say to a note.
fn lacking(world: &World, note: &str) -> bool {
    let anchors = world.deployment.log_anchors();
    let found = anchors.verify_checkpoint(note, now(world));
    matches!(found, Err(ProofError::Witnesses { .. }))
}

/// Catches a key service that opens a release on a receipt that one witness has not seen, an operator
/// that does not wait for it, and a log that does not ask it again.
#[tokio::test(flavor = "multi_thread")]
async fn i17_a_release_opens_only_when_the_witnesses_have_seen_its_receipt() {
    let mut world = World::new().await;
    let (report, epoch) = world.upload(&crowd(6, "a cat")).await;
    assert_eq!(report.accepted, 6);
    let run = world.run(epoch).await.expect("a run");
    let step = run.steps.last().unwrap();
    let (_, digest) = step.release.clone().unwrap();

    world.deployment.cluster.kill(FIRST).await.unwrap();
    let careless = careless(&world.deployment);
    let mut trail = ReceiptTrail::of(&world.deployment.genesis).unwrap();
    let refused = careless
        .open_release(&mut trail, run.run, step.step, digest)
        .await
        .map(drop)
        .expect_err("one witness is not enough");
    assert_eq!(code(&refused), "receipt-not-logged");
    // The same bundle is what a client or auditor would look at.
    let note = careless.checkpoint().await.unwrap();
    assert!(lacking(&world, &note));

    // It comes back while the operator waits.
    let cluster = &world.deployment.cluster;
    cluster.restart(FIRST).await.unwrap();
    let note = world.deployment.operator.checkpoint().await.unwrap();
    assert!(!lacking(&world, &note));
    world.open(&run).await.expect("a release");
}

/// Two histories under one log key: the witnesses cosign one of them, and keep what speaks against the
/// other.
#[tokio::test(flavor = "multi_thread")]
async fn i1_a_second_history_gets_no_cosignatures() {
    let world = World::new().await;
    let (dir, cluster) = (world.dir.path(), &world.deployment.cluster);
    let true_note = world.deployment.operator.checkpoint().await.unwrap();
    let anchors = world.deployment.log_anchors();
    let size = anchors
        .verify_checkpoint(&true_note, now(&world))
        .unwrap()
        .size;

    let key = LogKey::load_or_create(&anchors.origin, &dir.join("log-key.pem")).unwrap();
    let fork = |key| {
        let asked = Witnesses::new(cluster.witnesses()).unwrap();
        Log::open_with(&Storage::Memory, key, Arc::new(asked)).unwrap()
    };
    let log = fork(key);
    let signer = PolicySigner::generate().unwrap();
    for n in 0..=size {
        let statement = Statement::about("another history", &[n as u8], predicate::POLICY);
        let envelope = signer.sign(&statement).unwrap();
        let record = HashedRekord::of(&envelope, &signer.key());
        log.submit(&record).await.unwrap();
        // A witness that had nothing to say is left alone for a moment.
        tokio::time::sleep(Duration::from_millis(if n + 1 >= size { 2_100 } else { 0 })).await;
        log.refresh().await.unwrap();
        assert!(lacking(&world, &log.checkpoint()), "at {n}");
    }
    let evidence = std::fs::read_dir(dir.join("witness-1/evidence")).expect("evidence");
    let kinds: Vec<_> = evidence
        .map(|file| file.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    assert!(
        kinds.iter().any(|name| name.starts_with("fork-")),
        "{kinds:?}"
    );
    // The honest history goes on.
    world
        .deployment
        .operator
        .witnessed_nonce([1; 32])
        .await
        .unwrap();
}

/// A log that lost what it had published (its disk came back from yesterday) is not cosigned.
#[tokio::test(flavor = "multi_thread")]
async fn i1_a_log_that_rolls_back_gets_no_cosignatures() {
    let world = World::new().await;
    let (dir, cluster) = (world.dir.path(), &world.deployment.cluster);
    let log = ProcessName::new(Part::Log, 1);
    cluster.kill(log).await.unwrap();
    copy(&dir.join("log"), &dir.join("yesterday"));
    cluster.restart(log).await.unwrap();
    for n in 0..2 {
        world
            .deployment
            .operator
            .witnessed_nonce([n; 32])
            .await
            .unwrap();
    }
    cluster.kill(log).await.unwrap();
    std::fs::remove_dir_all(dir.join("log")).unwrap();
    std::fs::rename(dir.join("yesterday"), dir.join("log")).unwrap();
    cluster.restart(log).await.unwrap();
    let careless = careless(&world.deployment);
    let published = careless.witnessed_nonce([9; 32]).await.unwrap();
    let document = NonceDocument { nonce: [9; 32] }.to_bytes().unwrap();
    let refused = verify_logged(
        &published.bundle,
        &document,
        predicate::NONCE,
        None,
        &world.deployment.log_anchors(),
        now(&world),
    );
    assert!(
        matches!(refused, Err(ProofError::Witnesses { .. })),
        "{refused:?}"
    );
}

/// The proof of a logged nonce carries the witnesses' time; and an operator that waits for witnesses
/// in vain says so.
#[tokio::test(flavor = "multi_thread")]
async fn i9_a_nonce_in_the_log_tells_the_time() {
    let world = World::new().await;
    let before = now(&world);
    let published = world
        .deployment
        .operator
        .witnessed_nonce([7; 32])
        .await
        .unwrap();
    let document = NonceDocument { nonce: [7; 32] };
    assert_eq!(published.bytes, document.to_bytes().unwrap());
    let logged = verify_logged(
        &published.bundle,
        &published.bytes,
        predicate::NONCE,
        None,
        &world.deployment.log_anchors(),
        now(&world),
    )
    .unwrap();
    let time = logged.witnessed_at.expect("a time");
    assert!((before..=now(&world)).contains(&time));

    world.deployment.cluster.kill(FIRST).await.unwrap();
    let waited = world.deployment.operator.witnessed_nonce([8; 32]).await;
    let error = waited.map(drop).expect_err("no quorum");
    assert!(
        matches!(error, OperatorError::Unwitnessed { .. }),
        "{error}"
    );
    assert!(error.to_string().contains("witnesses"), "{error}");
}

fn copy(from: &std::path::Path, to: &std::path::Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(std::fs::copy(entry.path(), target).unwrap()),
        }
    }
}
