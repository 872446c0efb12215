//! I8: `kill -9` of a serving log while clients write. Every acknowledged entry and object is there
//! afterwards, under the same index, and every earlier checkpoint is a prefix of the new log.
//!
//! The server is this test binary started again: `the_server` serves when the variable is set.
#![allow(clippy::unwrap_used, clippy::expect_used)] // all of it is a test

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use siegel_ident::Secret;
use siegel_rekor::{Log, LogClient, LogKey, PolicySigner, RekorError, Storage, serve};
use siegel_translog::merkle::{leaf_hash, root};
use siegel_translog::{Statement, predicate, verify_logged};
use tokio::net::TcpListener;

const FOLDER: &str = "SIEGEL_TEST_LOG_FOLDER";
const LISTEN: &str = "SIEGEL_TEST_LOG_LISTEN";
const READY: &str = "listening on ";

fn key() -> LogKey {
    LogKey::from_seed("log.example.test", &Secret::new([5; 32])).unwrap()
}

#[tokio::test]
async fn the_server() {
    let Ok(folder) = std::env::var(FOLDER) else {
        return;
    };
    let log = Log::open(&Storage::folder(folder), key()).unwrap();
    let listen = std::env::var(LISTEN).unwrap();
    let listener = TcpListener::bind(listen).await.unwrap();
    println!("\n{READY}http://{}", listener.local_addr().unwrap());
    std::io::stdout().flush().unwrap();
    serve(listener, log, std::future::pending()).await.unwrap();
}

struct Server(Child);

impl Server {
    fn start(folder: &Path) -> (Self, LogClient) {
        Self::start_at(folder, "127.0.0.1:0")
    }

    fn start_at(folder: &Path, listen: &str) -> (Self, LogClient) {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["the_server", "--exact", "--nocapture"])
            .env(FOLDER, folder)
            .env(LISTEN, listen)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let url = lines
            .find_map(|line| line.unwrap().strip_prefix(READY).map(str::to_owned))
            .expect("the server prints its URL");
        (Self(child), LogClient::new(&url).unwrap())
    }

    /// SIGKILL.
    fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i8_nothing_acknowledged_is_lost_by_a_kill() {
    let dir = tempfile::tempdir().unwrap();
    let signer = PolicySigner::generate().unwrap();
    let anchors = key().anchors();
    let mut acknowledged: Vec<(Vec<u8>, u64)> = Vec::new();
    let mut checkpoints = Vec::new();
    for round in 0..6u64 {
        let (server, client) = Server::start(dir.path());
        // Writes until the server is gone, which happens in the middle of something.
        let killer = tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(15 + 23 * round)).await;
            server.kill();
        });
        for i in 0.. {
            let artifact = format!("{{\"round\":{round},\"i\":{i}}}").into_bytes();
            let statement = Statement::about("policy/demo", &artifact, predicate::POLICY);
            let envelope = signer.sign(&statement).unwrap();
            match client.publish(&envelope, &signer.key(), &artifact).await {
                Ok(bundle) => {
                    let logged = verify_logged(
                        &bundle,
                        &artifact,
                        predicate::POLICY,
                        None,
                        &anchors,
                        siegel_ident::Timestamp(0),
                    )
                    .unwrap();
                    checkpoints.push((logged.tree_size, logged.root));
                    acknowledged.push((artifact, logged.log_index));
                }
                Err(_) => break,
            }
        }
        killer.await.unwrap();
    }
    assert!(
        acknowledged.len() > 6,
        "only {} entries in six rounds",
        acknowledged.len()
    );

    let (server, client) = Server::start(dir.path());
    let note = client.checkpoint().await.unwrap();
    let checkpoint = anchors
        .verify_checkpoint(&note, siegel_ident::Timestamp(0))
        .unwrap();
    let bodies = client.entries(0, checkpoint.size).await.unwrap();
    let leaves: Vec<_> = bodies.iter().map(|body| leaf_hash(body)).collect();
    assert_eq!(root(&leaves), checkpoint.root);
    for (size, old_root) in checkpoints {
        assert_eq!(
            root(&leaves[..size as usize]),
            old_root,
            "checkpoint of size {size}"
        );
    }
    for (artifact, index) in &acknowledged {
        let statement = Statement::about("policy/demo", artifact, predicate::POLICY);
        let entry = siegel_translog::HashedRekord::parse(&bodies[*index as usize]).unwrap();
        let pae = client.archive_get(&entry.digest).await.unwrap();
        assert_eq!(
            pae,
            siegel_translog::dsse::pae(&statement.to_bytes().unwrap())
        );
        assert_eq!(
            &client.archive_get(&statement.digest).await.unwrap(),
            artifact
        );
    }
    server.kill();
}

// Catches an errand that gives up while the log is being restarted, one whose retry logs its entry
// a second time, and one that takes a refusal for an absence.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i8_a_patient_client_logs_everything_once_over_kills() {
    let dir = tempfile::tempdir().unwrap();
    let signer = PolicySigner::generate().unwrap();
    let (mut server, client) = Server::start(dir.path());
    let listen = client
        .url()
        .trim_start_matches("http://")
        .trim_end_matches('/')
        .to_owned();
    let client = client.with_patience(Duration::from_secs(60));
    let folder = dir.path().to_owned();
    let (done, is_done) = std::sync::mpsc::channel::<()>();
    let killer = std::thread::spawn(move || {
        for round in 0..400u64 {
            std::thread::sleep(Duration::from_millis(5 + 20 * (round % 10)));
            server.kill();
            server = Server::start_at(&folder, &listen).0;
            if is_done.try_recv().is_ok() {
                return (server, round);
            }
        }
        panic!("the client never finished");
    });
    let mut places = std::collections::BTreeSet::new();
    for i in 0..40 {
        let artifact = format!("{{\"i\":{i}}}").into_bytes();
        let statement = Statement::about("policy/demo", &artifact, predicate::POLICY);
        let envelope = signer.sign(&statement).unwrap();
        let bundle = client
            .publish(&envelope, &signer.key(), &artifact)
            .await
            .unwrap();
        let logged = verify_logged(
            &bundle,
            &artifact,
            predicate::POLICY,
            None,
            &key().anchors(),
            siegel_ident::Timestamp(0),
        );
        places.insert(logged.unwrap().log_index);
    }
    done.send(()).unwrap();
    let (server, rounds) = tokio::task::spawn_blocking(|| killer.join().unwrap())
        .await
        .unwrap();
    assert!(rounds > 1, "the log was hardly ever killed");
    assert_eq!(places, (0..40).collect());
    let note = client.checkpoint().await.unwrap();
    assert_eq!(
        key()
            .anchors()
            .verify_checkpoint(&note, siegel_ident::Timestamp(0))
            .unwrap()
            .size,
        40
    );
    let unknown = siegel_ident::Digest::of(b"unknown");
    let unknown = client.archive_get(&unknown);
    let answer = tokio::time::timeout(Duration::from_secs(30), unknown).await;
    assert!(matches!(
        answer.expect("no patience with refusals"),
        Err(RekorError::NotFound(_))
    ));
    server.kill();
}
