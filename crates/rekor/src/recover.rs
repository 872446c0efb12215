//! Taking up a log again: what is in its storage, and is it what the checkpoint promised?

use bytes::Bytes;
use futures::{StreamExt as _, TryStreamExt as _};
use siegel_store::Store;
use siegel_translog::merkle::leaf_hash;
use siegel_translog::tiles::{
    Level, MAX_ENTRIES, MAX_HASHES, WIDTH, grown, parse_entries, parse_hashes,
};
use siegel_translog::{Checkpoint, TilePath, Tree};

use crate::cosigner::is_signature_line;
use crate::error::RekorError;
use crate::known::Known;
use crate::log::Published;
use crate::log_key::LogKey;
use crate::publish::{drop_partials, save_checkpoint};
use crate::store::{read_checkpoint, read_pending, tile_path, without_checkpoint};
use crate::writer::BATCH;

/// Numbers of entries are kept in 32 bits, and one of them means none.
pub(crate) const MOST_ENTRIES: u64 = u32::MAX as u64;
/// Tiles that are read beside each other.
const AT_ONCE: usize = 16;

/// A log as its checkpoint says it is.
pub(crate) struct Recovered {
    pub(crate) published: Published,
    /// Leaf hash to index: how a repeated entry is found.
    pub(crate) known: Known,
    /// The bodies of the last bundle, while it is not full.
    pub(crate) tail: Vec<Vec<u8>>,
}

/// Reads the checkpoint, then all hash tiles (32 bytes per entry, and an eighth of a percent more),
/// and the entries of the last bundle only. All of it was promised to the world: if one is missing or
/// another, nothing is repaired. What lies beyond the checkpoint was never acknowledged, and counts only if
/// witnesses were asked to cosign it.
pub(crate) async fn recover(store: &Store, key: &LogKey) -> Result<Recovered, RekorError> {
    let Some(note) = read_checkpoint(store).await? else {
        return start(store, key).await;
    };
    let foreign = |file| {
        let origin = key.origin().to_owned();
        move |why| RekorError::NotOwn {
            file,
            origin,
            why: Box::new(why),
        }
    };
    let read = own(&note, key).map_err(foreign("checkpoint"))?;
    let (mut note, mut checkpoint) = (note, read);
    // Witnesses may have cosigned more than was published: this log goes on from there, or they would
    // take it for two logs (I1). Its tiles were durable before.
    let pending = read_pending(store).await?;
    let shown = pending.map(|note| Ok((own(&note, key)?, note)));
    let adopted = shown.transpose().map_err(foreign("pending"))?;
    let adopted = adopted.filter(|(shown, _)| shown.size > checkpoint.size);
    let catches_up = adopted.is_some();
    if let Some((shown, its_note)) = adopted {
        (note, checkpoint) = (its_note, shown);
    }
    let size = checkpoint.size;
    if size >= MOST_ENTRIES {
        return Err(RekorError::Damaged(format!(
            "the checkpoint covers {size} entries, more than this log can hold"
        )));
    }
    let tree = read_tree(store, size).await?;
    if tree.root() != checkpoint.root {
        return Err(RekorError::Damaged(
            "the hash tiles are not those that the checkpoint covers: the log was rewritten, or \
             tile/0 is damaged; restore it from a copy"
                .to_owned(),
        ));
    }
    check_upper_levels(store, &tree).await?;
    let tail = read_tail(store, &tree).await?;
    let mut known = Known::default();
    let leaf = |index: u32| tree.node(0, index.into());
    for index in 0..size as u32 {
        if let Some(digest) = leaf(index) {
            known.insert(&digest, index, leaf);
        }
    }
    if catches_up {
        save_checkpoint(store, &note).await?;
    }
    // A kill may have come before these were removed.
    drop_partials(store, size.saturating_sub(BATCH as u64 + 256), size).await;
    let root = checkpoint.root;
    let published = Published {
        size,
        root,
        note,
        tree,
    };
    Ok(Recovered {
        published,
        known,
        tail,
    })
}

