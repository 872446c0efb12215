//! A log and its witnesses over HTTP: honest ones, absent ones, and one that lies.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use axum::Router;
use axum::body::Body;
use axum::http::StatusCode;
use axum::routing::post;
use siegel_ident::{NamedKey, Secret, Timestamp};
use siegel_translog::{HashedRekord, LogAnchors, Statement, predicate};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::*;
use crate::{LogKey, PolicySigner, Storage, Witness, WitnessLog, Witnessing, serve_witness};

const ORIGIN: &str = "log.example.test";

struct World {
    dir: TempDir,
    time: Arc<AtomicU64>,
    signer: PolicySigner,
}

/// A witness that is served, and can be ended.
struct Served {
    at: WitnessAt,
    named: NamedKey,
    /// Its own: with it its open connections end, as in a kill.
    runtime: Runtime,
}

impl Served {
    async fn stop(self) -> (WitnessAt, NamedKey) {
        let runtime = self.runtime;
        let stop = move || runtime.shutdown_timeout(Duration::from_secs(5));
        tokio::task::spawn_blocking(stop).await.unwrap();
        (self.at, self.named)
    }
}

impl World {
    fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
            time: Arc::new(AtomicU64::new(1_000)),
            signer: PolicySigner::generate().unwrap(),
        }
    }

    fn now(&self) -> Now {
        let time = Arc::clone(&self.time);
        Arc::new(move || Timestamp(time.load(Ordering::SeqCst)))
    }

    fn key(&self) -> LogKey {
        LogKey::from_seed(ORIGIN, &Secret::new([5; 32])).unwrap()
    }

    fn witness(&self, n: u8) -> Witness {
        let log = WitnessLog {
            origin: ORIGIN.into(),
            key: self.key().public_key(),
        };
        let with = Witnessing {
            name: &format!("w{n}.example.test"),
            key_file: &self.dir.path().join(format!("w{n}.pem")),
            state: &self.dir.path().join(format!("w{n}")),
            logs: &[log],
        };
        Witness::open(&with, self.now()).unwrap()
    }

    async fn serve(&self, n: u8, listen: &str) -> Served {
        let runtime = Runtime::new().unwrap();
        let listen = listen.to_owned();
        let bound = runtime.spawn(async move { TcpListener::bind(listen).await.unwrap() });
        let listener = bound.await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let witness = self.witness(n);
        let named = witness.named_key(&format!("operator {n}"));
        runtime.spawn(async move {
            let serving = serve_witness(listener, witness, std::future::pending());
            serving.await.unwrap();
        });
        let (name, key) = (named.name.clone(), named.key);
        let at = WitnessAt { name, key, url };
        Served { at, named, runtime }
    }

    fn anchors(&self, witnesses: Vec<NamedKey>) -> LogAnchors {
        let witnesses = WitnessQuorum {
            required: witnesses.len() as u32,
            max_age: Seconds(60),
            witnesses,
        };
        LogAnchors {
            witnesses,
            ..self.key().anchors()
        }
    }

    fn log(&self, witnesses: &[WitnessAt]) -> (Log, Arc<Witnesses>) {
        let witnesses = Arc::new(Witnesses::new(witnesses).unwrap());
        let storage = Storage::folder(self.dir.path().join("log"));
        let log = Log::open_with(&storage, self.key(), Arc::clone(&witnesses) as _).unwrap();
        (log, witnesses)
    }

    async fn add(&self, log: &Log, n: u8) -> String {
        let statement = Statement::about("x", &[n], predicate::POLICY);
        let envelope = self.signer.sign(&statement).unwrap();
        let record = HashedRekord::of(&envelope, &self.signer.key());
        let entry = log.submit(&record).await.unwrap();
        entry.proof.checkpoint().to_owned()
    }
}

/// The size that a quorum vouches for; `None` if there is none.
fn vouched(anchors: &LogAnchors, note: &str, now: u64) -> Option<u64> {
    let found = anchors.verify_checkpoint(note, Timestamp(now));
    found.ok().map(|checkpoint| checkpoint.size)
}

/// The sizes that the log was told it is behind of.
fn ahead(witnesses: &Witnesses) -> Vec<Option<u64>> {
    witnesses.peers.iter().map(|peer| peer.ahead()).collect()
}

