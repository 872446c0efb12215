//! I8: `kill -9` of a serving log while clients write. Every acknowledged entry and object is there
//! afterwards, under the same index, and every earlier checkpoint is a prefix of the new log.
//!
//! The server is this test binary started again: `the_server` serves when the variable is set.
#![allow(clippy::unwrap_used, clippy::expect_used)] // all of it is a test

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use siegel_ident::{Digest, Secret};
use siegel_rekor::{
    FolderLog, Log, LogClient, LogKey, LogReader, PolicySigner, RekorError, Storage, serve,
};
use siegel_translog::merkle::{leaf_hash, verify_inclusion};
use siegel_translog::{Checkpoint, Statement, Tree, predicate, verify_logged};
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

/// What the clients of one log were told, over all its lives.
#[derive(Clone, Default)]
struct Seen {
    /// Index and leaf hash of every acknowledged entry.
    entries: Vec<(u64, Digest)>,
    /// Every object that was archived before its entry was acknowledged.
    archived: Vec<Digest>,
    /// Size and root of every checkpoint.
    checkpoints: BTreeSet<(u64, Digest)>,
}

fn checkpoint(note: &str) -> Checkpoint {
    let key = key();
    Checkpoint::verify_note(note, key.origin(), &key.public_key()).unwrap()
}

/// One write; every fourth one is archived first. An error is the kill.
async fn write(client: LogClient, signer: Arc<PolicySigner>, n: String, seen: Arc<Mutex<Seen>>) {
    let artifact = format!("{{\"n\":\"{n}\"}}").into_bytes();
    let statement = Statement::about("policy/demo", &artifact, predicate::POLICY);
    let envelope = signer.sign(&statement).unwrap();
    let archive = n.ends_with('0');
    if archive {
        for bytes in [&artifact, &envelope.pae()] {
            match client.archive_put(bytes).await {
                Ok(digest) => seen.lock().unwrap().archived.push(digest),
                Err(_) => return,
            }
        }
    }
    if let Ok(entry) = client.submit(&envelope, &signer.key()).await {
        let (leaf, proof) = (leaf_hash(&entry.canonicalized_body), &entry.proof);
        let promised = checkpoint(proof.checkpoint());
        let (size, root) = (promised.size, promised.root);
        verify_inclusion(&leaf, entry.log_index, size, &proof.hashes, &root).unwrap();
        let mut seen = seen.lock().unwrap();
        seen.entries.push((entry.log_index, leaf));
        seen.checkpoints.insert((size, root));
    }
}

/// The folder as the kill has left it, or as a server has taken it up again.
async fn check(reader: &LogReader, seen: &Seen) {
    let last = checkpoint(&reader.checkpoint().await.unwrap());
    let bodies = reader.entries(0, last.size).await.unwrap();
    let tree: Tree = bodies.iter().map(|body| leaf_hash(body)).collect();
    assert_eq!((tree.size(), tree.root()), (last.size, last.root));
    for (index, leaf) in &seen.entries {
        assert_eq!(tree.node(0, *index), Some(*leaf), "entry {index}");
    }
    for (size, root) in &seen.checkpoints {
        assert_eq!(tree.root_at(*size), Some(*root), "checkpoint of {size}");
    }
    for digest in &seen.archived {
        reader.archive_get(digest).await.unwrap();
    }
}

/// Kills in the middle of 1,000 writes that wait at once; `SIEGEL_KILLS` of them, else five.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i8_nothing_acknowledged_is_lost_by_kills_during_a_thousand_writes() {
    const WRITES: usize = 1000;
    let kills = std::env::var("SIEGEL_KILLS").map_or(5, |n| n.parse().unwrap());
    let dir = tempfile::tempdir().unwrap();
    let signer = Arc::new(PolicySigner::generate().unwrap());
    let seen = Arc::new(Mutex::new(Seen::default()));
    let (mut interrupted, began) = (0, Instant::now());
    for round in 0..kills {
        let (server, client) = Server::start(dir.path());
        let told = seen.lock().unwrap().clone();
        check(&LogReader::Http(client.clone()), &told).await;
        let before = seen.lock().unwrap().entries.len();
        let mut writes = tokio::task::JoinSet::new();
        for i in 0..WRITES {
            let (client, signer) = (client.clone(), Arc::clone(&signer));
            let seen = Arc::clone(&seen);
            writes.spawn(write(client, signer, format!("{round}-{i}"), seen));
        }
        let watched = Arc::clone(&seen);
        let watching = tokio::spawn(async move {
            while let Ok(note) = client.checkpoint().await {
                let found = checkpoint(&note);
                let mut seen = watched.lock().unwrap();
                seen.checkpoints.insert((found.size, found.root));
            }
        });
        // After another number of answers each time, and a little later.
        let answers = (round * 331) % 900;
        let deadline = Instant::now() + Duration::from_secs(60);
        while seen.lock().unwrap().entries.len() < before + answers && Instant::now() < deadline {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        tokio::time::sleep(Duration::from_millis(round as u64 * 7 % 30)).await;
        server.kill();
        while let Some(write) = writes.join_next().await {
            write.unwrap();
        }
        watching.await.unwrap();
        let now = seen.lock().unwrap().entries.len();
        interrupted += usize::from(now < before + WRITES);
        let folder = FolderLog::open(dir.path()).unwrap();
        let told = seen.lock().unwrap().clone();
        check(&LogReader::Folder(folder), &told).await;
    }
    assert!(interrupted > 0, "no kill came in the middle of the writes");
    let (server, client) = Server::start(dir.path());
    let seen = seen.lock().unwrap().clone();
    check(&LogReader::Http(client), &seen).await;
    println!(
        "{kills} kills, {interrupted} of them with writes open: {} entries and {} objects \
         acknowledged, none lost, {} checkpoints seen, each a prefix of the next; {:.0?}",
        seen.entries.len(),
        seen.archived.len(),
        seen.checkpoints.len(),
        began.elapsed(),
    );
    assert!(seen.entries.len() > kills && !seen.archived.is_empty());
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
