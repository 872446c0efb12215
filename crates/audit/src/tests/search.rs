//! A search of a good log, and of bad ones.

use siegel_rekor::{FolderLog, Log, LogKey, LogReader, Storage};
use siegel_translog::predicate;

use crate::testing::{NOW, Scene, Signer, last_bundle, log_key};
use crate::{Search, SearchError, search};

async fn endorsements(scene: &Scene) -> Result<Search, SearchError> {
    let log = LogReader::Open(scene.log.clone());
    search(&log, &scene.anchors().log, predicate::ENDORSEMENT, NOW).await
}

/// Catches: another kind returned, a signer mixed up, an entry passed over silently.
#[tokio::test]
async fn a_search_returns_one_kind_and_counts_what_it_cannot_read() {
    let scene = Scene::new();
    assert_eq!(endorsements(&scene).await.unwrap(), Search::default());
    scene.birth().await;
    let kind = predicate::ENDORSEMENT;
    let other = Signer::generate();
    let first = scene.publish(&scene.author, kind, b"one").await.0;
    let second = scene.publish(&other, kind, b"two").await.0;
    scene.publish_bare(&other, kind, b"withheld", true).await;
    scene.publish_bare(&other, kind, b"unsaid", false).await;
    let search = endorsements(&scene).await.unwrap();
    assert_eq!((search.size, search.unreadable), (6, 2));
    let found: Vec<_> = search
        .found
        .iter()
        .map(|found| (found.log_index, found.signer, &found.bytes[..]))
        .collect();
    let expected = [
        (first, scene.author.key().digest(), &b"one"[..]),
        (second, other.key().digest(), &b"two"[..]),
    ];
    assert_eq!(found, expected);
}

/// I1. Catches: a log of another key, whose endorsements anyone could have written.
#[tokio::test]
async fn i1_only_the_pinned_log_is_searched() {
    let scene = Scene::new();
    scene
        .publish(&scene.author, predicate::ENDORSEMENT, b"one")
        .await;
    let log = LogReader::Open(scene.log.clone());
    let seed = siegel_ident::Secret::new([6; 32]);
    let other = LogKey::from_seed("log.example.test", &seed).unwrap();
    let error = search(&log, &other.anchors(), predicate::ENDORSEMENT, NOW).await;
    let error = error.unwrap_err();
    assert!(matches!(error, SearchError::Checkpoint(_)) && error.not_trustworthy());
}

/// I1. Catches: entries that are believed without comparing them with the checkpoint.
#[tokio::test]
async fn i1_a_rewritten_log_is_not_searched() {
    let dir = tempfile::tempdir().unwrap();
    let scene = Scene::over(Log::open(&Storage::folder(dir.path()), log_key()).unwrap());
    scene
        .publish(&scene.author, predicate::ENDORSEMENT, b"one")
        .await;
    let anchors = scene.anchors().log;
    let read = async || {
        let log = LogReader::Folder(FolderLog::open(dir.path()).unwrap());
        search(&log, &anchors, predicate::ENDORSEMENT, NOW).await
    };
    assert_eq!(read().await.unwrap().found.len(), 1);
    let path = last_bundle(dir.path());
    let good = std::fs::read(&path).unwrap();
    let mut changed = good.clone();
    let at = good.len() - 400;
    changed[at] = if good[at] == b'A' { b'B' } else { b'A' };
    for bad in [&changed[..], &good[..good.len() - 1]] {
        std::fs::write(&path, bad).unwrap();
        assert!(matches!(read().await, Err(SearchError::Rewritten)));
    }
}

/// Catches: entries that change places, get lost or come twice where jobs and chunks meet.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_entries_keep_their_order() {
    let scene = Scene::new();
    for i in 0..1100u32 {
        scene
            .publish(&scene.author, predicate::ENDORSEMENT, &i.to_be_bytes())
            .await;
    }
    let found = endorsements(&scene).await.unwrap().found;
    let found: Vec<_> = found.into_iter().map(|f| (f.log_index, f.bytes)).collect();
    let expected = (0..1100u32).map(|i| (u64::from(i), i.to_be_bytes().to_vec()));
    assert_eq!(found, expected.collect::<Vec<_>>());
}