// I1: catches a log that is never told that its folder is an old copy: at its start, when it grows beside
// what was cosigned, and when it has grown to the same size.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i1_a_log_from_an_old_copy_is_told_so() {
    let world = World::new();
    let served = world.serve(1, "127.0.0.1:0").await;
    let places = [served.at.clone()];
    let (log, witnesses) = world.log(&places);
    witnesses.look_ahead(&log.checkpoint()).await;
    for n in 1..=3 {
        world.add(&log, n).await;
    }
    witnesses.look_ahead(&log.checkpoint()).await;
    assert_eq!(ahead(&witnesses), [None]);
    drop((log, witnesses));
    std::fs::remove_dir_all(world.dir.path().join("log")).unwrap();
    // At its start, before anything is added.
    let (log, witnesses) = world.log(&places);
    witnesses.look_ahead(&log.checkpoint()).await;
    assert_eq!(ahead(&witnesses), [Some(3)]);
    drop((log, witnesses));
    // When it grows, though nobody has looked before.
    let (log, witnesses) = world.log(&places);
    world.add(&log, 10).await;
    assert_eq!(ahead(&witnesses), [Some(3)]);
    drop((log, witnesses));
    let (log, witnesses) = world.log(&[]);
    world.add(&log, 11).await;
    drop((log, witnesses));
    let (log, witnesses) = world.log(&places);
    let fork = world.add(&log, 12).await;
    assert_eq!(ahead(&witnesses), [Some(3)]);
    let anchors = world.anchors(vec![served.named.clone()]);
    assert_eq!(vouched(&anchors, &fork, 1_000), None);
    drop((log, witnesses));
    served.stop().await;
}

// I1: catches a proof without the witnesses' lines, a wrong base of the proof after a restart of
// either side, and cosignatures that are not renewed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i1_what_is_published_is_cosigned() {
    let world = World::new();
    let (first, second) = (
        world.serve(1, "127.0.0.1:0").await,
        world.serve(2, "127.0.0.1:0").await,
    );
    let anchors = world.anchors(vec![first.named.clone(), second.named.clone()]);
    let places = [first.at.clone(), second.at.clone()];
    let (log, witnesses) = world.log(&places);
    for n in 1..=3 {
        let note = world.add(&log, n).await;
        assert_eq!(vouched(&anchors, &note, 1_000), Some(n.into()));
    }
    world.time.store(1_100, Ordering::SeqCst);
    assert_eq!(vouched(&anchors, &log.checkpoint(), 1_100), None);
    assert!(witnesses.due(&log.checkpoint(), Seconds(100), &world.now()));
    assert!(!witnesses.due(&log.checkpoint(), Seconds(101), &world.now()));
    // The witness' clock was ahead, or ours has gone back: nobody takes such a line.
    for (behind, due) in [(CLOCK_SKEW.0, false), (CLOCK_SKEW.0 + 1, true)] {
        world.time.store(1_000 - behind, Ordering::SeqCst);
        let found = witnesses.due(&log.checkpoint(), Seconds(5_000), &world.now());
        assert_eq!(found, due, "{behind} s behind");
    }
    world.time.store(1_100, Ordering::SeqCst);
    log.refresh().await.unwrap();
    assert_eq!(vouched(&anchors, &log.checkpoint(), 1_100), Some(3));
    assert!(!witnesses.due(&log.checkpoint(), Seconds(100), &world.now()));
    // The log forgets what its witnesses have seen; they tell it.
    drop((log, witnesses));
    let (log, _) = world.log(&places);
    assert_eq!(vouched(&anchors, &world.add(&log, 4).await, 1_100), Some(4));
    let _ = (first.stop().await, second.stop().await);
}

/// Keeps the log's folder as a kill would leave it after the witnesses have answered and before the
/// checkpoint is saved.
struct KilledAfter {
    witnesses: Witnesses,
    from: PathBuf,
    to: PathBuf,
}

impl Cosigner for KilledAfter {
    fn cosign(&self, request: CosignRequest<'_>) -> Vec<String> {
        let lines = self.witnesses.cosign(request);
        copy(&self.from, &self.to);
        lines
    }
}

fn copy(from: &Path, to: &Path) {
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

// I8, I1: catches a log that forgets what its witnesses have cosigned: with the next entry it would be
// another log to them, for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i8_a_kill_after_the_witnesses_have_cosigned() {
    let world = World::new();
    let served = world.serve(1, "127.0.0.1:0").await;
    let anchors = world.anchors(vec![served.named.clone()]);
    let at = [served.at.clone()];
    let killed = KilledAfter {
        witnesses: Witnesses::new(&at).unwrap(),
        from: world.dir.path().join("log"),
        to: world.dir.path().join("left"),
    };
    let storage = Storage::folder(&killed.from);
    let left = Storage::folder(&killed.to);
    let log = Log::open_with(&storage, world.key(), Arc::new(killed)).unwrap();
    world.add(&log, 1).await;
    drop(log);
    let again = Arc::new(Witnesses::new(&at).unwrap());
    let log = Log::open_with(&left, world.key(), again).unwrap();
    assert_eq!(log.size(), 1, "what the witness has seen");
    assert_eq!(vouched(&anchors, &world.add(&log, 2).await, 1_000), Some(2));
    let _ = served.stop().await;
}

