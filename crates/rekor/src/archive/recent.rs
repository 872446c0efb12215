//! Packs that were read whole, for a reader that goes through an archive in order.
//!
//! Objects that were written together lie together. Whoever asks for several of one pack gets the
//! pack once; whoever asks here and there gets ranges.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use siegel_ident::Digest;
use siegel_store::{Store, StoreError};

use super::packs::pack_path;

/// Packs in memory: at most so many, none longer than [`LONGEST`].
const KEPT: usize = 4;
/// A pack has about 8 MiB at most; a longer one is read by ranges.
const LONGEST: u64 = 18 * 1024 * 1024;
/// Asked so often lately, a pack is read whole.
const OFTEN: usize = 4;
/// What counts as lately.
const LATELY: usize = 32;

#[derive(Default)]
pub(crate) struct Recent(Mutex<Seen>);

#[derive(Default)]
struct Seen {
    asked: VecDeque<Digest>,
    kept: VecDeque<(Digest, Bytes)>,
}

impl Recent {
    /// The bytes in this range of a pack, unchecked; `None` if there is no such pack any more.
    ///
    /// # Errors
    /// As [`Store::get_range`].
    pub(crate) async fn read(
        &self,
        store: &Store,
        name: &Digest,
        range: Range<u64>,
    ) -> Result<Option<Bytes>, StoreError> {
        let (kept, whole) = self.ask(name);
        if let Some(bytes) = kept.and_then(|pack| part(&pack, &range)) {
            return Ok(Some(bytes));
        }
        if whole {
            match store.get_at_most(&pack_path(name), LONGEST).await {
                Ok(Some(pack)) => {
                    self.keep(name, pack.clone());
                    if let Some(bytes) = part(&pack, &range) {
                        return Ok(Some(bytes));
                    }
                }
                Ok(None) => return Ok(None),
                Err(StoreError::TooLong { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        store.get_range(&pack_path(name), range).await
    }

    /// Its bytes were not the right ones: the next look is at the store.
    pub(crate) fn forget(&self, name: &Digest) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        seen.kept.retain(|(kept, _)| kept != name);
    }

    /// The pack, if it is here; and whether it should be.
    fn ask(&self, name: &Digest) -> (Option<Bytes>, bool) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        seen.asked.push_back(*name);
        if seen.asked.len() > LATELY {
            seen.asked.pop_front();
        }
        let kept = seen.kept.iter().find(|(kept, _)| kept == name);
        let kept = kept.map(|(_, bytes)| bytes.clone());
        let often = seen.asked.iter().filter(|asked| *asked == name).count() >= OFTEN;
        (kept, often)
    }

    fn keep(&self, name: &Digest, pack: Bytes) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.kept.iter().any(|(kept, _)| kept == name) {
            return;
        }
        seen.kept.push_back((*name, pack));
        if seen.kept.len() > KEPT {
            seen.kept.pop_front();
        }
    }
}

fn part(pack: &Bytes, range: &Range<u64>) -> Option<Bytes> {
    let (start, end) = (range.start as usize, range.end as usize);
    (start <= end && end <= pack.len()).then(|| pack.slice(start..end))
}
