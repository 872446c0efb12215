//! Tiles of C2SP tlog-tiles: their names, their bytes, and roots and proofs computed from them.
//!
//! A hash tile of level `L` holds up to 256 nodes of tree level `8·L`; an entry bundle holds up to 256
//! entries. A tile that is not full yet is named with its width, and gets a new name when it grows.

use std::collections::BTreeMap;
use std::fmt;

use siegel_ident::Digest;

use crate::merkle::node_hash;
use crate::nodes;

/// Nodes of a full hash tile, entries of a full bundle.
pub const WIDTH: u64 = 256;
/// Levels of the tree that a tile spans.
pub(crate) const HEIGHT: u32 = 8;
/// Levels of tiles of the largest tree.
const LEVELS: u32 = 8;
/// Longest entry bundle in bytes: 256 entries of 65,535 bytes with their lengths.
pub const MAX_ENTRIES: usize = WIDTH as usize * (2 + u16::MAX as usize);
/// Length of a full hash tile in bytes.
pub const MAX_HASHES: usize = WIDTH as usize * Digest::LEN;

/// Which tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TilePath {
    /// Hashes or entries.
    pub level: Level,
    /// Its place among the tiles of its level.
    pub index: u64,
    /// How many hashes or entries: 1 to 256.
    pub width: u64,
}

/// What a tile holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Hashes of a level of tiles (0 to 7; each spans eight levels of the tree).
    Hashes(u32),
    /// Entries.
    Entries,
}

impl Level {
    /// How many nodes or entries of this level a log of `size` entries has.
    fn items(self, size: u64) -> u64 {
        match self {
            Self::Hashes(level) => size.checked_shr(level * HEIGHT).unwrap_or(0),
            Self::Entries => size,
        }
    }

    /// The tile `index` of a log of `size` entries, as wide as it is there.
    pub fn tile(self, index: u64, size: u64) -> Option<TilePath> {
        let before = index.checked_mul(WIDTH)?;
        let width = self.items(size).checked_sub(before)?.min(WIDTH);
        (width > 0).then_some(TilePath {
            level: self,
            index,
            width,
        })
    }
}

impl TilePath {
    /// Reads the path behind `tile/`: `<level>/<index>[.p/<width>]`, where an index of more than
    /// three digits is `x001/x234/067`. `None` for any other spelling than that of `Display`.
    pub fn parse(path: &str) -> Option<Self> {
        let (level, rest) = path.split_once('/')?;
        let level = match level {
            "entries" => Level::Entries,
            level => Level::Hashes(decimal(level).filter(|l| *l < LEVELS.into())? as u32),
        };
        let (index, width) = match rest.split_once(".p/") {
            Some((index, width)) => (index, decimal(width).filter(|w| (1..WIDTH).contains(w))?),
            None => (rest, WIDTH),
        };
        let index = index.split('/').try_fold(0u64, |sum, group| {
            let digits = group.strip_prefix('x').unwrap_or(group);
            let three = digits.len() == 3 && digits.bytes().all(|b| b.is_ascii_digit());
            let value = three.then(|| digits.parse::<u64>().ok())??;
            sum.checked_mul(1000)?.checked_add(value)
        })?;
        let parsed = Self {
            level,
            index,
            width,
        };
        (parsed.to_string() == path).then_some(parsed)
    }

    /// The full tile at the same place.
    pub fn full(self) -> Self {
        Self {
            width: WIDTH,
            ..self
        }
    }
}

impl fmt::Display for TilePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.level {
            Level::Hashes(level) => write!(f, "{level}/")?,
            Level::Entries => write!(f, "entries/")?,
        }
        let mut groups = vec![self.index % 1000];
        let mut rest = self.index / 1000;
        while rest > 0 {
            groups.push(rest % 1000);
            rest /= 1000;
        }
        for group in groups.iter().skip(1).rev() {
            write!(f, "x{group:03}/")?;
        }
        write!(f, "{:03}", self.index % 1000)?;
        match self.width {
            WIDTH => Ok(()),
            width => write!(f, ".p/{width}"),
        }
    }
}

/// All tiles that a log gets or changes when it grows from `from` to `to` entries.
pub fn grown(from: u64, to: u64) -> Vec<TilePath> {
    let levels = (0..LEVELS).map(Level::Hashes).chain([Level::Entries]);
    let mut tiles = Vec::new();
    for level in levels {
        let (old, new) = (level.items(from), level.items(to));
        if new > old {
            let indices = old / WIDTH..=(new - 1) / WIDTH;
            tiles.extend(indices.filter_map(|index| level.tile(index, to)));
        }
    }
    tiles
}

/// Adds an entry to the bytes of a bundle: `u16 length ‖ body`. False if it is too long for one.
pub fn push_entry(bundle: &mut Vec<u8>, body: &[u8]) -> bool {
    let Ok(len) = u16::try_from(body.len()) else {
        return false;
    };
    bundle.extend_from_slice(&len.to_be_bytes());
    bundle.extend_from_slice(body);
    true
}

