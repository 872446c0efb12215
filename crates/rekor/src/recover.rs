//! Taking up a log again: what is in the folder, and is it what the checkpoint promised?

use std::collections::BTreeMap;

use siegel_ident::Digest;
use siegel_translog::{Checkpoint, Tree};

use crate::error::RekorError;
use crate::log::Published;
use crate::log_key::LogKey;
use crate::store::{MAGIC, Store, scan};

/// Read at a time; more than twice the longest record.
const WINDOW: usize = 1024 * 1024;

/// Leaf hash to index: how a repeated entry is found.
pub(crate) type Known = BTreeMap<Digest, u64>;

/// Reads all entries, checks them against the last checkpoint, drops a torn tail, and signs a new
/// checkpoint if a kill came between entries and checkpoint.
///
/// Entries below the checkpoint's size were promised to the world: if one is missing or another,
/// nothing is repaired.
pub(crate) fn recover(store: &dyn Store, key: &LogKey) -> Result<(Published, Known), RekorError> {
    let promised = match store.checkpoint_load()? {
        Some(note) => Some(
            Checkpoint::verify_note(&note, key.origin(), &key.public_key()).map_err(|e| {
                RekorError::Damaged(format!("the checkpoint is not this log's own: {e}"))
            })?,
        ),
        None => None,
    };
    if promised.is_none() {
        start_file(store)?;
    }
    let mut found = read_entries(store)?;
    let promised_size = promised.as_ref().map_or(0, |checkpoint| checkpoint.size);
    if found.tree.size() < promised_size {
        return Err(RekorError::Damaged(format!(
            "the checkpoint covers {promised_size} entries, but only {} can be read: restore the \
             file `entries` from a copy",
            found.tree.size()
        )));
    }
    if let Some(checkpoint) = &promised
        && found.tree.root_at(checkpoint.size) != Some(checkpoint.root)
    {
        let why = "the entries are not those that the checkpoint covers: the log was rewritten";
        return Err(RekorError::Damaged(why.to_owned()));
    }
    if found.torn > 0 {
        tracing::warn!(
            bytes = found.torn,
            "dropping a torn record that was never acknowledged"
        );
        store.entries_truncate(found.end)?;
    }

    let (size, root) = (found.tree.size(), found.tree.root());
    let note = key.sign(size, root);
    store.checkpoint_save(&note)?;
    let bodies = std::mem::take(&mut found.bodies);
    Ok((
        Published {
            size,
            root,
            note,
            tree: found.tree,
            bodies,
        },
        found.known,
    ))
}

/// Writes the magic of a new file. Without a checkpoint nothing was ever promised, so a file with
/// entries in it is not ours to continue.
fn start_file(store: &dyn Store) -> Result<(), RekorError> {
    let len = store.entries_len()?;
    if len > MAGIC.len() as u64 {
        let why = "there are entries but no checkpoint: restore the file `checkpoint`";
        return Err(RekorError::Damaged(why.to_owned()));
    }
    if len < MAGIC.len() as u64 {
        store.entries_truncate(0)?;
        store.entries_append(MAGIC)?;
    }
    Ok(())
}

struct Found {
    tree: Tree,
    bodies: Vec<(u64, u32)>,
    known: Known,
    /// Where the last whole record ends.
    end: u64,
    /// Bytes after it.
    torn: u64,
}

fn read_entries(store: &dyn Store) -> Result<Found, RekorError> {
    let len = store.entries_len()?;
    let magic = (MAGIC.len() as u64).min(len) as usize;
    if store.entries_read(0, magic)? != MAGIC {
        return Err(RekorError::Damaged(
            "the file `entries` is not a log's entry file".into(),
        ));
    }
    let mut found = Found {
        tree: Tree::new(),
        bodies: Vec::new(),
        known: Known::new(),
        end: magic as u64,
        torn: 0,
    };
    while found.end < len {
        let window = (len - found.end).min(WINDOW as u64) as usize;
        let bytes = store.entries_read(found.end, window)?;
        let mut at = 0;
        while let Some(record) = scan(&bytes, at) {
            let index = found.tree.push(record.leaf);
            found.known.insert(record.leaf, index);
            found
                .bodies
                .push((found.end + record.body_at as u64, record.body_len as u32));
            at = record.end();
        }
        if at == 0 {
            // A whole window without a record: the rest is torn, or worse.
            break;
        }
        found.end += at as u64;
    }
    found.torn = len - found.end;
    Ok(found)
}
