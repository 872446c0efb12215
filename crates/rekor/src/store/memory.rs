//! Storage that is gone with the process.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use siegel_ident::Digest;

use super::Store;
use crate::error::RekorError;

/// Everything in one lock; readers copy out.
#[derive(Default)]
pub(crate) struct Memory(Mutex<Content>);

#[derive(Default)]
struct Content {
    entries: Vec<u8>,
    checkpoint: Option<String>,
    archive: BTreeMap<Digest, Vec<u8>>,
}

impl Memory {
    fn content(&self) -> MutexGuard<'_, Content> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for Memory {
    fn entries_len(&self) -> Result<u64, RekorError> {
        Ok(self.content().entries.len() as u64)
    }

    fn entries_read(&self, offset: u64, len: usize) -> Result<Vec<u8>, RekorError> {
        let content = self.content();
        let start = offset as usize;
        let found = content
            .entries
            .get(start..start.saturating_add(len))
            .map(<[u8]>::to_vec);
        found.ok_or_else(|| RekorError::NotFound(format!("{len} bytes of entries at {offset}")))
    }

    fn entries_append(&self, bytes: &[u8]) -> Result<(), RekorError> {
        self.content().entries.extend_from_slice(bytes);
        Ok(())
    }

    fn entries_truncate(&self, len: u64) -> Result<(), RekorError> {
        self.content().entries.truncate(len as usize);
        Ok(())
    }

    fn checkpoint_save(&self, note: &str) -> Result<(), RekorError> {
        self.content().checkpoint = Some(note.to_owned());
        Ok(())
    }

    fn checkpoint_load(&self) -> Result<Option<String>, RekorError> {
        Ok(self.content().checkpoint.clone())
    }

    fn archive_put(&self, digest: &Digest, bytes: &[u8]) -> Result<bool, RekorError> {
        Ok(self
            .content()
            .archive
            .insert(*digest, bytes.to_vec())
            .is_none())
    }

    fn archive_get(&self, digest: &Digest) -> Result<Option<Vec<u8>>, RekorError> {
        Ok(self.content().archive.get(digest).cloned())
    }
}
