//! A mirror of an honest log, of one that withholds, and of one that begins anew.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use siegel_ident::{Seconds, Secret, Timestamp};
use siegel_translog::testing::TestWitness;
use siegel_translog::{MirrorQuorum, predicate};
use tempfile::TempDir;

use super::*;
use crate::{Log, LogKey, PolicySigner};

const ORIGIN: &str = "log.example.test";

struct World {
    dir: TempDir,
    time: Arc<AtomicU64>,
    signer: PolicySigner,
    log: Log,
}

fn log() -> Log {
    let key = LogKey::from_seed(ORIGIN, &Secret::new([5; 32])).unwrap();
    Log::open(&Storage::Memory, key).unwrap()
}

impl World {
    fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
            time: Arc::new(AtomicU64::new(1_000)),
            signer: PolicySigner::generate().unwrap(),
            log: log(),
        }
    }

    async fn mirror(&self) -> Result<Mirror, RekorError> {
        let time = Arc::clone(&self.time);
        let with = Mirroring {
            name: "m.example.test",
            key_file: &self.dir.path().join("key"),
            state: &self.dir.path().join("state"),
            anchors: &self.log.anchors(),
            // An endorsement of these tests is the digest of a file, and no more.
            names: Box::new(|kind, bytes| match kind {
                predicate::ENDORSEMENT => vec![Digest::try_from_slice(bytes).unwrap()],
                _ => Vec::new(),
            }),
        };
        let now = move || Timestamp(time.load(Ordering::SeqCst));
        Mirror::open(with, Arc::new(now)).await
    }

    /// Logs a statement; `withheld` leaves the artifact out of the archive.
    async fn publish(&self, artifact: &[u8], kind: &str, withheld: bool) -> Digest {
        let statement = Statement::about("x", artifact, kind);
        let envelope = self.signer.sign(&statement).unwrap();
        let pae = envelope.pae();
        self.archive(&pae).await;
        if !withheld {
            self.archive(artifact).await;
        }
        let record = HashedRekord::of(&envelope, &self.signer.key());
        self.log.submit(&record).await.unwrap();
        Digest::of(&pae)
    }

    async fn archive(&self, bytes: &[u8]) -> Digest {
        let digest = Digest::of(bytes);
        self.log.archive_put(digest, bytes.to_vec()).await.unwrap();
        digest
    }

    fn reader(&self) -> LogReader {
        LogReader::Open(self.log.clone())
    }

    /// The quorum's answer about these bytes, on the mirror's word.
    async fn vouched(&self, mirror: &Mirror, bytes: &[u8], age: u64, now: u64) -> bool {
        let digest = Digest::of(bytes);
        let Ok(note) = mirror.archived(&digest).await else {
            return false;
        };
        let quorum = MirrorQuorum {
            required: 1,
            min_age: Seconds(age),
            mirrors: vec![mirror.named_key("somebody")],
        };
        let verified = quorum.verify(&[note], &digest, &self.log.anchors(), Timestamp(now));
        verified.is_ok()
    }
}

