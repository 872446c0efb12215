//! A witness against an honest log and a lying one.

use std::sync::atomic::{AtomicU64, Ordering};

use siegel_ident::Digest;
use siegel_translog::testing::{TestLog, TestWitness};
use siegel_translog::{Tree, cosignature, merkle, note::Note};
use tempfile::TempDir;
use tokio::net::TcpListener;

use super::*;

const ORIGIN: &str = "log.example.test";

/// A log that can go back and begin again otherwise, a witness on a disk, and a clock.
struct World {
    dir: TempDir,
    log: TestLog,
    leaves: Vec<Digest>,
    time: Arc<AtomicU64>,
}

impl World {
    fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
            log: TestLog::new(ORIGIN, [3; 32]),
            leaves: Vec::new(),
            time: Arc::new(AtomicU64::new(1_000)),
        }
    }

    fn open(&self) -> Result<Witness, RekorError> {
        let time = Arc::clone(&self.time);
        let log = WitnessLog {
            origin: ORIGIN.into(),
            key: self.log.key(),
        };
        let with = Witnessing {
            name: "w.example.test",
            key_file: &self.dir.path().join("key"),
            state: &self.dir.path().join("state"),
            logs: &[log],
        };
        let now = move || Timestamp(time.load(Ordering::SeqCst));
        Witness::open(&with, Arc::new(now))
    }

    fn grow(&mut self, count: usize) {
        for _ in 0..count {
            let n = self.leaves.len();
            self.leaves.push(merkle::leaf_hash(&[n as u8, 0]));
        }
    }

    /// The signed note over the first `size` leaves, as a request.
    fn request(&self, old: u64, leaves: &[Digest]) -> AddCheckpoint {
        let tree: Tree = leaves.iter().copied().collect();
        AddCheckpoint {
            old,
            proof: tree.consistency_proof(old, tree.size()).unwrap_or_default(),
            note: self.note(tree.size(), tree.root()),
        }
    }

    fn note(&self, size: u64, root: Digest) -> String {
        let checkpoint = siegel_translog::Checkpoint {
            origin: ORIGIN.into(),
            size,
            root,
        };
        checkpoint.to_note(&self.log.key(), &self.log.sign(&checkpoint.note_text()))
    }

    fn evidence(&self) -> Vec<String> {
        let dir = self.dir.path().join("state/evidence");
        let files = std::fs::read_dir(dir).into_iter().flatten().flatten();
        files
            .map(|f| f.file_name().to_string_lossy().into_owned())
            .collect()
    }
}

fn ask(witness: &Witness, request: &AddCheckpoint) -> Answer {
    witness
        .add_checkpoint(request.to_body().as_bytes())
        .unwrap()
}

fn cosigned(witness: &Witness, request: &AddCheckpoint) -> Timestamp {
    let Answer::Cosigned(line) = ask(witness, request) else {
        panic!("not cosigned: old {}", request.old);
    };
    let note = format!("{}{line}", request.note);
    let note = Note::parse(&note).unwrap();
    cosignature::verify(&note, &witness.named_key("x"))
        .unwrap()
        .unwrap()
}

fn conflict(witness: &Witness, request: &AddCheckpoint) -> u64 {
    match ask(witness, request) {
        Answer::Conflict(size) => size,
        Answer::Cosigned(_) => panic!("cosigned"),
        Answer::Refused(kind, why) => panic!("{kind:?}: {why}"),
    }
}

fn refused(witness: &Witness, body: &[u8]) -> Refused {
    match witness.add_checkpoint(body).unwrap() {
        Answer::Refused(kind, _) => kind,
        _ => panic!("not refused"),
    }
}

// I1: catches a cosignature without a proof from what was seen before, and a state that a restart
// forgets.
#[test]
fn i1_a_log_that_grows_is_cosigned() {
    let mut world = World::new();
    let witness = world.open().unwrap();
    assert_eq!(cosigned(&witness, &world.request(0, &[])), Timestamp(1_000));
    world.grow(3);
    cosigned(&witness, &world.request(0, &world.leaves));
    world.grow(4);
    assert_eq!(conflict(&witness, &world.request(0, &world.leaves)), 3);
    world.time.store(1_060, Ordering::SeqCst);
    assert_eq!(
        cosigned(&witness, &world.request(3, &world.leaves)),
        Timestamp(1_060)
    );
    // The same again: a fresh time.
    world.time.store(1_090, Ordering::SeqCst);
    let same = world.request(7, &world.leaves);
    assert_eq!(cosigned(&witness, &same), Timestamp(1_090));
    drop(witness);
    let witness = world.open().unwrap();
    let digest = Digest::of(ORIGIN.as_bytes());
    assert!(
        witness
            .last(&digest)
            .unwrap()
            .starts_with("log.example.test\n7\n")
    );
    assert_eq!(conflict(&witness, &world.request(3, &world.leaves)), 7);
    world.grow(1);
    cosigned(&witness, &world.request(7, &world.leaves));
    assert!(world.evidence().is_empty());
}

