//! RFC 6962 Merkle trees: hashes, and checks of inclusion and consistency proofs.
//!
//! The checks follow RFC 9162 sections 2.1.3.2 and 2.1.4.2. A proof must have exactly the length
//! that index and size ask for.

use ring::digest::{Context, SHA256};
use siegel_ident::Digest;

use crate::tree::Tree;

/// Why a Merkle proof does not hold.
#[derive(Debug, Clone, Copy, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum MerkleError {
    /// No such leaf in a tree of this size.
    #[error("leaf {index} is not in a tree of {size} leaves")]
    OutOfRange {
        /// Zero-based leaf index.
        index: u64,
        /// Number of leaves.
        size: u64,
    },
    /// The earlier size is larger than the later one.
    #[error("the tree shrank from {from} to {to} leaves")]
    Shrank {
        /// Earlier number of leaves.
        from: u64,
        /// Later number of leaves.
        to: u64,
    },
    /// The proof has too few or too many hashes.
    #[error("the proof has {found} hashes, which does not fit this index and size")]
    Length {
        /// How many it has.
        found: usize,
    },
    /// The proof leads to another root.
    #[error("the proof leads to root {found}, not to {expected}")]
    Root {
        /// The root to be reached.
        expected: Digest,
        /// The root that was reached.
        found: Digest,
    },
}

/// SHA-256(0x00 ‖ body).
pub fn leaf_hash(body: &[u8]) -> Digest {
    tagged(&[&[0], body])
}

/// SHA-256(0x01 ‖ left ‖ right).
pub fn node_hash(left: &Digest, right: &Digest) -> Digest {
    tagged(&[&[1], left.as_bytes(), right.as_bytes()])
}

/// The root of a tree without leaves: SHA-256 of nothing.
pub fn empty_root() -> Digest {
    Digest::of(b"")
}

/// The root over leaf hashes, in order.
pub fn root(leaves: &[Digest]) -> Digest {
    let tree: Tree = leaves.iter().copied().collect();
    tree.root()
}

/// The inclusion proof of leaf `index` in the tree over `leaves`; `None` if there is no such leaf.
pub fn inclusion_proof(leaves: &[Digest], index: u64) -> Option<Vec<Digest>> {
    let tree: Tree = leaves.iter().copied().collect();
    tree.inclusion_proof(index, tree.size())
}

/// The proof that the tree over the first `from` leaves is a prefix of the tree over all of them.
pub fn consistency_proof(leaves: &[Digest], from: u64) -> Option<Vec<Digest>> {
    let tree: Tree = leaves.iter().copied().collect();
    tree.consistency_proof(from, tree.size())
}

/// Checks that `leaf` is leaf `index` of the tree with this size and root.
///
/// # Errors
/// [`MerkleError`] says whether index, length or root is wrong.
pub fn verify_inclusion(
    leaf: &Digest,
    index: u64,
    size: u64,
    proof: &[Digest],
    root: &Digest,
) -> Result<(), MerkleError> {
    if index >= size {
        return Err(MerkleError::OutOfRange { index, size });
    }
    let (mut node, mut last) = (index, size - 1);
    let mut hash = *leaf;
    for sibling in proof {
        if last == 0 {
            return Err(MerkleError::Length { found: proof.len() });
        }
        if node & 1 == 1 || node == last {
            hash = node_hash(sibling, &hash);
            while node & 1 == 0 && node != 0 {
                node >>= 1;
                last >>= 1;
            }
        } else {
            hash = node_hash(&hash, sibling);
        }
        node >>= 1;
        last >>= 1;
    }
    if last != 0 {
        return Err(MerkleError::Length { found: proof.len() });
    }
    reached(root, hash)
}

/// Checks that the tree (`from`, `from_root`) is a prefix of the tree (`to`, `to_root`).
///
/// # Errors
/// [`MerkleError`] says what does not hold. From size 0 every tree grows, with an empty proof.
pub fn verify_consistency(
    from: u64,
    from_root: &Digest,
    to: u64,
    to_root: &Digest,
    proof: &[Digest],
) -> Result<(), MerkleError> {
    if from > to {
        return Err(MerkleError::Shrank { from, to });
    }
    if from == to || from == 0 {
        if !proof.is_empty() {
            return Err(MerkleError::Length { found: proof.len() });
        }
        let expected = if from == to { *to_root } else { empty_root() };
        return reached(&expected, *from_root);
    }
    let wrong_length = MerkleError::Length { found: proof.len() };
    let mut path = proof.iter();
    let (mut node, mut last) = (from - 1, to - 1);
    while node & 1 == 1 {
        node >>= 1;
        last >>= 1;
    }
    // A `from` that is a power of two is itself the first node of the path.
    let first = if from.is_power_of_two() {
        from_root
    } else {
        path.next().ok_or(wrong_length)?
    };
    let (mut old, mut new) = (*first, *first);
    for sibling in path {
        if last == 0 {
            return Err(wrong_length);
        }
        if node & 1 == 1 || node == last {
            old = node_hash(sibling, &old);
            new = node_hash(sibling, &new);
            while node & 1 == 0 && node != 0 {
                node >>= 1;
                last >>= 1;
            }
        } else {
            new = node_hash(&new, sibling);
        }
        node >>= 1;
        last >>= 1;
    }
    if last != 0 {
        return Err(wrong_length);
    }
    reached(from_root, old)?;
    reached(to_root, new)
}

fn reached(expected: &Digest, found: Digest) -> Result<(), MerkleError> {
    if *expected == found {
        return Ok(());
    }
    Err(MerkleError::Root {
        expected: *expected,
        found,
    })
}

fn tagged(parts: &[&[u8]]) -> Digest {
    let mut context = Context::new(&SHA256);
    for part in parts {
        context.update(part);
    }
    let mut out = [0u8; 32];
    out.copy_from_slice(context.finish().as_ref());
    Digest::from_bytes(out)
}

#[cfg(test)]
mod tests;
