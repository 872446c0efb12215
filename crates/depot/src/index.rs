//! Which uploads there are, by policy and epoch. Kept in memory, rebuilt from the store's own paths
//! at start: there is no second truth that a kill could leave behind (I8).

use std::collections::BTreeMap;

use siegel_ident::{BlobDigest, EpochId, PolicyDigest};

/// About 60 bytes per upload.
#[derive(Default)]
pub struct Index {
    uploads: BTreeMap<BlobDigest, u32>,
    groups: Vec<(PolicyDigest, EpochId)>,
}

impl Index {
    /// Adds an upload; a second time changes nothing.
    pub fn add(&mut self, digest: BlobDigest, policy: PolicyDigest, epoch: EpochId) {
        let group = self.group(policy, epoch);
        self.uploads.entry(digest).or_insert(group);
    }

    /// Where an upload lies.
    pub fn find(&self, digest: &BlobDigest) -> Option<(PolicyDigest, EpochId)> {
        self.groups
            .get(*self.uploads.get(digest)? as usize)
            .copied()
    }

    /// The uploads of one policy and epoch, ascending.
    pub fn list(&self, policy: PolicyDigest, epoch: EpochId) -> Vec<BlobDigest> {
        let Some(wanted) = self.groups.iter().position(|g| *g == (policy, epoch)) else {
            return Vec::new();
        };
        let of_group = self
            .uploads
            .iter()
            .filter(|(_, group)| **group as usize == wanted);
        of_group.map(|(digest, _)| *digest).collect()
    }

    /// How many uploads there are.
    pub fn len(&self) -> usize {
        self.uploads.len()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.uploads.is_empty()
    }

    fn group(&mut self, policy: PolicyDigest, epoch: EpochId) -> u32 {
        // Few groups: one per policy and day.
        let at = self
            .groups
            .iter()
            .position(|g| *g == (policy, epoch))
            .unwrap_or_else(|| {
                self.groups.push((policy, epoch));
                self.groups.len() - 1
            });
        at as u32
    }
}
