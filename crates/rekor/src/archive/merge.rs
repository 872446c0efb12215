//! Small packs become larger ones, so that their number stays small: at most seven of each size
//! class, and one of 8 MiB or more per 8 MiB.

use std::collections::BTreeMap;

use bytes::Bytes;
use siegel_ident::Digest;

use super::committer::write;
use super::index::{Index, Pack};
use super::pack::{MAX_OBJECTS, PackDirectory};
use super::packs::{Packs, pack_path};
use crate::error::RekorError;

/// So many packs of one class become one, of the next class.
const FAN: usize = 8;
/// A pack of this length is not merged any more: eight just below it are all that is read at once.
const LARGE: u64 = 8 * 1024 * 1024;
/// Merges at a time: a class that gets full by one fills the next.
const CASCADE: usize = 8;

/// Merges where there is something to merge.
///
/// The new pack is durable before the old ones go: a kill in the middle leaves objects in two places.
pub(super) async fn merge_some(packs: &Packs) -> Result<(), RekorError> {
    for _ in 0..CASCADE {
        let chosen = choose(&packs.index());
        if chosen.is_empty() {
            break;
        }
        merge(packs, &chosen).await?;
    }
    Ok(())
}

/// Packs of the smallest class that has enough of them.
fn choose(index: &Index) -> Vec<Pack> {
    let mut classes: BTreeMap<u32, Vec<Pack>> = BTreeMap::new();
    for pack in index.packs() {
        if pack.usable && pack.len < LARGE && pack.count <= MAX_OBJECTS / FAN {
            // Eight times as long is the next class.
            let class = pack.len.max(1).ilog2() / 3;
            classes.entry(class).or_default().push(*pack);
        }
    }
    let full = classes.into_values().find(|packs| packs.len() >= FAN);
    let mut full = full.unwrap_or_default();
    full.truncate(FAN);
    full
}

async fn merge(packs: &Packs, chosen: &[Pack]) -> Result<(), RekorError> {
    let mut objects: BTreeMap<Digest, Bytes> = BTreeMap::new();
    let mut merged: Vec<Digest> = Vec::new();
    for pack in chosen {
        match read(packs, pack).await? {
            Some(found) => {
                merged.push(pack.name);
                for (digest, bytes) in found {
                    // Of two copies, one may be rotten.
                    let good = Digest::of(&bytes) == digest;
                    if good || !objects.contains_key(&digest) {
                        objects.insert(digest, bytes);
                    }
                }
            }
            None => packs.index_mut().leave(&pack.name),
        }
    }
    if merged.len() < 2 {
        return Ok(());
    }
    let (name, directory) = write(packs, objects).await?;
    packs.index_mut().replace(&merged, name, &directory);
    for old in merged.iter().filter(|old| **old != name) {
        // One that stays is merged again after the next start.
        if let Err(error) = packs.store().delete(&pack_path(old)).await {
            tracing::warn!(%error, pack = %old, "a merged pack was not removed");
        }
    }
    Ok(())
}

/// All objects of a pack; `None` if it is not as it was written.
async fn read(packs: &Packs, pack: &Pack) -> Result<Option<Vec<(Digest, Bytes)>>, RekorError> {
    let path = pack_path(&pack.name);
    let read = packs.store().get_at_most(&path, LARGE);
    let failed = RekorError::store("a pack of the archive");
    let Some(bytes) = read.await.map_err(failed)? else {
        return Ok(None);
    };
    let Ok(directory) = PackDirectory::of_pack(&pack.name, &bytes) else {
        return Ok(None);
    };
    let object = |(entry, at): (&super::PackEntry, u64)| {
        let at = at as usize;
        (entry.digest, bytes.slice(at..at + entry.len as usize))
    };
    Ok(Some(directory.places().map(object).collect()))
}
