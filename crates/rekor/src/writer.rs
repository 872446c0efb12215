//! The one thread that changes the log: it takes what is waiting, makes its tiles durable, signs one
//! checkpoint, and only then lets anyone see it.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};
use std::thread::JoinHandle;

use siegel_ident::Digest;
use siegel_store::Store;
use siegel_translog::HashedRekord;
use siegel_translog::merkle::leaf_hash;
use siegel_translog::tiles::WIDTH;
use tokio::sync::{mpsc, oneshot};

use crate::cosigner::{self, CosignRequest, Cosigner};
use crate::error::RekorError;
use crate::io::Io;
use crate::known::Known;
use crate::log::Shared;
use crate::log_key::LogKey;
use crate::publish::{drop_partials, save_checkpoint, take_back, write_tiles};
use crate::recover::{MOST_ENTRIES, recover};
use crate::store::read_checkpoint;

/// Most entries per checkpoint.
pub(crate) const BATCH: usize = 1024;
/// Submissions waiting; more make the submitters wait.
const QUEUE: usize = 1024;

type Answer = Result<(u64, Vec<u8>), RekorError>;

enum Job {
    Submit(Submission),
    Refresh(oneshot::Sender<Result<(), RekorError>>),
}

struct Submission {
    leaf: Digest,
    body: Vec<u8>,
    reply: oneshot::Sender<Answer>,
}

/// The way to the thread. Dropping it ends the thread after what it has begun.
pub(crate) struct Writer {
    jobs: Option<mpsc::Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    /// Takes up the log in the store, on the new thread, and waits for that.
    pub(crate) fn start(
        store: Store,
        key: LogKey,
        cosigner: Arc<dyn Cosigner>,
    ) -> Result<(Self, Arc<Shared>), RekorError> {
        let (jobs, queue) = mpsc::channel(QUEUE);
        let (ready, opened) = std::sync::mpsc::sync_channel(1);
        let thread = std::thread::Builder::new().name("log-writer".into());
        let thread = thread.spawn(move || match Loop::open(store, key, cosigner) {
            Ok(writing) => {
                let _ = ready.send(Ok(Arc::clone(&writing.shared)));
                drop(ready);
                writing.run(queue);
            }
            // Whoever opens waits for it.
            Err(error) => drop(ready.send(Err(error))),
        });
        let failed = |source| RekorError::Io {
            what: "starting the log writer".into(),
            source,
        };
        let writer = Self {
            jobs: Some(jobs),
            thread: Some(thread.map_err(failed)?),
        };
        let shared = opened.recv().map_err(|_| RekorError::Stopped)??;
        Ok((writer, shared))
    }

    /// Index and body of the entry, once it is durable and published.
    pub(crate) async fn submit(&self, record: &HashedRekord) -> Answer {
        let body = record.canonical_body();
        if body.len() > usize::from(u16::MAX) {
            return Err(RekorError::TooLong {
                what: "a log entry",
                max: u16::MAX.into(),
            });
        }
        let (reply, answer) = oneshot::channel();
        let leaf = leaf_hash(&body);
        self.send(Job::Submit(Submission { leaf, body, reply }))
            .await?;
        answer.await.map_err(|_| RekorError::Stopped)?
    }

    /// Publishes the checkpoint again, with fresh cosignatures.
    pub(crate) async fn refresh(&self) -> Result<(), RekorError> {
        let (reply, answer) = oneshot::channel();
        self.send(Job::Refresh(reply)).await?;
        answer.await.map_err(|_| RekorError::Stopped)?
    }

    async fn send(&self, job: Job) -> Result<(), RekorError> {
        let jobs = self.jobs.as_ref().ok_or(RekorError::Busy)?;
        jobs.send(job).await.map_err(|_| RekorError::Stopped)
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
    io: Io,
    cosigner: Arc<dyn Cosigner>,
    known: Known,
    /// The bodies of the last bundle, while it is not full.
    tail: Vec<Vec<u8>>,
    /// After a checkpoint that may or may not be in place, what is promised is unclear.
    stopped: bool,
}

impl Loop {
    fn open(store: Store, key: LogKey, cosigner: Arc<dyn Cosigner>) -> Result<Self, RekorError> {
        let io = Io::new()?;
        let recovered = io.run(recover(&store, &key))?;
        Ok(Self {
            shared: Arc::new(Shared {
                key,
                store,
                published: recovered.published.into(),
            }),
            io,
            cosigner,
            known: recovered.known,
            tail: recovered.tail,
            stopped: false,
        })
    }

    fn run(mut self, mut queue: mpsc::Receiver<Job>) {
        while let Some(first) = queue.blocking_recv() {
            let (mut batch, mut refreshes) = (Vec::new(), Vec::new());
            let mut sort = |job| match job {
                Job::Submit(submission) => {
                    batch.push(submission);
                    batch.len() < BATCH
                }
                Job::Refresh(reply) => {
                    refreshes.push(reply);
                    true
                }
            };
            let mut more = sort(first);
            while more && let Ok(job) = queue.try_recv() {
                more = sort(job);
            }
            let grew = self.take(batch);
            self.refresh(refreshes, grew);
        }
    }

