//! I14, I8: a disk that fills up refuses with a clear error, harms nothing, and recovers.

use std::sync::atomic::{AtomicU8, Ordering};

use siegel_ident::Digest;
use siegel_store::{Refusal, RuledStore, Store};

use super::*;
use crate::store::Lock;

const NOTHING: u8 = 0;
const HASHES: u8 = 1;
const ENTRIES: u8 = 2;
const CHECKPOINT: u8 = 3;
const ARCHIVE: u8 = 4;
/// The checkpoint is in its place, and then the sync of its folder fails.
const CHECKPOINT_LATE: u8 = 5;

/// A log over a store that answers ENOSPC for one kind of object.
fn failing_over(store: Store) -> (Log, Arc<AtomicU8>) {
    let what = Arc::new(AtomicU8::new(NOTHING));
    let asked = Arc::clone(&what);
    let store = store.wrapped(|inner| {
        RuledStore::when(inner, move |path, _| {
            let prefix = match asked.load(Ordering::SeqCst) {
                HASHES => "tile/0",
                ENTRIES => "tile/entries",
                CHECKPOINT => "checkpoint",
                ARCHIVE => "archive",
                CHECKPOINT_LATE if path.as_ref() == "checkpoint" => return Refusal::After,
                _ => return Refusal::None,
            };
            match path.as_ref().starts_with(prefix) {
                true => Refusal::Before,
                false => Refusal::None,
            }
        })
    });
    (
        Log::over(store, Lock::none(), key(), nobody()).unwrap(),
        what,
    )
}

fn failing() -> (Log, Arc<AtomicU8>) {
    failing_over(Store::memory())
}

/// Catches: a half-written batch that is served, an index given away, a duplicate remembered.
#[tokio::test]
async fn a_full_disk_adds_nothing_and_a_retry_works() {
    let signer = PolicySigner::generate().unwrap();
    for kind in [HASHES, ENTRIES, CHECKPOINT] {
        let (log, what) = failing();
        log.submit(&record(&signer, 0)).await.unwrap();
        let note = log.checkpoint();
        let (next, another) = (record(&signer, 1), record(&signer, 2));
        what.store(kind, Ordering::SeqCst);
        for _ in 0..2 {
            let refused = log.submit(&next).await;
            assert!(
                matches!(refused, Err(RekorError::StorageFull { .. })),
                "{kind}"
            );
        }
        assert_eq!((log.size(), log.checkpoint()), (1, note), "{kind}");
        assert!(log.entries(0, 2).await.unwrap().is_none());
        what.store(NOTHING, Ordering::SeqCst);
        // Another one takes the index, and its tiles the names of those that failed.
        for (index, record) in [(1, &another), (2, &next)] {
            let entry = log.submit(record).await.unwrap();
            assert_eq!((entry.log_index, entry.proof.tree_size), (index, index + 1));
        }
        let bodies = log.bodies(0, 3).await.unwrap();
        assert_eq!(bodies[1..], [another, next].map(|r| r.canonical_body()));
    }
}

/// Catches: a checkpoint on the disk that covers an entry which was taken back. The folder would be
/// `Damaged` for ever, or show two entries under one index.
#[tokio::test]
async fn i8_a_checkpoint_that_failed_late_keeps_its_entries() {
    let dir = tempfile::tempdir().unwrap();
    let signer = PolicySigner::generate().unwrap();
    let (log, what) = failing_over(Store::folder(dir.path()).unwrap());
    let known = record(&signer, 0);
    log.submit(&known).await.unwrap();
    what.store(CHECKPOINT_LATE, Ordering::SeqCst);
    let next = record(&signer, 1);
    assert!(log.submit(&next).await.is_err());
    assert_eq!(log.size(), 1, "nobody sees what is not certain");
    what.store(NOTHING, Ordering::SeqCst);
    assert!(matches!(log.submit(&next).await, Err(RekorError::Stopped)));
    assert!(matches!(log.refresh().await, Err(RekorError::Stopped)));
    // What was there is still answered.
    assert_eq!(log.submit(&known).await.unwrap().log_index, 0);
    drop(log);
    let log = Log::open(&Storage::folder(dir.path()), key()).unwrap();
    assert_eq!(log.submit(&next).await.unwrap().log_index, 1);
    assert_eq!(log.size(), 2);
}

/// Catches: an archive that remembers what it could not store, or merges into nothing.
#[tokio::test]
async fn a_full_archive_stores_nothing_and_a_retry_works() {
    let (log, what) = failing();
    let put = async |n: u8| log.archive_put(Digest::of(&[n]), vec![n]).await;
    assert!(put(0).await.unwrap());
    what.store(ARCHIVE, Ordering::SeqCst);
    assert!(matches!(put(1).await, Err(RekorError::StorageFull { .. })));
    let absent = log.archive_get(Digest::of(&[1])).await;
    assert!(matches!(absent, Err(RekorError::NotFound(_))));
    assert!(!put(0).await.unwrap(), "what is there needs no room");
    what.store(NOTHING, Ordering::SeqCst);
    assert!(put(1).await.unwrap());
    assert_eq!(log.archive_get(Digest::of(&[1])).await.unwrap(), [1]);
}

#[tokio::test]
async fn over_http_a_full_disk_is_507() {
    let signer = PolicySigner::generate().unwrap();
    let (log, what) = failing();
    let served = Served::start(log).await;
    let envelope = signed(&signer, 1);
    for kind in [ARCHIVE, HASHES, ENTRIES, CHECKPOINT] {
        what.store(kind, Ordering::SeqCst);
        let sent = served
            .client
            .publish(&envelope, &signer.key(), &artifact(1))
            .await;
        assert!(
            matches!(sent, Err(RekorError::StorageFull { .. })),
            "{kind}"
        );
    }
    let url = format!("{}archive/{}", served.client.url(), Digest::of(b"x"));
    what.store(ARCHIVE, Ordering::SeqCst);
    let response = plain_client().put(url).body("x").send().await.unwrap();
    assert_eq!(response.status().as_u16(), 507);
    assert!(response.text().await.unwrap().contains("no space left"));
    what.store(NOTHING, Ordering::SeqCst);
    let bundle = served
        .client
        .publish(&envelope, &signer.key(), &artifact(1))
        .await
        .unwrap();
    assert_eq!(verify(&bundle, 1).log_index, 0);
    served.stop().await;
}
