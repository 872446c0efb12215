//! The log itself: entries, tree and checkpoint over a storage, without HTTP.

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use siegel_ident::Digest;
use siegel_store::Store;
use siegel_translog::checkpoint::log_id;
use siegel_translog::tiles::{Level, MAX_ENTRIES, WIDTH, push_entry};
use siegel_translog::{HashedRekord, InclusionProof, LogAnchors, TilePath, TlogEntry, Tree};

use crate::MAX_ARCHIVED;
use crate::archive::{Archive, Packs};
use crate::cosigner::{Cosigner, Nobody};
use crate::error::RekorError;
use crate::io::Io;
use crate::log_key::LogKey;
use crate::recover::{check_entries, damaged};
use crate::store::{Lock, Storage, tile_path};
use crate::writer::Writer;

/// How often a bundle is looked for that was published under another width meanwhile.
const TRIES: usize = 8;

/// A transparency log and its archive. A handle: clones share the log, which closes with the last.
#[derive(Clone)]
pub struct Log {
    shared: Arc<Shared>,
    archive: Arc<Archive>,
    writer: Arc<Writer>,
    /// The last to go.
    _lock: Lock,
}

/// What readers and the writer share.
pub(crate) struct Shared {
    pub(crate) key: LogKey,
    pub(crate) store: Store,
    pub(crate) published: RwLock<Published>,
}

/// The log as the world sees it. `tree` may already hold more than `size` entries, but nothing is
/// answered from beyond the checkpoint.
pub(crate) struct Published {
    pub(crate) size: u64,
    pub(crate) root: Digest,
    pub(crate) note: String,
    pub(crate) tree: Tree,
}

impl Log {
    /// Opens a log without witnesses: an empty one, or the one in the folder, which must be this
    /// key's. Reads its hash tiles, 32 bytes per entry; not its entries.
    ///
    /// # Errors
    /// [`RekorError::Damaged`] if the folder has fewer or other tiles than its checkpoint says, a
    /// damaged pack in its archive, or is another key's; [`RekorError::OldFormat`];
    /// [`RekorError::Locked`] if another process serves it; [`RekorError::Io`]. What lies beyond the
    /// checkpoint was never acknowledged, and does not count.
    pub fn open(storage: &Storage, key: LogKey) -> Result<Self, RekorError> {
        Self::open_with(storage, key, Arc::new(Nobody))
    }

    /// As [`Self::open`], for a log that collects cosignatures before it publishes. The checkpoint
    /// that is there stays as it is until the log grows, or [`Self::refresh`] is called.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_with(
        storage: &Storage,
        key: LogKey,
        cosigner: Arc<dyn Cosigner>,
    ) -> Result<Self, RekorError> {
        let (store, lock) = storage.open()?;
        Self::over(store, lock, key, cosigner)
    }

    pub(crate) fn over(
        store: Store,
        lock: Lock,
        key: LogKey,
        cosigner: Arc<dyn Cosigner>,
    ) -> Result<Self, RekorError> {
        let (writer, shared) = Writer::start(store.clone(), key, cosigner)?;
        // On a thread of its own: this one may belong to a runtime.
        let opened = std::thread::spawn(move || Io::new()?.run(Packs::open(store))).join();
        let packs = opened.map_err(|_| RekorError::Stopped)??;
        Ok(Self {
            shared,
            archive: Arc::new(Archive::start(packs)?),
            writer: Arc::new(writer),
            _lock: lock,
        })
    }

    /// What a verifier would pin of the log alone, as [`LogKey::anchors`].
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

    /// Publishes the current checkpoint again, with fresh cosignatures and no new entries; durable
    /// when this returns.
    ///
    /// # Errors
    /// [`RekorError::StorageFull`], [`RekorError::Io`]: the old one stays. [`RekorError::Stopped`].
    pub async fn refresh(&self) -> Result<(), RekorError> {
        self.writer.refresh().await
    }

    /// Stores an object of the archive, durably; true if it is new, or was rotten.
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
        same_bytes(&digest, &bytes)?;
        self.archive.put(digest, bytes).await
    }

    /// The object with this digest.
    ///
    /// # Errors
    /// [`RekorError::NotFound`]; [`RekorError::OtherBytes`] if it has rotted; [`RekorError::Io`].
    pub async fn archive_get(&self, digest: Digest) -> Result<Vec<u8>, RekorError> {
        self.archive.get(&digest).await
    }

    /// The bytes of a hash tile; `None` if not all of it is published.
    pub(crate) fn tile(&self, level: u32, index: u64, width: u64) -> Option<Vec<u8>> {
        let published = self.shared.published();
        let tile = Level::Hashes(level).tile(index, published.size)?;
        let asked = TilePath { width, ..tile };
        (width <= tile.width).then(|| published.tree.hash_tile(&asked))?
    }

    /// `width` entries of bundle `index`, each `u16 length ‖ body`; `None` if not all are
    /// published.
    pub(crate) async fn entries(
        &self,
        index: u64,
        width: u64,
    ) -> Result<Option<Vec<u8>>, RekorError> {
        let Some(bodies) = self.shared.bundle(index, width).await? else {
            return Ok(None);
        };
        let mut bundle = Vec::new();
        for body in bodies.iter().take(width as usize) {
            push_entry(&mut bundle, body);
        }
        Ok(Some(bundle))
    }

    /// The bodies of entries `from..to`.
    pub(crate) async fn bodies(&self, from: u64, to: u64) -> Result<Vec<Vec<u8>>, RekorError> {
        let missing = || RekorError::NotFound(format!("entries {from} to {to}"));
        if from > to || to > self.size() {
            return Err(missing());
        }
        let mut bodies = Vec::new();
        let mut next = from;
        while next < to {
            let (index, skip) = (next / WIDTH, next % WIDTH);
            let width = (to - index * WIDTH).min(WIDTH);
            let bundle = self.shared.bundle(index, width).await?;
            let bundle = bundle.ok_or_else(missing)?;
            bodies.extend(bundle.into_iter().take(width as usize).skip(skip as usize));
            next = index * WIDTH + width;
        }
        Ok(bodies)
    }

    /// The state between writing and publishing, for tests.
    #[cfg(test)]
    pub(crate) fn put_unpublished(&self, record: &HashedRekord) {
        let mut published = self.shared.published.write().unwrap();
        published.tree.push(record.leaf());
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

    /// The entries of a bundle as it is published, at least `width` of them, checked against their
    /// leaf hashes; `None` if there are not so many.
    async fn bundle(&self, index: u64, width: u64) -> Result<Option<Vec<Vec<u8>>>, RekorError> {
        let mut last = None;
        for _ in 0..TRIES {
            let size = self.published().size;
            let published = Level::Entries.tile(index, size);
            let Some(tile) = published.filter(|tile| tile.width >= width) else {
                return Ok(None);
            };
            let path = tile_path(&tile);
            let read = self.store.get_at_most(&path, MAX_ENTRIES as u64);
            if let Some(bytes) = read.await.map_err(RekorError::store("log entries"))? {
                return check_entries(&tile, &bytes, &self.published().tree).map(Some);
            }
            // It may have become full, and its narrow form was removed.
            if last.replace(tile) == Some(tile) {
                return Err(damaged(&tile, "is missing"));
            }
        }
        Err(RekorError::Busy)
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