    /// Adds what is new and answers all; true if the log grew.
    fn take(&mut self, batch: Vec<Submission>) -> bool {
        let mut fresh: BTreeMap<Digest, u64> = BTreeMap::new();
        let mut bodies = Vec::new();
        let mut answers = Vec::new();
        let size = self.shared.published().size;
        for submission in batch {
            let Submission { leaf, body, reply } = submission;
            let known = self.index_of(&leaf);
            let index = known.or_else(|| fresh.get(&leaf).copied());
            let index = index.unwrap_or_else(|| {
                let next = size + bodies.len() as u64;
                fresh.insert(leaf, next);
                bodies.push((leaf, body.clone()));
                next
            });
            answers.push((reply, index, body));
        }
        let written = match bodies.is_empty() {
            true => Ok(()),
            false => self.write(bodies),
        };
        if let Err(error) = &written {
            tracing::error!(%error, entries = fresh.len(), "entries were not added");
        }
        for (reply, index, body) in answers {
            let answer = match &written {
                Err(error) if index >= size => Err(error.same_kind()),
                _ => Ok((index, body)),
            };
            // A submitter who went away gets the entry by submitting again.
            let _ = reply.send(answer);
        }
        let new_size = self.shared.published().size;
        self.io
            .run(drop_partials(&self.shared.store, size, new_size));
        new_size > size
    }

    fn refresh(&self, waiting: Vec<oneshot::Sender<Result<(), RekorError>>>, just_published: bool) {
        if waiting.is_empty() {
            return;
        }
        let size = self.shared.published().size;
        let refreshed = match (self.stopped, just_published) {
            (true, _) => Err(RekorError::Stopped),
            (false, true) => Ok(()),
            // That it may be in place though it failed is no trouble: it says the same.
            (false, false) => self.publish(size),
        };
        for reply in waiting {
            let answer = refreshed.as_ref().map_err(RekorError::same_kind);
            let _ = reply.send(answer.copied());
        }
    }

    fn index_of(&self, leaf: &Digest) -> Option<u64> {
        let published = self.shared.published();
        let is = |index: u32| published.tree.node(0, index.into()) == Some(*leaf);
        self.known.find(leaf, is).map(u64::from)
    }

    /// All or nothing, in the order that a kill at any point leaves recoverable: tiles durable, then
    /// checkpoint durable, then visible (I8).
    fn write(&mut self, fresh: Vec<(Digest, Vec<u8>)>) -> Result<(), RekorError> {
        if self.stopped {
            return Err(RekorError::Stopped);
        }
        let (old_size, new_size) = {
            let size = self.shared.published().size;
            (size, size + fresh.len() as u64)
        };
        if new_size >= MOST_ENTRIES {
            return Err(RekorError::StorageFull {
                what: "more entries than a log can hold",
            });
        }
        let kept = self.tail.len();
        let leaves: Vec<Digest> = fresh.iter().map(|(leaf, _)| *leaf).collect();
        self.tail.extend(fresh.into_iter().map(|(_, body)| body));
        self.grow(&leaves);
        let written = {
            let (store, tree) = (&self.shared.store, &self.shared.published().tree);
            self.io.run(write_tiles(store, tree, old_size, &self.tail))
        };
        if let Err(error) = written.and_then(|()| self.publish(new_size)) {
            self.tail.truncate(kept);
            self.shrink(old_size, new_size);
            return Err(error);
        }
        let published = self.shared.published();
        let leaf = |index: u32| published.tree.node(0, index.into());
        for (index, digest) in (old_size as u32..).zip(&leaves) {
            self.known.insert(digest, index, leaf);
        }
        let full = self.tail.len() / WIDTH as usize * WIDTH as usize;
        self.tail.drain(..full);
        Ok(())
    }

    /// Into the tree, where nobody sees them yet.
    fn grow(&self, leaves: &[Digest]) {
        let published = &self.shared.published;
        let mut published = published.write().unwrap_or_else(PoisonError::into_inner);
        for leaf in leaves {
            published.tree.push(*leaf);
        }
    }

    /// Takes back what did not become visible.
    fn shrink(&mut self, old_size: u64, new_size: u64) {
        let old_note = {
            let published = &self.shared.published;
            let mut published = published.write().unwrap_or_else(PoisonError::into_inner);
            published.tree.truncate(old_size);
            published.note.clone()
        };
        // A save that failed late may have put the new checkpoint in place: then its entries must
        // stay, or the folder would promise more than it has. The restart sorts it out.
        let promised = self.io.run(read_checkpoint(&self.shared.store));
        match promised {
            Ok(Some(note)) if text(&note) == text(&old_note) => {
                self.io
                    .run(take_back(&self.shared.store, old_size, new_size));
            }
            _ => self.stopped = true,
        }
    }

    /// Signs the first `size` entries of the tree, collects cosignatures, makes the checkpoint
    /// durable and then visible.
    fn publish(&self, size: u64) -> Result<(), RekorError> {
        let shared = &self.shared;
        let root = shared.published().tree.root_at(size);
        let root = root.ok_or(RekorError::Stopped)?;
        let note = shared.key.sign(size, root);
        let proof = |from| shared.published().tree.consistency_proof(from, size);
        let cosignatures = self.cosigner.cosign(CosignRequest {
            note: &note,
            size,
            proof: &proof,
        });
        let note = cosigner::append(note, cosignatures);
        self.io.run(save_checkpoint(&shared.store, &note))?;
        let published = &shared.published;
        let mut published = published.write().unwrap_or_else(PoisonError::into_inner);
        (published.size, published.root, published.note) = (size, root, note);
        Ok(())
    }
}

/// What a note says, without its signatures.
fn text(note: &str) -> &str {
    note.split_once("\n\n").map_or(note, |(text, _)| text)
}
