//! Group commit: one pack and one sync for all objects that wait.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread::JoinHandle;

use bytes::Bytes;
use siegel_ident::Digest;
use tokio::sync::{mpsc, oneshot};

use super::merge::merge_some;
use super::pack::{PackDirectory, PackEntry};
use super::packs::{Packs, pack_path};
use crate::error::RekorError;
use crate::io::Io;

/// Most objects in one commit.
const BATCH: usize = 1024;
/// A commit with so many bytes is full; the object that fills it may be of the largest size.
const BATCH_BYTES: usize = 8 * 1024 * 1024;
/// Objects that wait; more make their senders wait.
const QUEUE: usize = 64;

/// The archive as its one writer has it. Dropping it ends the thread after what it has begun.
pub(crate) struct Archive {
    packs: Arc<Packs>,
    jobs: Option<mpsc::Sender<Waiting>>,
    thread: Option<JoinHandle<()>>,
}

struct Waiting {
    digest: Digest,
    bytes: Bytes,
    sender: oneshot::Sender<Result<bool, RekorError>>,
}

impl Archive {
    /// Starts the thread that writes.
    pub(crate) fn start(packs: Packs) -> Result<Self, RekorError> {
        let packs = Arc::new(packs);
        let (jobs, queue) = mpsc::channel(QUEUE);
        let (shared, io) = (Arc::clone(&packs), Io::new()?);
        let thread = std::thread::Builder::new()
            .name("log-archive".into())
            .spawn(move || commit_all(&io, queue, &shared))
            .map_err(|source| RekorError::Io {
                what: "starting the archive's writer".into(),
                source,
            })?;
        Ok(Self {
            packs,
            jobs: Some(jobs),
            thread: Some(thread),
        })
    }

    /// Waits until the object is durable (I8); true if it is new. The caller has checked that this is
    /// the digest of the bytes.
    pub(crate) async fn put(&self, digest: Digest, bytes: Vec<u8>) -> Result<bool, RekorError> {
        let (sender, answer) = oneshot::channel();
        let waiting = Waiting {
            digest,
            bytes: bytes.into(),
            sender,
        };
        let jobs = self.jobs.as_ref().ok_or(RekorError::Busy)?;
        jobs.send(waiting).await.map_err(|_| RekorError::Stopped)?;
        answer.await.map_err(|_| RekorError::Stopped)?
    }

    /// The object with this digest, checked.
    pub(crate) async fn get(&self, digest: &Digest) -> Result<Vec<u8>, RekorError> {
        self.packs.get(digest).await
    }

    /// Number of packs.
    #[cfg(test)]
    pub(crate) fn packs(&self) -> usize {
        self.packs.index().packs().count()
    }
}

impl Drop for Archive {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // A panic there was logged.
            let _ = thread.join();
        }
    }
}

/// One commit after the other. What comes while one is written is the next one; nobody waits for
/// company.
fn commit_all(io: &Io, mut queue: mpsc::Receiver<Waiting>, packs: &Packs) {
    while let Some(first) = queue.blocking_recv() {
        let mut batch = Batch::default();
        batch.add(io, packs, first);
        while batch.objects.len() < BATCH
            && batch.bytes < BATCH_BYTES
            && let Ok(next) = queue.try_recv()
        {
            batch.add(io, packs, next);
        }
        if !batch.objects.is_empty() && batch.commit(io, packs) {
            // The objects are safe where they are: a merge that fails is tried again later.
            if let Err(error) = io.run(merge_some(packs)) {
                tracing::warn!(%error, "packs of the archive were not merged");
            }
        }
    }
}

#[derive(Default)]
struct Batch {
    objects: BTreeMap<Digest, Bytes>,
    bytes: usize,
    /// Each with its answer, if all goes well.
    senders: Vec<(oneshot::Sender<Result<bool, RekorError>>, bool)>,
}

impl Batch {
    /// What is there and good has its answer; one within the batch waits for the first. A rotten
    /// object is stored again.
    fn add(&mut self, io: &Io, packs: &Packs, waiting: Waiting) {
        let Waiting {
            digest,
            bytes,
            sender,
        } = waiting;
        if self.objects.contains_key(&digest) {
            self.senders.push((sender, false));
        } else if io.run(packs.get(&digest)).is_ok() {
            // Whoever asked may be gone; that changes nothing.
            let _ = sender.send(Ok(false));
        } else {
            self.bytes += bytes.len();
            self.objects.insert(digest, bytes);
            self.senders.push((sender, true));
        }
    }

    /// Writes, syncs, and only then lets others find the objects and answers their senders (I8). If
    /// the store fails, all of them are refused. True if it is stored.
    fn commit(self, io: &Io, packs: &Packs) -> bool {
        let stored = io.run(write(packs, self.objects));
        match &stored {
            Ok((name, directory)) => packs.index_mut().add(*name, directory, true),
            Err(error) => tracing::error!(%error, "objects were not archived"),
        }
        for (sender, new) in self.senders {
            let answer = match &stored {
                Ok(_) => Ok(new),
                Err(error) => Err(error.same_kind()),
            };
            // As above.
            let _ = sender.send(answer);
        }
        stored.is_ok()
    }
}

/// Writes one pack, durably; returns its name and directory. A pack of this name, which has the same
/// directory, is replaced: of each object, the given bytes are at least as good.
pub(super) async fn write(
    packs: &Packs,
    objects: BTreeMap<Digest, Bytes>,
) -> Result<(Digest, PackDirectory), RekorError> {
    let entry = |(digest, bytes): (&Digest, &Bytes)| PackEntry {
        digest: *digest,
        len: bytes.len() as u32,
    };
    let directory = PackDirectory::new(objects.iter().map(entry).collect());
    let directory = directory.ok_or(RekorError::TooLong {
        what: "a pack of the archive",
        max: super::pack::MAX_OBJECTS,
    })?;
    let head = Bytes::from(directory.to_bytes());
    let name = Digest::of(&head);
    let parts = std::iter::once(head).chain(objects.into_values());
    packs
        .store()
        .replace(&pack_path(&name), parts)
        .await
        .map_err(RekorError::store("an archived object"))?;
    Ok((name, directory))
}