// I1: catches a payload that is not kept, a word for bytes that are not there, and a time of first
// seeing that a restart makes younger.
#[tokio::test]
async fn i1_every_payload_is_kept_and_since_when() {
    let world = World::new();
    let manifest = world.archive(b"a manifest").await;
    let pae = world.publish(b"a policy", predicate::POLICY, false).await;
    world
        .publish(manifest.as_bytes(), predicate::ENDORSEMENT, false)
        .await;
    world.publish(b"withheld", predicate::PROGRAM, true).await;
    let (mirror, mut followed) = (world.mirror().await.unwrap(), Followed::default());
    mirror
        .catch_up(&world.reader(), &mut followed)
        .await
        .unwrap();
    assert_eq!(followed.missing(), 1, "the withheld payload");
    for bytes in [&b"a policy"[..], manifest.as_bytes(), b"a manifest"] {
        assert_eq!(mirror.get(&Digest::of(bytes)).await.unwrap(), bytes);
        assert!(world.vouched(&mirror, bytes, 0, 1_000).await);
        assert!(
            !world.vouched(&mirror, bytes, 1, 1_000).await,
            "not a second old"
        );
    }
    assert!(mirror.get(&pae).await.is_ok());
    assert!(!world.vouched(&mirror, b"withheld", 0, 9_999).await);
    assert!(!world.vouched(&mirror, b"never seen", 0, 9_999).await);
    // Later it is there.
    world.time.store(1_500, Ordering::SeqCst);
    world.archive(b"withheld").await;
    mirror
        .catch_up(&world.reader(), &mut followed)
        .await
        .unwrap();
    assert_eq!(followed.missing(), 0);
    assert!(world.vouched(&mirror, b"withheld", 500, 2_000).await);
    assert!(!world.vouched(&mirror, b"withheld", 501, 2_000).await);
    drop(mirror);
    // A kill in the middle of a line, then a restart that begins from the first entry again.
    let state = world.dir.path().join("state/state");
    let mut bytes = std::fs::read(&state).unwrap();
    bytes.extend_from_slice(b"00ff");
    std::fs::write(&state, bytes).unwrap();
    world.time.store(2_000, Ordering::SeqCst);
    let (mirror, mut followed) = (world.mirror().await.unwrap(), Followed::default());
    mirror
        .catch_up(&world.reader(), &mut followed)
        .await
        .unwrap();
    assert!(world.vouched(&mirror, b"a policy", 1_000, 2_000).await);
    world.publish(b"one more", predicate::POLICY, false).await;
    mirror
        .catch_up(&world.reader(), &mut followed)
        .await
        .unwrap();
    assert!(world.vouched(&mirror, b"one more", 0, 2_000).await);
}

// I1: catches a mirror that follows another history under the same key, or begins anew with its key.
#[tokio::test]
async fn i1_another_history_is_refused_and_kept() {
    let mut world = World::new();
    world.publish(b"a policy", predicate::POLICY, false).await;
    world.publish(b"another", predicate::POLICY, false).await;
    let mirror = world.mirror().await.unwrap();
    mirror
        .catch_up(&world.reader(), &mut Followed::default())
        .await
        .unwrap();
    world.log = log();
    world.publish(b"a policy", predicate::POLICY, false).await;
    // Less than before may be a late reader, and is no other history yet.
    let late = mirror
        .catch_up(&world.reader(), &mut Followed::default())
        .await;
    assert!(matches!(late, Err(RekorError::Busy)), "{late:?}");
    world.publish(b"other", predicate::POLICY, false).await;
    let fork = mirror
        .catch_up(&world.reader(), &mut Followed::default())
        .await;
    assert!(matches!(fork, Err(RekorError::Damaged(_))), "{fork:?}");
    let kept = std::fs::read_dir(world.dir.path().join("state/evidence")).unwrap();
    assert_eq!(kept.count(), 1);
    drop(mirror);
    std::fs::remove_dir_all(world.dir.path().join("state")).unwrap();
    let lost = world.mirror().await.err().unwrap();
    assert!(matches!(lost, RekorError::StateLost { .. }), "{lost}");
}

// I1: catches a checkpoint that is followed without its witnesses, or of another log.
#[tokio::test]
async fn i1_only_the_pinned_log_is_followed() {
    let world = World::new();
    world.publish(b"a policy", predicate::POLICY, false).await;
    let mut mirror = world.mirror().await.unwrap();
    mirror.anchors.key = [9; 32];
    let other = mirror
        .catch_up(&world.reader(), &mut Followed::default())
        .await;
    assert!(matches!(other, Err(RekorError::Proof(_))), "{other:?}");
    mirror.anchors = world.log.anchors();
    mirror.anchors.witnesses = TestWitness::quorum(&[TestWitness::new(1)], 1, Seconds(60));
    let unwitnessed = mirror
        .catch_up(&world.reader(), &mut Followed::default())
        .await;
    assert!(
        matches!(unwitnessed, Err(RekorError::Proof(_))),
        "{unwitnessed:?}"
    );
    assert!(mirror.get(&Digest::of(b"a policy")).await.is_err());
}

