//! The one thread that changes the log: it takes what is waiting, writes it with one fsync, signs
//! one checkpoint, and only then lets anyone see it.

use std::collections::btree_map::Entry;
use std::sync::{Arc, PoisonError};
use std::thread::JoinHandle;

use siegel_ident::Digest;
use siegel_translog::HashedRekord;
use tokio::sync::{mpsc, oneshot};

use crate::cosigner::{self, CosignRequest, Cosigner};
use crate::error::RekorError;
use crate::log::Shared;
use crate::recover::Known;
use crate::store::encode;

/// Most entries per checkpoint.
const BATCH: usize = 256;
/// Submissions waiting; more make the submitters wait.
const QUEUE: usize = 1024;

type Answer = Result<(u64, Vec<u8>), RekorError>;

struct Job {
    leaf: Digest,
    body: Vec<u8>,
    reply: oneshot::Sender<Answer>,
}

enum Order {
    Add(Job),
    Refresh(oneshot::Sender<Result<(), RekorError>>),
}

/// The way to the thread. Dropping it ends the thread after what it has begun.
pub(crate) struct Writer {
    jobs: Option<mpsc::Sender<Order>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub(crate) fn start(
        shared: Arc<Shared>,
        known: Known,
        cosigner: Arc<dyn Cosigner>,
    ) -> Result<Self, RekorError> {
        let (jobs, queue) = mpsc::channel(QUEUE);
        let thread = std::thread::Builder::new()
            .name("log-writer".into())
            .spawn(move || {
                Loop {
                    shared,
                    known,
                    cosigner,
                    stopped: false,
                }
                .run(queue)
            })
            .map_err(|source| RekorError::Io {
                what: "starting the log writer".into(),
                source,
            })?;
        Ok(Self {
            jobs: Some(jobs),
            thread: Some(thread),
        })
    }

    /// Index and body of the entry, once it is durable and published.
    pub(crate) async fn submit(&self, record: &HashedRekord) -> Answer {
        let body = record.canonical_body();
        let (reply, answer) = oneshot::channel();
        let job = Job {
            leaf: record.leaf(),
            body,
            reply,
        };
        let jobs = self.jobs.as_ref().ok_or(RekorError::Busy)?;
        let sent = jobs.send(Order::Add(job)).await;
        sent.map_err(|_| RekorError::Stopped)?;
        answer.await.map_err(|_| RekorError::Stopped)?
    }

    /// Publishes the checkpoint again, with fresh cosignatures.
    pub(crate) async fn refresh(&self) -> Result<(), RekorError> {
        let (reply, answer) = oneshot::channel();
        let jobs = self.jobs.as_ref().ok_or(RekorError::Busy)?;
        let sent = jobs.send(Order::Refresh(reply)).await;
        sent.map_err(|_| RekorError::Stopped)?;
        answer.await.map_err(|_| RekorError::Stopped)?
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // The storage (and its lock) is free when this returns. A panic there was logged.
            let _ = thread.join();
        }
    }
}

struct Loop {
    shared: Arc<Shared>,
    known: Known,
    cosigner: Arc<dyn Cosigner>,
    /// After a write that could not be undone, the file's end is unclear.
    stopped: bool,
}

impl Loop {
    fn run(mut self, mut queue: mpsc::Receiver<Order>) {
        while let Some(first) = queue.blocking_recv() {
            let (mut batch, mut refreshes) = (Vec::new(), Vec::new());
            let mut next = Some(first);
            while let Some(order) = next {
                match order {
                    Order::Add(job) => batch.push(job),
                    Order::Refresh(reply) => refreshes.push(reply),
                }
                next = (batch.len() < BATCH)
                    .then(|| queue.try_recv().ok())
                    .flatten();
            }
            self.take(batch);
            if !refreshes.is_empty() {
                let done = self.publish(&[], &[]);
                for reply in refreshes {
                    // Whoever asked may be gone.
                    let _ = reply.send(done.as_ref().copied().map_err(same_kind));
                }
            }
        }
    }

