//! Hash tiles that are not those of the log's entries: such a log can prove nothing, or proves wrongly.

use std::fs;
use std::path::Path;

use siegel_rekor::{FolderLog, Log, LogReader, Storage};
use siegel_translog::{HashedRekord, Statement, predicate};
use tokio::task::JoinSet;

use super::{errors, found};
use crate::testing::{Liar, NOW, PROGRAM, Scene, log_key};
use crate::{AuditReport, audit};

const FULL: &str = "tile/0/000";
const NARROW: &str = "tile/0/001.p/3";
const UPPER: &str = "tile/1/000.p/1";

/// A good log of 259 entries, in all of these tiles.
async fn logged(storage: &Storage) -> Scene {
    let scene = Scene::over(Log::open(storage, log_key()).unwrap());
    scene.birth().await;
    let statement = Statement::about("test", PROGRAM, predicate::PROGRAM);
    let mut writes = JoinSet::new();
    for _ in 0..257 {
        // Each has a signature of its own.
        let envelope = scene.author.sign(&statement);
        let record = HashedRekord::of(&envelope, &scene.author.key());
        let log = scene.log.clone();
        writes.spawn(async move { log.submit(&record).await.map(|_| ()) });
    }
    for written in writes.join_all().await {
        written.unwrap();
    }
    assert_eq!(scene.log.size(), 259);
    scene
}

async fn in_folder(scene: &Scene, dir: &Path) -> AuditReport {
    let log = LogReader::Folder(FolderLog::open(dir).unwrap());
    audit(&log, &scene.anchors(), NOW).await.unwrap()
}

/// What becomes of a tile; `None`: it is gone.
type Bend = fn(Vec<u8>) -> Option<Vec<u8>>;

const BENDS: [(&str, &str, Bend); 7] = [
    ("tile-wrong", "first byte flipped", |mut bytes| {
        bytes[0] ^= 1;
        Some(bytes)
    }),
    ("tile-wrong", "last bit flipped", |mut bytes| {
        *bytes.last_mut().unwrap() ^= 0x80;
        Some(bytes)
    }),
    ("tile-wrong", "a hash short", |bytes| {
        Some(bytes[..bytes.len() - 32].to_vec())
    }),
    ("tile-wrong", "a byte short", |bytes| {
        Some(bytes[..bytes.len() - 1].to_vec())
    }),
    ("tile-wrong", "a hash longer", |bytes| {
        Some([bytes, vec![0; 32]].concat())
    }),
    ("tile-wrong", "empty", |_| Some(Vec::new())),
    ("tile-missing", "gone", |_| None),
];

/// I1. Catches: an auditor that looks at no hash tile, at the lowest level only, at full ones only, or at
/// the beginning of one.
#[tokio::test]
async fn i1_a_hash_tile_in_a_folder_is_that_of_the_entries() {
    let dir = tempfile::tempdir().unwrap();
    let scene = logged(&Storage::folder(dir.path())).await;
    assert_eq!(errors(&in_folder(&scene, dir.path()).await), [""; 0]);
    for tile in [FULL, NARROW, UPPER] {
        let path = dir.path().join(tile);
        let honest = fs::read(&path).unwrap();
        for (id, what, bend) in BENDS {
            match bend(honest.clone()) {
                Some(bytes) => fs::write(&path, bytes).unwrap(),
                None => fs::remove_file(&path).unwrap(),
            }
            let report = in_folder(&scene, dir.path()).await;
            assert_eq!(errors(&report), [id], "{tile}: {what}");
            assert!(found(&report, id, "I1", tile), "{tile}: {what}");
            fs::write(&path, &honest).unwrap();
        }
    }
    // Many of a kind are one finding.
    for tile in [FULL, NARROW, UPPER] {
        fs::remove_file(dir.path().join(tile)).unwrap();
    }
    let report = in_folder(&scene, dir.path()).await;
    assert_eq!(errors(&report), ["tile-missing"]);
    assert!(found(
        &report,
        "tile-missing",
        "I1",
        "tile/0/000, tile/0/001.p/3, tile/1/000.p/1"
    ));
}

/// Catches: an auditor that takes a log for a liar because it grew meanwhile, and the narrow form of a
/// tile is gone; one that takes whatever stands at the beginning of the full one.
#[tokio::test]
async fn a_tile_may_have_become_full_since() {
    let dir = tempfile::tempdir().unwrap();
    let scene = logged(&Storage::folder(dir.path())).await;
    let narrow = fs::read(dir.path().join(NARROW)).unwrap();
    fs::remove_file(dir.path().join(NARROW)).unwrap();
    let mut full = [narrow, vec![7; 253 * 32]].concat();
    for (change, expected) in [(0, None), (1, Some("tile-wrong"))] {
        full[95] ^= change;
        fs::write(dir.path().join("tile/0/001"), &full).unwrap();
        let report = in_folder(&scene, dir.path()).await;
        assert_eq!(errors(&report), Vec::from_iter(expected));
    }
    full[95] ^= 1;
    full.truncate(255 * 32);
    fs::write(dir.path().join("tile/0/001"), &full).unwrap();
    assert_eq!(errors(&in_folder(&scene, dir.path()).await), ["tile-wrong"]);
}

/// I1. Catches: an auditor that looks at the tiles of folders only.
#[tokio::test(flavor = "multi_thread")]
async fn i1_a_hash_tile_over_http_is_that_of_the_entries() {
    let scene = logged(&Storage::Memory).await;
    let liar = Liar::serve(scene.log.clone()).await;
    let log = LogReader::new(&liar.url).unwrap();
    let report = audit(&log, &scene.anchors(), NOW).await.unwrap();
    assert_eq!(errors(&report), [""; 0]);
    for (tile, number) in [(FULL, 0), (UPPER, 6), (NARROW, 4)] {
        let (id, what, bend) = BENDS[number];
        liar.lie(move |path, body| match path.strip_prefix("/api/v2/") {
            Some(asked) if asked == tile => bend(body),
            _ => Some(body),
        });
        let report = audit(&log, &scene.anchors(), NOW).await.unwrap();
        assert_eq!(errors(&report), [id], "{tile}: {what}");
        assert!(found(&report, id, "I1", tile), "{tile}: {what}");
    }
}
