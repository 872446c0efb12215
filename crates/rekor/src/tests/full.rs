//! I14, I8: a disk that fills up refuses with a clear error, harms nothing, and recovers.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use siegel_ident::Digest;

use super::*;
use crate::store::{Memory, Store};

const NOTHING: u8 = 0;
const APPEND: u8 = 1;
const CHECKPOINT: u8 = 2;
const APPEND_AND_TRUNCATE: u8 = 3;
const ARCHIVE: u8 = 4;
/// The checkpoint is in its place, and then the sync of its folder fails.
const CHECKPOINT_LATE: u8 = 5;

/// A store that answers ENOSPC for one kind of write, after having written half of it.
struct Failing {
    inner: Box<dyn Store>,
    what: Arc<AtomicU8>,
}

impl Failing {
    fn full(&self, kinds: &[u8]) -> Result<(), RekorError> {
        if kinds.contains(&self.what.load(Ordering::SeqCst)) {
            let enospc = io::Error::from_raw_os_error(28);
            return Err(RekorError::io("a test", Path::new("/full"), enospc));
        }
        Ok(())
    }
}

impl Store for Failing {
    fn entries_len(&self) -> Result<u64, RekorError> {
        self.inner.entries_len()
    }
    fn entries_read(&self, offset: u64, len: usize) -> Result<Vec<u8>, RekorError> {
        self.inner.entries_read(offset, len)
    }
    fn entries_append(&self, bytes: &[u8]) -> Result<(), RekorError> {
        if let Err(full) = self.full(&[APPEND, APPEND_AND_TRUNCATE]) {
            self.inner.entries_append(&bytes[..bytes.len() / 2])?;
            return Err(full);
        }
        self.inner.entries_append(bytes)
    }
    fn entries_truncate(&self, len: u64) -> Result<(), RekorError> {
        self.full(&[APPEND_AND_TRUNCATE])?;
        self.inner.entries_truncate(len)
    }
    fn checkpoint_save(&self, note: &str) -> Result<(), RekorError> {
        self.full(&[CHECKPOINT])?;
        self.inner.checkpoint_save(note)?;
        self.full(&[CHECKPOINT_LATE])
    }
    fn checkpoint_load(&self) -> Result<Option<String>, RekorError> {
        self.inner.checkpoint_load()
    }
    fn archive_put(&self, digest: &Digest, bytes: &[u8]) -> Result<bool, RekorError> {
        self.full(&[ARCHIVE])?;
        self.inner.archive_put(digest, bytes)
    }
    fn archive_get(&self, digest: &Digest) -> Result<Option<Vec<u8>>, RekorError> {
        self.inner.archive_get(digest)
    }
}

fn failing() -> (Log, Arc<AtomicU8>) {
    failing_over(Box::new(Memory::default()))
}

fn failing_over(inner: Box<dyn Store>) -> (Log, Arc<AtomicU8>) {
    let what = Arc::new(AtomicU8::new(NOTHING));
    let store = Failing {
        inner,
        what: what.clone(),
    };
    (Log::over(Box::new(store), key()).unwrap(), what)
}

/// Catches: a half-written record left in the file, an index given away, a duplicate remembered.
#[tokio::test]
async fn a_full_disk_adds_nothing_and_a_retry_works() {
    let signer = PolicySigner::generate().unwrap();
    for kind in [APPEND, CHECKPOINT] {
        let (log, what) = failing();
        log.submit(&record(&signer, 0)).await.unwrap();
        let note = log.checkpoint();
        let next = record(&signer, 1);
        what.store(kind, Ordering::SeqCst);
        let refused = log.submit(&next).await;
        assert!(
            matches!(refused, Err(RekorError::StorageFull { .. })),
            "{kind}"
        );
        assert_eq!((log.size(), log.checkpoint()), (1, note), "{kind}");
        assert!(log.entries(0, 2).await.unwrap().is_none());
        what.store(NOTHING, Ordering::SeqCst);
        let entry = log.submit(&next).await.unwrap();
        assert_eq!((entry.log_index, entry.proof.tree_size), (1, 2), "{kind}");
        assert_eq!(log.bodies(0, 2).await.unwrap()[1], next.canonical_body());
    }
}

/// Catches: a log that writes on behind a broken record.
#[tokio::test]
async fn a_write_that_cannot_be_undone_stops_the_log() {
    let signer = PolicySigner::generate().unwrap();
    let (log, what) = failing();
    let known = record(&signer, 0);
    log.submit(&known).await.unwrap();
    what.store(APPEND_AND_TRUNCATE, Ordering::SeqCst);
    assert!(log.submit(&record(&signer, 1)).await.is_err());
    what.store(NOTHING, Ordering::SeqCst);
    assert!(matches!(
        log.submit(&record(&signer, 2)).await,
        Err(RekorError::Stopped)
    ));
    // What was there is still answered.
    assert_eq!(log.submit(&known).await.unwrap().log_index, 0);
}

/// Catches: a checkpoint on the disk that covers an entry which was taken back. The folder would be
/// `Damaged` for ever.
#[tokio::test]
async fn i8_a_checkpoint_that_failed_late_keeps_its_entries() {
    let dir = tempfile::tempdir().unwrap();
    let folder = crate::store::Folder::open(dir.path()).unwrap();
    let signer = PolicySigner::generate().unwrap();
    let (log, what) = failing_over(Box::new(folder));
    log.submit(&record(&signer, 0)).await.unwrap();
    what.store(CHECKPOINT_LATE, Ordering::SeqCst);
    let next = record(&signer, 1);
    assert!(log.submit(&next).await.is_err());
    assert_eq!(log.size(), 1, "nobody sees what is not certain");
    what.store(NOTHING, Ordering::SeqCst);
    assert!(matches!(log.submit(&next).await, Err(RekorError::Stopped)));
    drop(log);
    let log = Log::open(&Storage::folder(dir.path()), key()).unwrap();
    assert_eq!(log.submit(&next).await.unwrap().log_index, 1);
    assert_eq!(log.size(), 2);
}

#[tokio::test]
async fn over_http_a_full_disk_is_507() {
    let signer = PolicySigner::generate().unwrap();
    let (log, what) = failing();
    let served = Served::start(log).await;
    let envelope = signed(&signer, 1);
    for kind in [ARCHIVE, APPEND, CHECKPOINT] {
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