// I1: catches a word for bytes that were here once.
#[tokio::test]
async fn i1_no_word_for_what_cannot_be_read_now() {
    let world = World::new();
    world.publish(b"a policy", predicate::POLICY, false).await;
    let (mirror, mut followed) = (world.mirror().await.unwrap(), Followed::default());
    mirror
        .catch_up(&world.reader(), &mut followed)
        .await
        .unwrap();
    let digest = Digest::of(b"a policy");
    mirror.archived(&digest).await.unwrap();
    drop(mirror);
    std::fs::remove_dir_all(world.dir.path().join("state/objects/archive")).unwrap();
    let mirror = world.mirror().await.unwrap();
    let gone = mirror.archived(&digest).await;
    assert!(matches!(gone, Err(RekorError::NotFound(_))), "{gone:?}");
    // What is fetched again keeps the time since when it was said to be here.
    world.time.store(5_000, Ordering::SeqCst);
    mirror
        .catch_up(&world.reader(), &mut Followed::default())
        .await
        .unwrap();
    assert!(world.vouched(&mirror, b"a policy", 4_000, 5_000).await);
}

/// Catches a mirror that takes entries which the checkpoint does not cover: it would look as if it had
/// kept everything, and have kept something else.
#[tokio::test]
async fn i1_the_entries_are_those_of_the_checkpoint() {
    let mut world = World::new();
    let folder = world.dir.path().join("log");
    let key = LogKey::from_seed(ORIGIN, &Secret::new([5; 32])).unwrap();
    world.log = Log::open(&Storage::folder(&folder), key).unwrap();
    world.publish(b"a policy", predicate::POLICY, false).await;
    let tile = folder.join("tile/entries/000.p/1");
    let mut bytes = std::fs::read(&tile).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&tile, bytes).unwrap();
    let mirror = world.mirror().await.unwrap();
    let reader = LogReader::Folder(crate::FolderLog::open(&folder).unwrap());
    let mut followed = Followed::default();
    let other = mirror.catch_up(&reader, &mut followed).await;
    assert!(matches!(other, Err(RekorError::Answer { .. })), "{other:?}");
    assert_eq!((followed.tree.size(), followed.missing()), (0, 0));
}

/// I8: catches a mirror that goes on after a write whose end it does not know, or that takes its own
/// disk's error for a payload which the log withholds.
#[tokio::test]
async fn i8_after_a_failed_write_nothing_more_is_said() {
    let world = World::new();
    world.publish(b"a policy", predicate::POLICY, false).await;
    let mirror = world.mirror().await.unwrap();
    let state = world.dir.path().join("state/state");
    let aside = world.dir.path().join("aside");
    std::fs::rename(&state, &aside).unwrap();
    std::fs::create_dir(&state).unwrap();
    let mut followed = Followed::default();
    let failed = mirror.catch_up(&world.reader(), &mut followed).await;
    assert!(matches!(failed, Err(RekorError::Io { .. })), "{failed:?}");
    std::fs::remove_dir(&state).unwrap();
    std::fs::rename(&aside, &state).unwrap();
    let stopped = mirror
        .catch_up(&world.reader(), &mut Followed::default())
        .await;
    assert!(matches!(stopped, Err(RekorError::Stopped)), "{stopped:?}");
    assert!(!world.vouched(&mirror, b"a policy", 0, 9_999).await);
    drop(mirror);
    let mirror = world.mirror().await.unwrap();
    mirror
        .catch_up(&world.reader(), &mut Followed::default())
        .await
        .unwrap();
    assert!(world.vouched(&mirror, b"a policy", 0, 9_999).await);
}