// I1: a log that shows two people different things cannot have both cosigned, and both notes stay.
#[test]
fn i1_a_fork_is_refused_and_kept() {
    let mut world = World::new();
    let witness = world.open().unwrap();
    world.grow(5);
    cosigned(&witness, &world.request(0, &world.leaves));
    let mut other = world.leaves.clone();
    other[4] = Digest::of(b"another entry");
    // The same size, whatever the log says it believes of us.
    for old in [5, 0, 3] {
        assert_eq!(conflict(&witness, &world.request(old, &other)), 5);
    }
    assert_eq!(world.evidence().len(), 1, "the same evidence is kept once");
    assert!(world.evidence()[0].starts_with("fork-"));
    let path = world
        .dir
        .path()
        .join("state/evidence")
        .join(&world.evidence()[0]);
    let kept = std::fs::read_to_string(path).unwrap();
    assert!(kept.contains(&world.request(5, &other).note));
    assert!(kept.contains(&witness.last(&Digest::of(ORIGIN.as_bytes())).unwrap()));
    // A larger one that does not come from ours.
    other.push(Digest::of(b"more"));
    let body = world.request(5, &other).to_body();
    assert_eq!(refused(&witness, body.as_bytes()), Refused::NotProven);
    assert!(
        world
            .evidence()
            .iter()
            .any(|name| name.starts_with("unproven-"))
    );
    // Rolled back: what was cosigned stays the base.
    assert_eq!(conflict(&witness, &world.request(3, &world.leaves[..4])), 5);
    world.grow(1);
    cosigned(&witness, &world.request(5, &world.leaves));
    // Evidence is bounded, and of one kind does not push out the other.
    for n in 0..40u8 {
        let mut other = world.leaves.clone();
        other[0] = Digest::of(&[n]);
        conflict(&witness, &world.request(6, &other));
    }
    assert_eq!(world.evidence().len(), 1 + 16);
}

// I14: each refusal has its own kind, and none changes what was seen.
#[test]
fn i14_other_requests_are_refused() {
    let mut world = World::new();
    let witness = world.open().unwrap();
    world.grow(4);
    let good = world.request(0, &world.leaves);
    assert_eq!(refused(&witness, b"hello"), Refused::Malformed);
    let unsigned = AddCheckpoint {
        note: good.note.split_once("\n\n").unwrap().0.to_owned() + "\n",
        ..good.clone()
    };
    assert_eq!(
        refused(&witness, unsigned.to_body().as_bytes()),
        Refused::Malformed
    );
    let body = good.to_body().replace(ORIGIN, "other.example.test");
    assert_eq!(refused(&witness, body.as_bytes()), Refused::UnknownLog);
    let mut stranger = World::new();
    stranger.log = TestLog::new(ORIGIN, [4; 32]);
    stranger.grow(4);
    let body = stranger.request(0, &stranger.leaves).to_body();
    assert_eq!(refused(&witness, body.as_bytes()), Refused::UnknownKey);
    let body = AddCheckpoint {
        old: 5,
        ..good.clone()
    }
    .to_body();
    assert_eq!(refused(&witness, body.as_bytes()), Refused::Malformed);
    let extra = AddCheckpoint {
        proof: vec![Digest::of(b"x")],
        ..good.clone()
    };
    assert_eq!(
        refused(&witness, extra.to_body().as_bytes()),
        Refused::NotProven
    );
    cosigned(&witness, &good);
    assert!(world.evidence().is_empty());
}

// I1: catches a memory that is read without its cosignatures, or under another name.
#[test]
fn i1_a_state_that_was_altered_is_refused() {
    let mut world = World::new();
    let witness = world.open().unwrap();
    world.grow(4);
    cosigned(&witness, &world.request(0, &world.leaves));
    drop(witness);
    let path = world.dir.path().join("state/state");
    let good = std::fs::read_to_string(&path).unwrap();
    let cosignature = good.find("\u{2014} w.example.test").unwrap();
    let signed = good.find("\u{2014} log.example.test ").unwrap() + 30;
    let flipped = if good.as_bytes()[signed] == b'A' {
        "B"
    } else {
        "A"
    };
    let end = good.find("\"]").unwrap() + 2;
    for bad in [
        good.replace("\\n4\\n", "\\n3\\n"),
        good.replace("witness-state/v1", "witness-state/v2"),
        good.get(..good.len() - 2).unwrap().to_owned(),
        // The log's signature is not under the cosignature: without it this is evidence of nothing.
        format!("{}{flipped}{}", &good[..signed], &good[signed + 1..]),
        // Without the cosignature: only the log has signed this.
        format!("{}\"]{}", &good[..cosignature], &good[end..]),
    ] {
        assert_ne!(bad, good);
        std::fs::write(&path, bad).unwrap();
        assert!(matches!(world.open(), Err(RekorError::Damaged(_))));
    }
    std::fs::write(&path, good).unwrap();
    world.open().unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(matches!(world.open(), Err(RekorError::StateLost { .. })));
}