/// Without a checkpoint nothing was ever promised, so storage with tiles in it is not ours to go on
/// with.
async fn start(store: &Store, key: &LogKey) -> Result<Recovered, RekorError> {
    let found = store.list("tile").try_next().await;
    if found.map_err(RekorError::store("tiles"))?.is_some() {
        return Err(without_checkpoint());
    }
    let tree = Tree::new();
    let (size, root) = (0, tree.root());
    let note = key.sign(size, root);
    save_checkpoint(store, &note).await?;
    Ok(Recovered {
        published: Published {
            size,
            root,
            note,
            tree,
        },
        known: Known::default(),
        tail: Vec::new(),
    })
}

/// The checkpoint by this log's own signature, which comes first. Cosignatures vouch for it to
/// others; here they only have to be lines of that form.
fn own(note: &str, key: &LogKey) -> Result<Checkpoint, siegel_translog::ProofError> {
    let signatures = note.find("\n\n").map_or(note.len(), |at| at + 2);
    let end = note.get(signatures..).and_then(|lines| lines.find('\n'));
    let (own, others) = match end.and_then(|end| note.split_at_checked(signatures + end + 1)) {
        Some((own, others)) if others.lines().all(is_signature_line) => (own, others),
        _ => (note, ""),
    };
    tracing::debug!(cosignatures = others.lines().count(), "checkpoint read");
    Checkpoint::verify_note(own, key.origin(), &key.public_key())
}

/// The tree over the leaf hashes in the lowest tiles.
async fn read_tree(store: &Store, size: u64) -> Result<Tree, RekorError> {
    let mut tiles = grown(0, size);
    tiles.retain(|tile| tile.level == Level::Hashes(0));
    let read = futures::stream::iter(tiles).map(|tile| async move {
        let bytes = read_tile(store, &tile, MAX_HASHES).await?;
        let hashes = parse_hashes(&bytes).filter(|hashes| hashes.len() as u64 == tile.width);
        hashes.ok_or_else(|| damaged(&tile, "is no hash tile of this width"))
    });
    let mut read = read.buffered(AT_ONCE);
    let mut tree = Tree::new();
    while let Some(hashes) = read.try_next().await? {
        for leaf in hashes {
            tree.push(leaf);
        }
    }
    Ok(tree)
}

/// They follow from the lowest level; others may read them.
async fn check_upper_levels(store: &Store, tree: &Tree) -> Result<(), RekorError> {
    for tile in grown(0, tree.size()) {
        if let Level::Hashes(1..) = tile.level {
            let bytes = read_tile(store, &tile, MAX_HASHES).await?;
            if tree.hash_tile(&tile).as_deref() != Some(&bytes[..]) {
                return Err(damaged(&tile, "does not follow from the tiles below it"));
            }
        }
    }
    Ok(())
}

/// The bodies of the last bundle, unless it is full: it will grow.
async fn read_tail(store: &Store, tree: &Tree) -> Result<Vec<Vec<u8>>, RekorError> {
    let size = tree.size();
    let Some(tile) = Level::Entries.tile(size / WIDTH, size) else {
        return Ok(Vec::new());
    };
    let bytes = read_tile(store, &tile, MAX_ENTRIES).await?;
    check_entries(&tile, &bytes, tree)
}

/// The entries of a bundle, which must be those whose leaf hashes the tree holds.
pub(crate) fn check_entries(
    tile: &TilePath,
    bytes: &[u8],
    tree: &Tree,
) -> Result<Vec<Vec<u8>>, RekorError> {
    let bodies = parse_entries(bytes).filter(|bodies| bodies.len() as u64 == tile.width);
    let bodies = bodies.ok_or_else(|| damaged(tile, "is no entry bundle of this width"))?;
    for (index, body) in (tile.index * WIDTH..).zip(&bodies) {
        if tree.node(0, index) != Some(leaf_hash(body)) {
            return Err(damaged(tile, "holds another entry than was logged"));
        }
    }
    Ok(bodies)
}

async fn read_tile(store: &Store, tile: &TilePath, max: usize) -> Result<Bytes, RekorError> {
    let read = store.get_at_most(&tile_path(tile), max as u64).await;
    let found = read.map_err(RekorError::store("a tile"))?;
    found.ok_or_else(|| damaged(tile, "is missing"))
}

pub(crate) fn damaged(tile: &TilePath, why: &str) -> RekorError {
    RekorError::Damaged(format!("tile/{tile} {why}: restore it from a copy"))
}
