//! Which uploads there are and where they lie. Kept in memory, rebuilt from the segments'
//! directories at start: there is no second truth that a kill could leave behind (I8).

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use siegel_ident::{BlobDigest, Digest, EpochId, PolicyDigest};

use crate::segment::Directory;

/// About 110 bytes per upload.
#[derive(Default)]
pub struct Index {
    uploads: BTreeMap<BlobDigest, Place>,
    groups: BTreeMap<(PolicyDigest, EpochId), BTreeSet<BlobDigest>>,
    /// Names of the segments.
    segments: Vec<Digest>,
}

struct Place {
    /// Which of the segments.
    segment: u32,
    len: u32,
    at: u64,
}

impl Index {
    /// Adds the uploads of a segment. One that is known stays where it is.
    pub fn add(&mut self, segment: Digest, directory: &Directory) {
        let number = self.segments.len() as u32;
        self.segments.push(segment);
        for (entry, at) in directory.places() {
            self.uploads.entry(entry.digest).or_insert_with(|| {
                let group = self.groups.entry((entry.policy, entry.epoch));
                group.or_default().insert(entry.digest);
                Place {
                    segment: number,
                    len: entry.len,
                    at,
                }
            });
        }
    }

    /// Where an upload lies: the segment's name, and the bytes in it.
    pub fn find(&self, digest: &BlobDigest) -> Option<(Digest, Range<u64>)> {
        let place = self.uploads.get(digest)?;
        let segment = self.segments.get(place.segment as usize)?;
        Some((*segment, place.at..place.at + u64::from(place.len)))
    }

    /// The uploads of one policy and epoch, ascending.
    pub fn list(&self, policy: PolicyDigest, epoch: EpochId) -> Vec<BlobDigest> {
        let group = self.groups.get(&(policy, epoch));
        group.into_iter().flatten().copied().collect()
    }

    /// How many uploads there are.
    pub fn len(&self) -> usize {
        self.uploads.len()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.uploads.is_empty()
    }
}