// I1: catches a witness that goes on under another key of a log, with evidence that nobody can check; and
// one that could never follow a log that changes its key, or stop to watch one.
#[test]
fn i1_what_was_cosigned_stays_checkable() {
    let mut world = World::new();
    let witness = world.open().unwrap();
    world.grow(4);
    cosigned(&witness, &world.request(0, &world.leaves));
    drop(witness);
    let log = |origin: &str, key| WitnessLog {
        origin: origin.to_owned(),
        key,
    };
    let (old, new) = (world.log.key(), TestLog::new(ORIGIN, [4; 32]).key());
    let open = |logs: &[WitnessLog]| {
        let with = Witnessing {
            name: "w.example.test",
            key_file: &world.dir.path().join("key"),
            state: &world.dir.path().join("state"),
            logs,
        };
        Witness::open(&with, Arc::new(|| Timestamp(2_000))).map(drop)
    };
    let alone = open(&[log(ORIGIN, new)]).unwrap_err();
    assert!(matches!(alone, RekorError::Damaged(_)), "{alone}");
    open(&[log(ORIGIN, new), log(ORIGIN, old)]).unwrap();
    open(&[log("other.example.test", new)]).unwrap();
}

// I1: a note may carry lines of others, before the log's own and behind it. None of them is kept: what is
// kept is shown to everybody, and is evidence.
#[test]
fn i1_lines_of_others_are_not_kept() {
    let mut world = World::new();
    let witness = world.open().unwrap();
    world.grow(2);
    let plain = world.request(0, &world.leaves);
    let (text, own) = plain.note.split_once("\n\n").unwrap();
    let other = TestWitness::new(5).cosign(&format!("{text}\n"), Timestamp(9));
    let mixed = AddCheckpoint {
        note: format!("{text}\n\n{other}{own}{other}"),
        ..plain.clone()
    };
    let Answer::Cosigned(line) = ask(&witness, &mixed) else {
        panic!("not cosigned");
    };
    let kept = witness.last(&Digest::of(ORIGIN.as_bytes())).unwrap();
    assert_eq!(kept, format!("{}{line}", plain.note));
}

// I8, I1: catches a witness that goes on after a write whose end it does not know.
#[test]
fn i8_after_a_failed_write_nothing_more_is_cosigned() {
    let mut world = World::new();
    let witness = world.open().unwrap();
    world.grow(2);
    let request = world.request(0, &world.leaves);
    let body = request.to_body();
    // Where the new state is written before it takes the old one's place.
    let temporary = world.dir.path().join("state/tmp-state");
    std::fs::create_dir(&temporary).unwrap();
    let failed = witness.add_checkpoint(body.as_bytes());
    assert!(matches!(failed, Err(RekorError::Io { .. })));
    std::fs::remove_dir(&temporary).unwrap();
    let stopped = witness.add_checkpoint(body.as_bytes());
    assert!(matches!(stopped, Err(RekorError::Stopped)));
    drop(witness);
    cosigned(&world.open().unwrap(), &request);
}

// C2SP tlog-witness: statuses and content types; I14: bodies are bounded.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i14_over_http() {
    let mut world = World::new();
    let witness = world.open().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let served = tokio::spawn(serve_witness(listener, witness, std::future::pending()));
    world.grow(3);
    let client = crate::tests::plain_client();
    let post = async |body: String| {
        let sent = client.post(format!("{url}/add-checkpoint")).body(body);
        let answer = sent.send().await.unwrap();
        let kind = answer.headers()["content-type"]
            .to_str()
            .unwrap()
            .to_owned();
        (answer.status().as_u16(), kind, answer.text().await.unwrap())
    };
    let get = async |origin: &str| {
        let name = Digest::of(origin.as_bytes());
        let answer = client
            .get(format!("{url}/checkpoint/{name}"))
            .send()
            .await
            .unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    };
    assert_eq!(get(ORIGIN).await.0, 404);
    let request = world.request(0, &world.leaves);
    let (status, _, line) = post(request.to_body()).await;
    assert_eq!(status, 200);
    let (status, note) = get(ORIGIN).await;
    assert_eq!((status, note), (200, format!("{}{line}", request.note)));
    let conflict = (409, "text/x.tlog.size".to_owned(), "3\n".to_owned());
    assert_eq!(post(request.to_body()).await, conflict);
    let mut other = world.leaves.clone();
    other.push(Digest::of(b"x"));
    other[0] = Digest::of(b"y");
    assert_eq!(post(world.request(3, &other).to_body()).await.0, 422);
    assert_eq!(post("old 0\n\nx".into()).await.0, 400);
    let body = request.to_body().replace(ORIGIN, "other.example.test");
    assert_eq!(post(body).await.0, 404);
    let mut stranger = World::new();
    stranger.log = TestLog::new(ORIGIN, [4; 32]);
    let body = stranger.request(0, &[]).to_body();
    assert_eq!(post(body).await.0, 403);
    assert_eq!(post("x".repeat(MAX_ADD + 1)).await.0, 413);
    served.abort();
}