/// Reads an entry bundle; `None` if it is torn.
pub fn parse_entries(mut bytes: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut bodies = Vec::new();
    while !bytes.is_empty() {
        let (len, rest) = bytes.split_at_checked(2)?;
        let len = u16::from_be_bytes(len.try_into().ok()?);
        let (body, rest) = rest.split_at_checked(usize::from(len))?;
        bodies.push(body.to_vec());
        bytes = rest;
    }
    Some(bodies)
}

/// Reads a hash tile; `None` unless it has 1 to 256 whole hashes.
pub fn parse_hashes(bytes: &[u8]) -> Option<Vec<Digest>> {
    let whole =
        !bytes.is_empty() && bytes.len().is_multiple_of(Digest::LEN) && bytes.len() <= MAX_HASHES;
    let hashes = || bytes.chunks_exact(Digest::LEN).map(Digest::try_from_slice);
    whole.then(|| hashes().collect()).flatten()
}

/// Some hash tiles of a log, and what can be computed from them. Nothing of it is verified: a proof
/// from them is checked against a checkpoint like any other.
#[derive(Clone, Debug, Default)]
pub struct TileSet(BTreeMap<(u32, u64), Vec<Digest>>);

impl TileSet {
    /// The hash tiles that [`Self::inclusion_proof`] of `index` in a log of `size` entries reads, as
    /// wide as they are there.
    pub fn for_inclusion(index: u64, size: u64) -> Vec<TilePath> {
        needed(size, |node| nodes::inclusion(node, index, size))
    }

    /// The hash tiles that [`Self::consistency_proof`] reads, as wide as they are at size `to`.
    pub fn for_consistency(from: u64, to: u64) -> Vec<TilePath> {
        needed(to, |node| nodes::consistency(node, from, to))
    }

    /// The hash tiles that [`Self::root`] of the first `from` entries reads, as wide as they are at size
    /// `to`.
    pub fn for_root(from: u64, to: u64) -> Vec<TilePath> {
        needed(to, |node| nodes::root(node, from))
    }

    /// Adds the bytes of a tile, which may be wider than asked for, as when the log has grown.
    /// False if they are not those of a hash tile of at least this width.
    pub fn insert(&mut self, tile: TilePath, bytes: &[u8]) -> bool {
        let (Level::Hashes(level), Some(hashes)) = (tile.level, parse_hashes(bytes)) else {
            return false;
        };
        if (hashes.len() as u64) < tile.width {
            return false;
        }
        self.0.insert((level, tile.index), hashes);
        true
    }

    /// The inclusion proof of leaf `index` in the log of `size` entries; `None` if a tile is missing.
    pub fn inclusion_proof(&self, index: u64, size: u64) -> Option<Vec<Digest>> {
        nodes::inclusion(|level, index| self.node(level, index), index, size)
    }

    /// The proof that the first `from` entries are a prefix of the first `to`; `None` if a tile is
    /// missing.
    pub fn consistency_proof(&self, from: u64, to: u64) -> Option<Vec<Digest>> {
        nodes::consistency(|level, index| self.node(level, index), from, to)
    }

    /// The root over the first `size` entries; `None` if a tile is missing.
    pub fn root(&self, size: u64) -> Option<Digest> {
        nodes::root(|level, index| self.node(level, index), size)
    }

    fn node(&self, level: u32, index: u64) -> Option<Digest> {
        let (tile, first, count) = place(level, index)?;
        let hashes = self.0.get(&tile)?;
        let first = first as usize;
        let mut row = hashes.get(first..first + count as usize)?.to_vec();
        while row.len() > 1 {
            row = row
                .chunks_exact(2)
                .filter_map(|pair| match pair {
                    [left, right] => Some(node_hash(left, right)),
                    _ => None,
                })
                .collect();
        }
        row.pop()
    }
}

/// Level and index of the tile that holds a node or the hashes under it, and which these are.
fn place(level: u32, index: u64) -> Option<((u32, u64), u64, u64)> {
    let (tile_level, above) = (level / HEIGHT, level % HEIGHT);
    let first = index.checked_mul(1 << above)?;
    Some(((tile_level, first / WIDTH), first % WIDTH, 1 << above))
}

/// Which tiles a computation reads: it is done once over nodes that are all zero.
fn needed<T>(
    size: u64,
    compute: impl FnOnce(&mut dyn FnMut(u32, u64) -> Option<Digest>) -> T,
) -> Vec<TilePath> {
    let mut tiles = BTreeMap::new();
    compute(&mut |level, index| {
        let (tile, ..) = place(level, index)?;
        let path = Level::Hashes(tile.0).tile(tile.1, size)?;
        tiles.insert(tile, path);
        Some(Digest::from_bytes([0; Digest::LEN]))
    });
    tiles.into_values().collect()
}

fn decimal(text: &str) -> Option<u64> {
    text.parse::<u64>().ok().filter(|n| n.to_string() == text)
}

#[cfg(test)]
mod tests;
