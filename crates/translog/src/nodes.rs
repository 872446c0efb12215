//! Roots and proofs from the complete nodes of an RFC 6962 tree, wherever they are kept: a function
//! gives node `index` of `level` (0 = leaves), which is the root over leaves
//! `index·2^level .. (index+1)·2^level`.

use siegel_ident::Digest;

use crate::merkle::{empty_root, node_hash};

/// The root over the first `size` leaves.
pub(crate) fn root(mut node: impl FnMut(u32, u64) -> Option<Digest>, size: u64) -> Option<Digest> {
    match size {
        0 => Some(empty_root()),
        _ => range(&mut node, 0, size),
    }
}

/// The inclusion proof of leaf `index` in the tree of the first `size` leaves, lowest sibling first.
pub(crate) fn inclusion(
    mut node: impl FnMut(u32, u64) -> Option<Digest>,
    index: u64,
    size: u64,
) -> Option<Vec<Digest>> {
    if index >= size {
        return None;
    }
    let (mut start, mut end) = (0, size);
    let mut path = Vec::new();
    while end - start > 1 {
        let middle = start + split(end - start);
        if index < middle {
            path.push(range(&mut node, middle, end)?);
            end = middle;
        } else {
            path.push(range(&mut node, start, middle)?);
            start = middle;
        }
    }
    path.reverse();
    Some(path)
}

/// The proof that the first `from` leaves are a prefix of the first `to` (RFC 6962 2.1.2).
pub(crate) fn consistency(
    mut node: impl FnMut(u32, u64) -> Option<Digest>,
    from: u64,
    to: u64,
) -> Option<Vec<Digest>> {
    if from > to {
        return None;
    }
    if from == 0 || from == to {
        return Some(Vec::new());
    }
    let (mut start, mut end) = (0, to);
    let mut path = Vec::new();
    // `from` stays inside (start, end]; at the end it is the edge of a complete node.
    while from != end {
        let middle = start + split(end - start);
        if from <= middle {
            path.push(range(&mut node, middle, end)?);
            end = middle;
        } else {
            path.push(range(&mut node, start, middle)?);
            start = middle;
        }
    }
    if start != 0 {
        path.push(range(&mut node, start, end)?);
    }
    path.reverse();
    Some(path)
}

/// MTH of RFC 6962 over leaves `start..end`, where `start` is a multiple of the largest power of two
/// that fits: the only ranges that the recursion meets.
fn range(
    node: &mut impl FnMut(u32, u64) -> Option<Digest>,
    start: u64,
    end: u64,
) -> Option<Digest> {
    let size = end - start;
    if size.is_power_of_two() {
        let level = size.trailing_zeros();
        return node(level, start >> level);
    }
    let middle = start + split(size);
    let left = range(node, start, middle)?;
    Some(node_hash(&left, &range(node, middle, end)?))
}

/// The largest power of two below `size` (`size` ≥ 2).
fn split(size: u64) -> u64 {
    1 << (63 - (size - 1).leading_zeros())
}
