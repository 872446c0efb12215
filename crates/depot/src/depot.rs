//! Put, get and list.

use std::ops::Range;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use bytes::Bytes;
use futures::TryStreamExt as _;
use siegel_ident::{BlobDigest, Digest, EpochId, PolicyDigest};
use siegel_seal::UploadHeader;
use siegel_store::{ObjectMeta, Path};

use crate::committer::Committer;
use crate::index::Index;
use crate::segment::{Directory, Entry, PREAMBLE, SegmentError};
use crate::{DepotError, Kind, Store};

/// Directories that are read at once at start.
const READ_AT_ONCE: usize = 8;

/// Bounds against a sender that is broken or hostile.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Longest object in bytes. An upload of the largest padded size fits.
    pub max_object_bytes: usize,
    /// How long a put may go without data.
    pub idle: Duration,
    /// Puts held in memory at a time.
    pub concurrent_puts: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_object_bytes: 32 * 1024 * 1024,
            idle: Duration::from_secs(30),
            concurrent_puts: 64,
        }
    }
}

/// What became of a put. In both cases the object is durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PutOutcome {
    /// It is new.
    Stored,
    /// The same bytes were there already: a retry, or a second sender.
    Duplicate,
}

/// The depot, without its service. Clones share one store.
#[derive(Clone)]
pub struct Depot {
    store: Store,
    index: Arc<RwLock<Index>>,
    committer: Committer,
    limits: Limits,
}

impl Depot {
    /// Opens a store and rebuilds the index from the directories of its segments. Starts the task
    /// that writes; it ends with the last clone.
    ///
    /// # Errors
    /// A store that cannot be read, and a file among the segments that is none, or is damaged: the
    /// error names it. Uploads that were answered may be in it, so nobody may go on without it.
    pub async fn open(store: Store, limits: Limits) -> Result<Self, DepotError> {
        let index = read_index(&store).await?;
        tracing::info!(uploads = index.len(), "depot opened");
        let index = Arc::new(RwLock::new(index));
        Ok(Self {
            committer: Committer::start(store.clone(), index.clone()),
            store,
            index,
            limits,
        })
    }

    /// The bounds in force.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Checks and stores one object; it is durable when this returns.
    ///
    /// # Errors
    /// Bytes that are too long, have another digest, or are sent as an upload and are none; a full
    /// or failing store. Nothing is stored then.
    pub async fn put(
        &self,
        kind: Kind,
        claimed: Digest,
        bytes: Bytes,
    ) -> Result<PutOutcome, DepotError> {
        if bytes.len() > self.limits.max_object_bytes {
            return Err(DepotError::TooLong {
                max: self.limits.max_object_bytes,
            });
        }
        let got = Digest::of(&bytes);
        if got != claimed {
            return Err(DepotError::DigestMismatch { claimed, got });
        }
        if kind == Kind::Upload {
            let (header, _) = UploadHeader::parse(&bytes)?;
            let entry = Entry {
                digest: got.into(),
                policy: header.policy,
                epoch: header.epoch,
                len: bytes.len() as u32,
            };
            return self.committer.put(entry, bytes).await;
        }
        Ok(
            match self.store.put(&plain_path(kind, got), [bytes]).await? {
                true => PutOutcome::Duplicate,
                false => PutOutcome::Stored,
            },
        )
    }

    /// The object of this kind and digest. Readers check the digest themselves.
    pub async fn get(&self, kind: Kind, digest: Digest) -> Result<Bytes, DepotError> {
        let missing = DepotError::NotFound { kind, digest };
        let found = match kind {
            Kind::Upload => {
                let place = self.place(&digest.into());
                let Some((segment, bytes)) = place else {
                    return Err(missing);
                };
                let at = plain_path(Kind::Upload, segment);
                self.store.get_range(&at, bytes).await?
            }
            Kind::Sealed | Kind::Program | Kind::Plan | Kind::Inputs => {
                self.store.get(&plain_path(kind, digest)).await?
            }
        };
        found.ok_or(missing)
    }

    /// The length in bytes of an upload that is here.
    pub fn len_of(&self, upload: &BlobDigest) -> Option<u64> {
        let (_, bytes) = self.place(upload)?;
        Some(bytes.end - bytes.start)
    }

    fn place(&self, upload: &BlobDigest) -> Option<(Digest, Range<u64>)> {
        let index = self.index.read().unwrap_or_else(PoisonError::into_inner);
        index.find(upload)
    }

    /// Digests of the uploads of one policy and epoch, ascending.
    pub fn list(&self, policy: PolicyDigest, epoch: EpochId) -> Vec<BlobDigest> {
        self.index
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .list(policy, epoch)
    }
}

/// `KIND/HH/DIGEST`; HH keeps folders small.
pub(crate) fn plain_path(kind: Kind, digest: Digest) -> Path {
    let name = digest.to_string();
    let shard = name.get(..2).unwrap_or_default();
    Path::from(format!("{}/{shard}/{name}", kind.prefix()))
}

async fn read_index(store: &Store) -> Result<Index, DepotError> {
    let mut index = Index::default();
    let found = store.list(Kind::Upload.prefix());
    let read = found
        .map_err(DepotError::from)
        .map_ok(|object| read_segment(store, object))
        .try_buffer_unordered(READ_AT_ONCE);
    let mut read = std::pin::pin!(read);
    while let Some((name, directory)) = read.try_next().await? {
        index.add(name, &directory);
    }
    Ok(index)
}

/// Name and directory of a segment; its bodies are not read. They cannot be what another writer put
/// there unseen: whoever reads an upload checks its digest (I2).
async fn read_segment(
    store: &Store,
    object: ObjectMeta,
) -> Result<(Digest, Directory), DepotError> {
    let at = &object.location;
    let path = || at.to_string();
    let name = segment_at(at).ok_or_else(|| DepotError::Foreign { path: path() })?;
    let damaged = |why: SegmentError| DepotError::Damaged { path: path(), why };
    let first = async |len: usize| {
        let bytes = store.get_range(at, 0..object.size.min(len as u64));
        Ok::<_, DepotError>(bytes.await?.unwrap_or_default())
    };
    let len = Directory::len_of(&first(PREAMBLE).await?).map_err(damaged)?;
    let bytes = first(len).await?;
    let directory = Directory::parse(&bytes).map_err(damaged)?;
    let (found, expected) = (object.size, directory.total_len());
    if Digest::of(&bytes) != name {
        let found = Digest::of(&bytes);
        return Err(damaged(SegmentError::Name { found }));
    }
    if found != expected {
        return Err(damaged(SegmentError::Length { found, expected }));
    }
    Ok((name, directory))
}

fn segment_at(path: &Path) -> Option<Digest> {
    let name: Digest = path.filename()?.parse().ok()?;
    (plain_path(Kind::Upload, name) == *path).then_some(name)
}