    fn take(&mut self, batch: Vec<Job>) {
        let mut fresh: Vec<(Digest, Vec<u8>)> = Vec::new();
        let next = self.shared.published().size;
        for job in &batch {
            if let Entry::Vacant(place) = self.known.entry(job.leaf) {
                place.insert(next + fresh.len() as u64);
                fresh.push((job.leaf, job.body.clone()));
            }
        }
        let written = if fresh.is_empty() {
            Ok(())
        } else {
            self.write(&fresh)
        };
        if let Err(error) = &written {
            tracing::error!(%error, entries = fresh.len(), "entries were not added");
            for (leaf, _) in &fresh {
                self.known.remove(leaf);
            }
        }
        for job in batch {
            let answer = match (self.known.get(&job.leaf), &written) {
                (Some(index), _) => Ok((*index, job.body)),
                (None, Err(error)) => Err(same_kind(error)),
                (None, Ok(())) => Err(RekorError::Stopped),
            };
            // A submitter who went away gets the entry by submitting again.
            let _ = job.reply.send(answer);
        }
    }

    /// All or nothing, in the order that a kill at any point leaves recoverable: entries durable,
    /// then checkpoint durable, then visible.
    fn write(&mut self, fresh: &[(Digest, Vec<u8>)]) -> Result<(), RekorError> {
        if self.stopped {
            return Err(RekorError::Stopped);
        }
        let (store, start) = (&self.shared.store, self.shared.store.entries_len()?);
        let (old_size, old_note) = {
            let published = self.shared.published();
            (published.size, published.note.clone())
        };
        let mut bytes = Vec::new();
        let mut bodies = Vec::new();
        for (leaf, body) in fresh {
            let at = encode(&mut bytes, leaf, body);
            bodies.push((start + at as u64, body.len() as u32));
        }
        let published = store
            .entries_append(&bytes)
            .and_then(|()| self.publish(fresh, &bodies));
        if published.is_err() {
            self.forget(old_size);
            // A save that failed late may have put the new checkpoint in place: then its entries
            // must stay, or the folder would promise more than it has. The restart sorts it out.
            let promised = store.checkpoint_load().ok().flatten();
            if promised.as_ref() != Some(&old_note) || store.entries_truncate(start).is_err() {
                self.stopped = true;
            }
        }
        published
    }

    fn publish(
        &self,
        fresh: &[(Digest, Vec<u8>)],
        bodies: &[(u64, u32)],
    ) -> Result<(), RekorError> {
        let shared = &self.shared;
        let (size, root) = {
            let mut published = shared
                .published
                .write()
                .unwrap_or_else(PoisonError::into_inner);
            for (leaf, _) in fresh {
                published.tree.push(*leaf);
            }
            published.bodies.extend_from_slice(bodies);
            (published.tree.size(), published.tree.root())
        };
        let note = shared.key.sign(size, root);
        let lines = self.cosigner.cosign(CosignRequest {
            note: &note,
            size,
            proof: &|from| shared.published().tree.consistency_proof(from, size),
        });
        let note = cosigner::append(note, lines);
        shared.store.checkpoint_save(&note)?;
        let mut published = shared
            .published
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        (published.size, published.root, published.note) = (size, root, note);
        Ok(())
    }

    fn forget(&self, size: u64) {
        let mut published = self
            .shared
            .published
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        published.tree.truncate(size);
        published.bodies.truncate(size as usize);
    }
}

/// The same failure for each submitter of a batch.
fn same_kind(error: &RekorError) -> RekorError {
    match error {
        RekorError::StorageFull { what } => RekorError::StorageFull { what },
        RekorError::Io { what, source } => RekorError::Io {
            what: what.clone(),
            source: source.kind().into(),
        },
        _ => RekorError::Stopped,
    }
}
