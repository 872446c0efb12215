//! The log itself: entries, tree and checkpoint over a storage, without HTTP.

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use siegel_ident::Digest;
use siegel_translog::checkpoint::log_id;
use siegel_translog::{HashedRekord, InclusionProof, LogAnchors, TlogEntry, Tree};

use crate::MAX_ARCHIVED;
use crate::cosigner::{Cosigner, Nobody};
use crate::error::RekorError;
use crate::log_key::LogKey;
use crate::recover::recover;
use crate::store::{self, Storage, Store};
use crate::writer::Writer;

/// Entries per full tile.
pub(crate) const TILE_WIDTH: u64 = 256;

/// A transparency log and its archive. A handle: clones share the log, which closes with the last.
#[derive(Clone)]
pub struct Log {
    shared: Arc<Shared>,
    writer: Arc<Writer>,
}

/// What readers and the writer share.
pub(crate) struct Shared {
    pub(crate) key: LogKey,
    pub(crate) store: Box<dyn Store>,
    pub(crate) published: RwLock<Published>,
}

/// The log as the world sees it. `tree` and `bodies` may already hold more than `size` entries,
/// but nothing is answered from beyond the checkpoint.
pub(crate) struct Published {
    pub(crate) size: u64,
    pub(crate) root: Digest,
    pub(crate) note: String,
    pub(crate) tree: Tree,
    /// Offset in the storage and length of each body.
    pub(crate) bodies: Vec<(u64, u32)>,
}

impl Log {
    /// Opens a log: an empty one, or the one in the folder, which must be this key's.
    ///
    /// # Errors
    /// [`RekorError::Damaged`] if the folder has fewer or other entries than its checkpoint says,
    /// or is another key's; [`RekorError::Locked`] if another process serves it;
    /// [`RekorError::Io`]. A record torn by a kill was never acknowledged and is dropped.
    pub fn open(storage: &Storage, key: LogKey) -> Result<Self, RekorError> {
        Self::over(store::open(storage)?, key)
    }

