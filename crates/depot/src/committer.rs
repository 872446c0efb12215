//! Group commit: one write and one sync for all uploads that wait.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError, RwLock};

use bytes::Bytes;
use siegel_ident::{BlobDigest, Digest};
use tokio::sync::{mpsc, oneshot};

use crate::depot::plain_path;
use crate::index::Index;
use crate::segment::{Directory, Entry, MAX_UPLOADS};
use crate::{DepotError, Kind, PutOutcome, Store};

/// A batch with so many bytes is full; the upload that fills it may be of the largest size.
const BATCH_BYTES: usize = 32 * 1024 * 1024;

/// Takes uploads to the one task that writes. The task ends when the last of these is gone.
#[derive(Clone)]
pub(crate) struct Committer(mpsc::Sender<Waiting>);

/// An upload that was checked, and its sender.
struct Waiting {
    entry: Entry,
    bytes: Bytes,
    sender: Sender,
}

type Sender = oneshot::Sender<Result<PutOutcome, DepotError>>;

impl Committer {
    /// Starts the task. What it has stored durably stands in the index, and nothing else.
    pub(crate) fn start(store: Store, index: Arc<RwLock<Index>>) -> Self {
        let (queue, waiting) = mpsc::channel(MAX_UPLOADS);
        tokio::spawn(commit_all(waiting, store, index));
        Self(queue)
    }

    /// Waits until this upload is durable (I8). Dropping the future leaves the upload in its batch.
    pub(crate) async fn put(&self, entry: Entry, bytes: Bytes) -> Result<PutOutcome, DepotError> {
        let (sender, answer) = oneshot::channel();
        let waiting = Waiting {
            entry,
            bytes,
            sender,
        };
        let sent = self.0.send(waiting).await;
        sent.map_err(|_| DepotError::Closing)?;
        answer.await.unwrap_or(Err(DepotError::Closing))
    }
}

/// One batch after the other. What comes while one is written is the next one; nobody waits for
/// company.
async fn commit_all(mut queue: mpsc::Receiver<Waiting>, store: Store, index: Arc<RwLock<Index>>) {
    while let Some(first) = queue.recv().await {
        let mut batch = Batch::default();
        batch.add(first, &index);
        while !batch.is_full()
            && let Ok(next) = queue.try_recv()
        {
            batch.add(next, &index);
        }
        if !batch.entries.is_empty() {
            batch.commit(&store, &index).await;
        }
    }
}

#[derive(Default)]
struct Batch {
    entries: Vec<Entry>,
    bodies: Vec<Bytes>,
    bytes: usize,
    known: BTreeSet<BlobDigest>,
    /// Each with its answer, if all goes well.
    senders: Vec<(Sender, PutOutcome)>,
}

impl Batch {
    fn is_full(&self) -> bool {
        self.entries.len() >= MAX_UPLOADS || self.bytes >= BATCH_BYTES
    }

    /// A duplicate of a durable upload has its answer; one within the batch waits for the first.
    fn add(&mut self, waiting: Waiting, index: &RwLock<Index>) {
        let Waiting {
            entry,
            bytes,
            sender,
        } = waiting;
        let durable = index.read().unwrap_or_else(PoisonError::into_inner);
        if durable.find(&entry.digest).is_some() {
            // Whoever asked may be gone; that changes nothing.
            let _ = sender.send(Ok(PutOutcome::Duplicate));
        } else if !self.known.insert(entry.digest) {
            self.senders.push((sender, PutOutcome::Duplicate));
        } else {
            self.bytes += bytes.len();
            self.entries.push(entry);
            self.bodies.push(bytes);
            self.senders.push((sender, PutOutcome::Stored));
        }
    }

    /// Writes, syncs, and only then lets others find the uploads and answers their senders: what
    /// a list names can be fetched, and what was answered survives a kill (I8). If the store fails,
    /// all of them are refused.
    async fn commit(self, store: &Store, index: &RwLock<Index>) {
        let directory = Directory::new(self.entries);
        let head = Bytes::from(directory.to_bytes());
        let name = Digest::of(&head);
        let parts = std::iter::once(head).chain(self.bodies);
        let stored = store.put(&plain_path(Kind::Upload, name), parts).await;
        let stored = stored.map_err(DepotError::from);
        if stored.is_ok() {
            let mut index = index.write().unwrap_or_else(PoisonError::into_inner);
            index.add(name, &directory);
        }
        tracing::debug!(uploads = self.known.len(), bytes = self.bytes, "committed");
        for (sender, outcome) in self.senders {
            let answer = stored.clone().map(|_| outcome);
            // As above.
            let _ = sender.send(answer);
        }
    }
}
