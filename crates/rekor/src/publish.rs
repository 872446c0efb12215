//! From entries in memory to tiles and a checkpoint in the store.

use bytes::Bytes;
use futures::{StreamExt as _, TryStreamExt as _};
use siegel_store::Store;
use siegel_translog::tiles::{self, Level, WIDTH, grown};
use siegel_translog::{TilePath, Tree};

use crate::error::RekorError;
use crate::store::{checkpoint_path, pending_path, tile_path};

/// Writes that wait for their syncs beside each other.
const AT_ONCE: usize = 16;

/// Makes the tiles durable that a log gets or changes when it grows from `from` entries to all of the
/// tree's. `bodies` are those of the entries from the first one of bundle `from / 256` on.
///
/// A tile of the same name may be there: one that a killed process wrote for a checkpoint that it
/// never published. It is replaced, and was never served.
pub(crate) async fn write_tiles(
    store: &Store,
    tree: &Tree,
    from: u64,
    bodies: &[Vec<u8>],
) -> Result<(), RekorError> {
    let first = from / WIDTH * WIDTH;
    let mut writes = Vec::new();
    for tile in grown(from, tree.size()) {
        let bytes = match tile.level {
            Level::Hashes(_) => tree.hash_tile(&tile),
            Level::Entries => entries(bodies, first, &tile),
        };
        let missing = || RekorError::Damaged(format!("tile {tile} is not in memory"));
        writes.push((tile_path(&tile), Bytes::from(bytes.ok_or_else(missing)?)));
    }
    futures::stream::iter(writes)
        .map(Ok)
        .try_for_each_concurrent(AT_ONCE, |(path, bytes)| async move {
            store.replace(&path, [bytes]).await
        })
        .await
        .map_err(RekorError::store("log entries"))
}

fn entries(bodies: &[Vec<u8>], first: u64, tile: &TilePath) -> Option<Vec<u8>> {
    let at = (tile.index * WIDTH).checked_sub(first)? as usize;
    let mut bundle = Vec::new();
    for body in bodies.get(at..at + tile.width as usize)? {
        tiles::push_entry(&mut bundle, body).then_some(())?;
    }
    Some(bundle)
}

/// Replaces the checkpoint, durably.
pub(crate) async fn save_checkpoint(store: &Store, note: &str) -> Result<(), RekorError> {
    let bytes = Bytes::copy_from_slice(note.as_bytes());
    let saved = store.replace(&checkpoint_path(), [bytes]).await;
    saved.map_err(RekorError::store("the checkpoint"))
}

/// Makes a checkpoint durable before witnesses see it.
pub(crate) async fn save_pending(store: &Store, note: &str) -> Result<(), RekorError> {
    let bytes = Bytes::copy_from_slice(note.as_bytes());
    let saved = store.replace(&pending_path(), [bytes]).await;
    saved.map_err(RekorError::store("the pending checkpoint"))
}

/// Takes back what was written for a checkpoint that was not published. What stays does no harm: it
/// is written again before it is ever served.
pub(crate) async fn take_back(store: &Store, from: u64, to: u64) {
    for tile in grown(from, to) {
        if let Err(error) = store.delete(&tile_path(&tile)).await {
            tracing::warn!(%error, %tile, "an unpublished tile was not removed");
        }
    }
}

/// Removes the narrow forms of tiles that became full between `from` and `to` entries, the full ones
/// being published. What stays does no harm.
pub(crate) async fn drop_partials(store: &Store, from: u64, to: u64) {
    for old in grown(from, to)
        .into_iter()
        .filter(|tile| tile.width == WIDTH)
    {
        let prefix = format!("{}.p", tile_path(&old));
        let removed = store
            .list(&prefix)
            .try_for_each(|object| async move { store.delete(&object.location).await });
        if let Err(error) = removed.await {
            tracing::warn!(%error, tile = %old, "partial tiles were not removed");
        }
    }
}
