//! The reading half, which every question to a log stands on: entries in chunks, opened on all cores,
//! handed over in the order of the log, and hashed into the tree that they make together.

mod entry;
mod item;
mod source;
mod tiles;
mod workers;

use std::collections::VecDeque;

use siegel_ident::Digest;
use siegel_rekor::{LogReader, RekorError};
use siegel_translog::{Checkpoint, Tree, merkle};
use tokio::sync::oneshot::Receiver;
use tokio::sync::oneshot::error::RecvError;
use workers::Workers;

pub(crate) use entry::{CERTIFIED, Signed, Unread, fetch, signed};
pub(crate) use item::{Item, Kind, open};
pub(crate) use tiles::tiles;

/// Entries asked for at a time: whole bundles of 256.
const CHUNK: u64 = 1024;
/// Entries that one job opens. Small, so that what a hostile log can put into memory stays small.
const SLICE: usize = 32;

/// What the entries of a log are together.
pub(crate) struct Reading {
    /// The tree over all entries that could be read, from the first one on.
    pub(crate) tree: Tree,
    /// Why it is shorter than the checkpoint.
    pub(crate) withheld: Option<String>,
}

impl Reading {
    /// The entries are exactly those that the checkpoint covers (I1).
    pub(crate) fn is_whole(&self, checkpoint: &Checkpoint) -> bool {
        (self.tree.size(), self.tree.root()) == (checkpoint.size, checkpoint.root)
    }
}

/// Why reading broke off. Neither says anything about the log.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    #[error(transparent)]
    Source(#[from] RekorError),
    #[error("a worker died")]
    Broken(#[from] RecvError),
}

/// Reads entries 0 to `size`, opens each with `open` on a blocking thread, and gives what comes of it
/// to `take`, in the order of the log. Memory is bounded by what is in flight and what `take` keeps.
///
/// # Errors
/// [`ReadError`]. That the log holds entries back is none: see [`Reading::withheld`].
pub(crate) async fn read<T, O, F>(
    log: &LogReader,
    size: u64,
    open: O,
    mut take: impl FnMut(T),
) -> Result<Reading, ReadError>
where
    T: Send + 'static,
    O: Fn(LogReader, u64, Vec<u8>) -> F + Clone + Send + 'static,
    F: Future<Output = Result<T, RekorError>>,
{
    let workers = Workers::of(log);
    let most = workers.most();
    let mut jobs = VecDeque::with_capacity(most);
    let mut reading = Reading {
        tree: Tree::new(),
        withheld: None,
    };
    let mut next = 0;
    while next < size {
        let to = size.min(next + CHUNK);
        let mut bodies = match bodies(log, next, to).await? {
            Ok(bodies) => bodies.into_iter(),
            Err(why) => {
                reading.withheld = Some(why);
                break;
            }
        };
        while bodies.len() > 0 {
            let slice: Vec<_> = bodies.by_ref().take(SLICE).collect();
            let first = next;
            next += slice.len() as u64;
            if jobs.len() == most
                && let Some(oldest) = jobs.pop_front()
            {
                done(oldest, &mut reading.tree, &mut take).await?;
            }
            let (log, open) = (log.clone(), open.clone());
            jobs.push_back(workers.begin(move |wait| {
                let opened = (first..).zip(slice).map(|(index, body)| {
                    let leaf = merkle::leaf_hash(&body);
                    let opened = wait.on(open(log.clone(), index, body))?;
                    Ok((leaf, opened))
                });
                opened.collect()
            }));
        }
    }
    for job in jobs {
        done(job, &mut reading.tree, &mut take).await?;
    }
    Ok(reading)
}

/// The leaf hashes of entries `from..to`, or why they are withheld.
pub(crate) async fn leaves(
    log: &LogReader,
    from: u64,
    to: u64,
) -> Result<Result<Vec<Digest>, String>, RekorError> {
    let bodies = bodies(log, from, to).await?;
    Ok(bodies.map(|bodies| bodies.iter().map(|body| merkle::leaf_hash(body)).collect()))
}

/// Exactly the entries `from..to`; the inner error says why the log does not give them.
async fn bodies(
    log: &LogReader,
    from: u64,
    to: u64,
) -> Result<Result<Vec<Vec<u8>>, String>, RekorError> {
    let why = match log.entries(from, to).await {
        Ok(bodies) if bodies.len() as u64 == to - from => return Ok(Ok(bodies)),
        Ok(bodies) => format!("only {} came", bodies.len()),
        Err(e) if e.is_transient() => return Err(e),
        Err(
            e @ (RekorError::NotFound(_)
            | RekorError::Answer { .. }
            | RekorError::TooLong { .. }
            | RekorError::Refused { .. }
            | RekorError::Damaged(_)),
        ) => e.to_string(),
        Err(e) => return Err(e),
    };
    Ok(Err(format!("entries {from} to {to} are withheld: {why}")))
}

/// Leaf hash of each entry, and what came of it.
type Slice<T> = Result<Vec<(Digest, T)>, RekorError>;

async fn done<T>(
    job: Receiver<Slice<T>>,
    tree: &mut Tree,
    take: &mut impl FnMut(T),
) -> Result<(), ReadError> {
    for (leaf, opened) in job.await?? {
        tree.push(leaf);
        take(opened);
    }
    Ok(())
}