// I8: a witness that is away keeps nobody from writing, and is asked again when it is back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i8_a_witness_that_is_away_is_left_out_until_it_is_back() {
    let world = World::new();
    let (first, second) = (
        world.serve(1, "127.0.0.1:0").await,
        world.serve(2, "127.0.0.1:0").await,
    );
    let both = world.anchors(vec![first.named.clone(), second.named.clone()]);
    let one = world.anchors(vec![second.named.clone()]);
    let (log, witnesses) = world.log(&[first.at.clone(), second.at.clone()]);
    assert_eq!(vouched(&both, &world.add(&log, 1).await, 1_000), Some(1));
    let (at, _) = first.stop().await;
    for n in 2..=3 {
        let note = world.add(&log, n).await;
        assert_eq!(vouched(&both, &note, 1_000), None);
        assert_eq!(vouched(&one, &note, 1_000), Some(n.into()));
    }
    let listen = at.url.trim_start_matches("http://");
    let first = world.serve(1, listen).await;
    let (now, log) = (world.now(), &log);
    let fresh = async {
        while vouched(&both, &log.checkpoint(), 1_000) != Some(3) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::select! {
        () = witnesses.keep_fresh(log, Seconds(600), &now) => {}
        found = tokio::time::timeout(Duration::from_secs(20), fresh) => found.unwrap(),
    }
    let _ = (first.stop().await, second.stop().await);
}

// I8: catches a log that waits for a witness that took the connection and says nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i8_a_silent_witness_costs_a_bounded_time_and_then_none() {
    let world = World::new();
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = WitnessAt {
        name: "w1.example.test".into(),
        key: [1; 32],
        url: format!("http://{}", silent.local_addr().unwrap()),
    };
    let (log, _) = world.log(&[at]);
    let since = Instant::now();
    world.add(&log, 1).await;
    let first = since.elapsed();
    assert!(first >= WAIT && first < WAIT * 3, "{first:?}");
    let since = Instant::now();
    world.add(&log, 2).await;
    assert!(since.elapsed() < WAIT / 2, "it is asked again at once");
}

// I1: catches a line that goes into the note unchecked: it would void the note for every verifier that
// pins this witness.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i1_a_line_that_does_not_verify_is_left_out() {
    let world = World::new();
    let served = world.serve(1, "127.0.0.1:0").await;
    let other = WitnessAt {
        key: [7; 32],
        ..served.at.clone()
    };
    let renamed = WitnessAt {
        name: "w9.example.test".into(),
        ..served.at.clone()
    };
    let (log, _) = world.log(&[other, renamed]);
    let note = world.add(&log, 1).await;
    let lines = Note::parse(&note).unwrap().signatures.len();
    assert_eq!(lines, 1, "{note}");
    let _ = served.stop().await;
}

/// A witness that answers every request alike, and how often it was asked.
async fn fake(status: u16, body: impl Fn() -> Body + Clone + Send + Sync + 'static) -> Fake {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = WitnessAt {
        name: "w1.example.test".into(),
        key: [1; 32],
        url: format!("http://{}", listener.local_addr().unwrap()),
    };
    let asked = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&asked);
    let answer = async move || {
        count.fetch_add(1, Ordering::SeqCst);
        (StatusCode::from_u16(status).unwrap(), body())
    };
    let router = Router::new().route("/add-checkpoint", post(answer));
    let serving = tokio::spawn(async { axum::serve(listener, router).await.unwrap() });
    Fake { at, asked, serving }
}

struct Fake {
    at: WitnessAt,
    asked: Arc<AtomicU64>,
    serving: JoinHandle<()>,
}

// I8: catches a log that goes on asking a witness which contradicts itself, and one that reads an
// answer without an end: in both cases the writer would wait its whole time, at every checkpoint.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i8_a_witness_that_talks_without_end_is_asked_no_more() {
    let endless = || {
        let chunks = futures::stream::repeat_with(|| Ok::<_, Infallible>(vec![b'x'; 4096]));
        Body::from_stream(chunks)
    };
    let fakes = [
        (fake(409, || Body::from("0\n")).await, 2),
        (fake(200, endless).await, 1),
    ];
    for (fake, times) in fakes {
        let world = World::new();
        let (log, _) = world.log(std::slice::from_ref(&fake.at));
        let since = Instant::now();
        world.add(&log, 1).await;
        assert!(since.elapsed() < WAIT, "it was waited for");
        assert_eq!(fake.asked.load(Ordering::SeqCst), times);
        fake.serving.abort();
    }
}

#[test]
fn a_place_has_one_spelling() {
    let hex = "0".repeat(63) + "1";
    let at: WitnessAt = "w1=%@http://127.0.0.1:1/a"
        .replace('%', &hex)
        .parse()
        .unwrap();
    assert_eq!((at.name.as_str(), at.key[31]), ("w1", 1));
    assert_eq!(at.url, "http://127.0.0.1:1/a");
    for bad in ["w1", "w1=00@http://x", "w1@http://x", ""] {
        assert!(bad.parse::<WitnessAt>().is_err(), "{bad}");
    }
    let refuse = |change: fn(&mut WitnessAt)| {
        let mut bad = at.clone();
        change(&mut bad);
        assert!(Witnesses::new(&[bad]).is_err());
    };
    refuse(|at| at.url = "ftp://example.test".into());
    refuse(|at| at.name = "a b".into());
    let many = vec![at; WitnessQuorum::MAX + 1];
    assert!(Witnesses::new(&many).is_err());
}
