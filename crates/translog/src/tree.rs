//! A growing Merkle tree that proves in logarithmic time.

use siegel_ident::Digest;

use crate::merkle::{empty_root, node_hash};
use crate::nodes;
use crate::tiles::{HEIGHT, Level, TilePath, WIDTH};

/// All complete nodes of an RFC 6962 tree, level by level: about 64 bytes per leaf.
#[derive(Clone, Default)]
pub struct Tree {
    /// `levels[l][i]` is the root over leaves `i·2^l .. (i+1)·2^l`.
    levels: Vec<Vec<Digest>>,
}

impl Tree {
    /// A tree without leaves.
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of leaves.
    pub fn size(&self) -> u64 {
        self.levels.first().map_or(0, |leaves| leaves.len() as u64)
    }

    /// Adds a leaf by its leaf hash; returns its index.
    pub fn push(&mut self, leaf: Digest) -> u64 {
        let index = self.size();
        let mut node = Some(leaf);
        let mut level = 0;
        while let Some(hash) = node {
            if self.levels.len() == level {
                self.levels.push(Vec::new());
            }
            node = self.levels.get_mut(level).and_then(|nodes| {
                nodes.push(hash);
                // A second child completes its parent.
                match (nodes.len() % 2, nodes.as_slice()) {
                    (0, [.., left, right]) => Some(node_hash(left, right)),
                    _ => None,
                }
            });
            level += 1;
        }
        index
    }

    /// Forgets all leaves from `size` on.
    pub fn truncate(&mut self, size: u64) {
        for (level, nodes) in self.levels.iter_mut().enumerate() {
            nodes.truncate((size >> level) as usize);
        }
    }

    /// The root over all leaves.
    pub fn root(&self) -> Digest {
        self.root_at(self.size()).unwrap_or_else(empty_root)
    }

    /// The root over the first `size` leaves; `None` if there are fewer.
    pub fn root_at(&self, size: u64) -> Option<Digest> {
        nodes::root(|level, index| self.node(level, index), size)
    }

    /// The complete node `index` of `level` (0 = leaves).
    pub fn node(&self, level: u32, index: u64) -> Option<Digest> {
        let index = usize::try_from(index).ok()?;
        self.levels.get(level as usize)?.get(index).copied()
    }

    /// The bytes of a hash tile; `None` if not all of its nodes are complete, or it holds entries.
    pub fn hash_tile(&self, tile: &TilePath) -> Option<Vec<u8>> {
        let Level::Hashes(level) = tile.level else {
            return None;
        };
        let level = level
            .checked_mul(HEIGHT)
            .filter(|level| *level < u64::BITS)?;
        let first = tile.index.checked_mul(WIDTH)?;
        let mut bytes = Vec::new();
        for index in first..first.checked_add(tile.width)? {
            bytes.extend_from_slice(self.node(level, index)?.as_bytes());
        }
        Some(bytes)
    }

    /// The inclusion proof of leaf `index` in the tree of the first `size` leaves, lowest sibling
    /// first.
    pub fn inclusion_proof(&self, index: u64, size: u64) -> Option<Vec<Digest>> {
        nodes::inclusion(|level, index| self.node(level, index), index, size)
    }

    /// The proof that the first `from` leaves are a prefix of the first `to` (RFC 6962 2.1.2).
    pub fn consistency_proof(&self, from: u64, to: u64) -> Option<Vec<Digest>> {
        if to > self.size() {
            return None;
        }
        nodes::consistency(|level, index| self.node(level, index), from, to)
    }
}

impl FromIterator<Digest> for Tree {
    fn from_iter<I: IntoIterator<Item = Digest>>(leaves: I) -> Self {
        let mut tree = Self::new();
        for leaf in leaves {
            tree.push(leaf);
        }
        tree
    }
}
