//! A log read from its folder, without a server. Nothing is locked or changed.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::{StreamExt as _, TryStreamExt as _};
use siegel_ident::Digest;
use siegel_store::Store;
use siegel_translog::TilePath;
use siegel_translog::tiles::{Level, MAX_ENTRIES, MAX_HASHES, WIDTH, parse_entries};

use crate::archive::Packs;
use crate::error::RekorError;
use crate::store::{read_checkpoint, refuse_old_format, tile_path};

/// Bundles that are read beside each other.
const AT_ONCE: usize = 4;
/// How often a bundle is looked for that was published under another width meanwhile.
const TRIES: usize = 8;

/// The folder of a log.
#[derive(Clone)]
pub struct FolderLog {
    dir: PathBuf,
    store: Store,
    packs: Arc<Packs>,
}

impl FolderLog {
    /// The log in this folder. A damaged checkpoint is no reason to refuse: that is for whoever
    /// reads it to judge.
    ///
    /// # Errors
    /// [`RekorError::NotFound`] unless it has a checkpoint; [`RekorError::OldFormat`];
    /// [`RekorError::Io`].
    pub fn open(dir: &Path) -> Result<Self, RekorError> {
        let none = || RekorError::NotFound(format!("a log in {}", dir.display()));
        let path = dir.join("checkpoint");
        match path.symlink_metadata() {
            Ok(_) => {}
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Err(none()),
            Err(e) => return Err(RekorError::io("reading", &path, e)),
        }
        refuse_old_format(dir)?;
        let store = Store::reading(dir).map_err(RekorError::store("the log folder"))?;
        Ok(Self {
            dir: dir.to_owned(),
            packs: Arc::new(Packs::following(store.clone())),
            store,
        })
    }

    /// The signed note, unverified.
    ///
    /// # Errors
    /// [`RekorError::NotFound`], [`RekorError::Damaged`], [`RekorError::Io`].
    pub async fn checkpoint(&self) -> Result<String, RekorError> {
        let note = read_checkpoint(&self.store).await?;
        note.ok_or_else(|| RekorError::NotFound(format!("a log in {}", self.dir.display())))
    }

    /// The bodies of entries `from..to`, unverified: not even the leaf hashes are looked at, the
    /// Merkle root will tell.
    ///
    /// # Errors
    /// [`RekorError::Damaged`] if there are not so many, or the bundle that should hold them does
    /// not; [`RekorError::Io`].
    pub async fn entries(&self, from: u64, to: u64) -> Result<Vec<Vec<u8>>, RekorError> {
        if from >= to {
            return Ok(Vec::new());
        }
        let parts = (from / WIDTH..=(to - 1) / WIDTH).map(|index| {
            let first = index * WIDTH;
            let width = (to - first).min(WIDTH);
            let skip = from.saturating_sub(first) as usize;
            async move {
                let bodies = self.bundle(index, width).await?;
                let wanted = bodies.into_iter().take(width as usize).skip(skip);
                Ok::<_, RekorError>(wanted)
            }
        });
        let parts: Vec<_> = futures::stream::iter(parts)
            .buffered(AT_ONCE)
            .try_collect()
            .await?;
        Ok(parts.into_iter().flatten().collect())
    }

    /// The bytes with this digest, checked. The archive's index is read once, and again when
    /// something is not found in it.
    ///
    /// # Errors
    /// [`RekorError::NotFound`]; [`RekorError::OtherBytes`]; [`RekorError::Damaged`] if it may be in
    /// a pack that cannot be read; [`RekorError::Io`].
    pub async fn archive_get(&self, digest: &Digest) -> Result<Vec<u8>, RekorError> {
        self.packs.get(digest).await
    }

    /// The bytes of a hash tile, unverified, and the tile that was found: this one, or the full one
    /// at its place.
    ///
    /// # Errors
    /// [`RekorError::NotFound`]; [`RekorError::Damaged`] if it is too long for a tile;
    /// [`RekorError::Io`].
    pub async fn hash_tile(&self, tile: TilePath) -> Result<(TilePath, Vec<u8>), RekorError> {
        // A narrow form is removed once the full one is published.
        for tile in [tile, tile.full()] {
            let path = tile_path(&tile);
            let read = self.store.get_at_most(&path, MAX_HASHES as u64).await;
            if let Some(bytes) = read.map_err(RekorError::store("a hash tile"))? {
                return Ok((tile, bytes.into()));
            }
        }
        let dir = self.dir.display();
        Err(RekorError::NotFound(format!("tile/{tile} in {dir}")))
    }

    /// At least `width` entries of a bundle. What the checkpoint says of its size only says where to
    /// look: it is not verified here.
    async fn bundle(&self, index: u64, width: u64) -> Result<Vec<Vec<u8>>, RekorError> {
        let missing = |why: &str| {
            let tile = TilePath {
                level: Level::Entries,
                index,
                width,
            };
            let dir = self.dir.display();
            RekorError::Damaged(format!(
                "{dir}: {width} entries of tile/{} {why}",
                tile.full()
            ))
        };
        let full = TilePath {
            level: Level::Entries,
            index,
            width: WIDTH,
        };
        for _ in 0..TRIES {
            let published = size_of(&self.checkpoint().await?).and_then(|size| {
                let tile = Level::Entries.tile(index, size);
                tile.filter(|tile| tile.width >= width)
            });
            let published = published.ok_or_else(|| missing("are not in the checkpoint"))?;
            // It may have become full since, and its narrow form was removed.
            for tile in [published, full] {
                let path = tile_path(&tile);
                let read = self.store.get_at_most(&path, MAX_ENTRIES as u64);
                let read = read.await.map_err(RekorError::store("log entries"))?;
                if let Some(bytes) = read {
                    let bodies = parse_entries(&bytes);
                    let enough = bodies.filter(|bodies| bodies.len() as u64 >= width);
                    return enough.ok_or_else(|| missing("are torn"));
                }
            }
        }
        Err(missing("are missing"))
    }
}

impl fmt::Debug for FolderLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FolderLog").field(&self.dir).finish()
    }
}

/// The second line of a note.
fn size_of(note: &str) -> Option<u64> {
    note.lines().nth(1)?.parse().ok()
}