    /// As [`Self::open`], for a log that collects cosignatures before it publishes.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_with(
        storage: &Storage,
        key: LogKey,
        cosigner: Arc<dyn Cosigner>,
    ) -> Result<Self, RekorError> {
        Self::with(store::open(storage)?, key, cosigner)
    }

    pub(crate) fn over(store: Box<dyn Store>, key: LogKey) -> Result<Self, RekorError> {
        Self::with(store, key, Arc::new(Nobody))
    }

    fn with(
        store: Box<dyn Store>,
        key: LogKey,
        cosigner: Arc<dyn Cosigner>,
    ) -> Result<Self, RekorError> {
        let (published, known) = recover(&*store, &key)?;
        let published = RwLock::new(published);
        let shared = Arc::new(Shared {
            key,
            store,
            published,
        });
        let writer = Writer::start(Arc::clone(&shared), known, cosigner)?;
        Ok(Self {
            shared,
            writer: Arc::new(writer),
        })
    }

    /// What a verifier would pin.
    pub fn anchors(&self) -> LogAnchors {
        self.shared.key.anchors()
    }

    /// The signed note of the published log.
    pub fn checkpoint(&self) -> String {
        self.shared.published().note.clone()
    }

    /// Number of published entries.
    pub fn size(&self) -> u64 {
        self.shared.published().size
    }

    /// Adds an entry and returns it with a proof for exactly the published checkpoint, once both
    /// are durable. The same entry again returns the one that is there.
    ///
    /// The caller has checked the signature.
    ///
    /// # Errors
    /// [`RekorError::StorageFull`], [`RekorError::Io`]: nothing was added.
    /// [`RekorError::Stopped`]: the log must be restarted.
    pub async fn submit(&self, record: &HashedRekord) -> Result<TlogEntry, RekorError> {
        let (index, body) = self.writer.submit(record).await?;
        self.shared.prove(index, body)
    }

    /// Publishes the checkpoint of now again, with fresh cosignatures.
    ///
    /// # Errors
    /// [`RekorError::StorageFull`], [`RekorError::Io`]: the old one stays. [`RekorError::Stopped`].
    pub async fn refresh(&self) -> Result<(), RekorError> {
        self.writer.refresh().await
    }

    /// Stores an object of the archive, durably; true if it is new.
    ///
    /// # Errors
    /// [`RekorError::TooLong`], [`RekorError::OtherBytes`], [`RekorError::StorageFull`],
    /// [`RekorError::Io`].
    pub async fn archive_put(&self, digest: Digest, bytes: Vec<u8>) -> Result<bool, RekorError> {
        if bytes.len() > MAX_ARCHIVED {
            return Err(RekorError::TooLong {
                what: "an archived object",
                max: MAX_ARCHIVED,
            });
        }
        self.blocking(move |shared| {
            same_bytes(&digest, &bytes)?;
            shared.store.archive_put(&digest, &bytes)
        })
        .await
    }

    /// The object with this digest.
    ///
    /// # Errors
    /// [`RekorError::NotFound`]; [`RekorError::OtherBytes`] if it has rotted; [`RekorError::Io`].
    pub async fn archive_get(&self, digest: Digest) -> Result<Vec<u8>, RekorError> {
        self.blocking(move |shared| {
            let found = shared.store.archive_get(&digest)?;
            let bytes = found.ok_or_else(|| RekorError::NotFound(format!("object {digest}")))?;
            same_bytes(&digest, &bytes)?;
            Ok(bytes)
        })
        .await
    }

    /// `width` hashes of tile `index` at tile level `level`; `None` if not all are published.
    pub(crate) fn tile(&self, level: u32, index: u64, width: u64) -> Option<Vec<u8>> {
        let published = self.shared.published();
        let tree_level = level.checked_mul(8).filter(|level| *level < 64)?;
        let first = index.checked_mul(TILE_WIDTH)?;
        let last = first.checked_add(width)?;
        if last > published.size >> tree_level {
            return None;
        }
        let mut bytes = Vec::with_capacity(width as usize * Digest::LEN);
        for node in first..last {
            bytes.extend_from_slice(published.tree.node(tree_level, node)?.as_bytes());
        }
        Some(bytes)
    }

    /// `width` entries of bundle `index`, each `u16 length ‖ body`; `None` if not all are
    /// published.
    pub(crate) async fn entries(
        &self,
        index: u64,
        width: u64,
    ) -> Result<Option<Vec<u8>>, RekorError> {
        let Some(first) = index.checked_mul(TILE_WIDTH) else {
            return Ok(None);
        };
        self.blocking(move |shared| {
            let Some(bodies) = shared.bodies(first, width) else {
                return Ok(None);
            };
            let (Some((start, _)), Some((last, len))) = (bodies.first(), bodies.last()) else {
                return Ok(None);
            };
            let span = (last - start) as usize + *len as usize;
            let raw = shared.store.entries_read(*start, span)?;
            let mut bundle = Vec::with_capacity(span);
            for (offset, len) in &bodies {
                let at = (offset - start) as usize;
                let body = raw.get(at..at + *len as usize).unwrap_or_default();
                bundle.extend_from_slice(&(body.len() as u16).to_be_bytes());
                bundle.extend_from_slice(body);
            }
            Ok(Some(bundle))
        })
        .await
    }

    /// The bodies of entries `from..to`.
    pub(crate) async fn bodies(&self, from: u64, to: u64) -> Result<Vec<Vec<u8>>, RekorError> {
        self.blocking(move |shared| {
            let missing = || RekorError::NotFound(format!("entries {from} to {to}"));
            let width = to.checked_sub(from).ok_or_else(missing)?;
            let bodies = shared.bodies(from, width).ok_or_else(missing)?;
            bodies
                .iter()
                .map(|(at, len)| shared.store.entries_read(*at, *len as usize))
                .collect()
        })
        .await
    }

    /// The state between writing and publishing, for tests.
    #[cfg(test)]
    pub(crate) fn put_unpublished(&self, record: &HashedRekord) {
        let mut published = self.shared.published.write().unwrap();
        let first = published.bodies[0];
        published.tree.push(record.leaf());
        published.bodies.push(first);
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Shared) -> Result<T, RekorError> + Send + 'static,
    ) -> Result<T, RekorError> {
        let shared = Arc::clone(&self.shared);
        tokio::task::spawn_blocking(move || work(&shared))
            .await
            .map_err(|_| RekorError::Busy)?
    }
}

impl Shared {
    pub(crate) fn published(&self) -> RwLockReadGuard<'_, Published> {
        self.published
            .read()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// The entry with a proof that leads to exactly the published checkpoint, taken under one
    /// lock: never a newer root with an older note.
    fn prove(&self, index: u64, body: Vec<u8>) -> Result<TlogEntry, RekorError> {
        let published = self.published();
        let hashes = published
            .tree
            .inclusion_proof(index, published.size)
            .ok_or_else(|| RekorError::NotFound(format!("entry {index}")))?;
        Ok(TlogEntry {
            log_index: index,
            log_id: log_id(self.key.origin(), &self.key.public_key()),
            proof: InclusionProof::new(
                index,
                published.size,
                published.root,
                hashes,
                published.note.clone(),
            ),
            canonicalized_body: body,
        })
    }

    fn bodies(&self, first: u64, width: u64) -> Option<Vec<(u64, u32)>> {
        let published = self.published();
        let last = first
            .checked_add(width)
            .filter(|last| *last <= published.size)?;
        published
            .bodies
            .get(first as usize..last as usize)
            .map(<[_]>::to_vec)
    }
}

/// Checks an object against its name (I2).
pub(crate) fn same_bytes(stated: &Digest, bytes: &[u8]) -> Result<(), RekorError> {
    let found = Digest::of(bytes);
    if found == *stated {
        return Ok(());
    }
    Err(RekorError::OtherBytes {
        stated: *stated,
        found,
    })
}
