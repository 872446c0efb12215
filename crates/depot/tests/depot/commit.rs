//! Group commit over a store that waits or fails at the test's word.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt as _};
use siegel_depot::{Depot, DepotError, Kind, Limits, PutOutcome, Store};
use siegel_ident::{BlobDigest, Digest, EpochId};
use siegel_store::{Path, PutPayload, Refusal, Rule, RuledStore};
use tokio::sync::{Mutex, Semaphore, mpsc};
use tokio::task::JoinHandle;

use super::setting::*;

/// Each put waits for a word: true lets it through, false makes it fail.
struct Slow {
    words: Mutex<mpsc::UnboundedReceiver<bool>>,
    begun: Arc<Semaphore>,
    puts: Arc<AtomicUsize>,
}

impl Rule for Slow {
    fn put<'a>(&'a self, _: &'a Path, _: &'a PutPayload) -> BoxFuture<'a, Refusal> {
        async {
            self.puts.fetch_add(1, Ordering::SeqCst);
            self.begun.add_permits(1);
            match self.words.lock().await.recv().await {
                Some(true) => Refusal::None,
                _ => Refusal::Before,
            }
        }
        .boxed()
    }
}

struct Setting {
    depot: Depot,
    words: mpsc::UnboundedSender<bool>,
    begun: Arc<Semaphore>,
    puts: Arc<AtomicUsize>,
}

type Put = JoinHandle<Result<PutOutcome, DepotError>>;

impl Setting {
    async fn new() -> Self {
        let (words, heard) = mpsc::unbounded_channel();
        let (begun, puts) = (Arc::new(Semaphore::new(0)), Arc::default());
        let slow = Slow {
            words: heard.into(),
            begun: Arc::clone(&begun),
            puts: Arc::clone(&puts),
        };
        let store = Store::memory().wrapped(|inner| RuledStore::new(inner, slow));
        let depot = Depot::open(store, Limits::default()).await.unwrap();
        Self {
            depot,
            words,
            begun,
            puts,
        }
    }

    /// Sends an upload, and waits until it has reached the committer's queue.
    async fn put(&self, n: u8) -> Put {
        let (depot, bytes) = (self.depot.clone(), upload(n, 1));
        let put = async move {
            let digest = Digest::of(&bytes);
            depot.put(Kind::Upload, digest, bytes.into()).await
        };
        let put = tokio::spawn(put);
        tokio::time::sleep(Duration::from_millis(20)).await;
        put
    }

    /// Waits until the store is asked to write.
    async fn writing(&self) {
        let begun = self.begun.acquire();
        let begun = tokio::time::timeout(Duration::from_secs(5), begun).await;
        begun.unwrap().unwrap().forget();
    }

    fn say(&self, word: bool) {
        self.words.send(word).unwrap();
    }

    fn listed(&self) -> Vec<BlobDigest> {
        self.depot.list(policy(), EpochId(1))
    }
}

async fn answer(put: Put) -> Result<PutOutcome, DepotError> {
    let answered = tokio::time::timeout(Duration::from_secs(5), put).await;
    answered.unwrap().unwrap()
}

// I8: catches an answer, or a listing, before the write is done, a write for each upload of those
// that came meanwhile, and a duplicate that is answered before its first is durable.
#[tokio::test]
async fn i8_all_that_wait_share_one_write_and_nobody_is_answered_before_it() {
    let s = Setting::new().await;
    let first = s.put(1).await;
    s.writing().await;
    let meanwhile = [
        s.put(2).await,
        s.put(3).await,
        s.put(2).await,
        s.put(1).await,
    ];
    assert!(!first.is_finished() && meanwhile.iter().all(|put| !put.is_finished()));
    assert!(s.listed().is_empty());

    s.say(true);
    assert_eq!(answer(first).await.unwrap(), PutOutcome::Stored);
    s.writing().await;
    let [two, three, two_again, one_again] = meanwhile;
    assert_eq!(answer(one_again).await.unwrap(), PutOutcome::Duplicate);
    assert!(!two.is_finished() && !three.is_finished() && !two_again.is_finished());
    assert_eq!(s.listed(), [BlobDigest::of(&upload(1, 1))]);

    s.say(true);
    assert_eq!(answer(two).await.unwrap(), PutOutcome::Stored);
    assert_eq!(answer(three).await.unwrap(), PutOutcome::Stored);
    assert_eq!(answer(two_again).await.unwrap(), PutOutcome::Duplicate);
    assert_eq!(s.puts.load(Ordering::SeqCst), 2);
    let mut all: Vec<_> = [1, 2, 3].map(|n| BlobDigest::of(&upload(n, 1))).into();
    all.sort();
    assert_eq!(s.listed(), all);
    for n in 1..=3 {
        let bytes = upload(n, 1);
        let read = s.depot.get(Kind::Upload, Digest::of(&bytes)).await;
        assert!(read.unwrap() == bytes, "{n}");
    }
}

// Catches a failed write that is answered as stored to any of its senders, that leaves something
// in the index, or that stops the writes after it.
#[tokio::test]
async fn a_batch_that_fails_refuses_all_of_it_and_the_next_one_goes() {
    let s = Setting::new().await;
    let first = s.put(1).await;
    s.writing().await;
    let meanwhile = [s.put(2).await, s.put(3).await, s.put(2).await];
    s.say(true);
    answer(first).await.unwrap();
    s.say(false);
    for put in meanwhile {
        let refused = answer(put).await;
        let as_told = matches!(refused, Err(DepotError::StoreFull));
        assert!(as_told, "{refused:?}");
    }
    assert_eq!(s.listed(), [BlobDigest::of(&upload(1, 1))]);
    let lost = s.depot.get(Kind::Upload, Digest::of(&upload(2, 1))).await;
    assert!(matches!(lost, Err(DepotError::NotFound { .. })));
    s.say(true);
    let again = s.put(2).await;
    assert_eq!(answer(again).await.unwrap(), PutOutcome::Stored);
    assert_eq!(s.listed().len(), 2);
}

// I8: catches a batch that is given up because one of its senders has gone.
#[tokio::test]
async fn a_sender_that_goes_away_takes_nobody_along() {
    let s = Setting::new().await;
    let gone = s.put(1).await;
    s.writing().await;
    let (also_gone, stays) = (s.put(2).await, s.put(3).await);
    gone.abort();
    also_gone.abort();
    s.say(true);
    s.say(true);
    assert_eq!(answer(stays).await.unwrap(), PutOutcome::Stored);
    assert_eq!(s.listed().len(), 3);
}
