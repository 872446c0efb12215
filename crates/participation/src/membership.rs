//! Presence or absence of one digest under a Merkle root over sorted digests.

use serde::{Deserialize, Serialize};
use siegel_ident::json::present;
use siegel_ident::{BlobDigest, Digest, InputRoot};
use siegel_translog::Tree;
use siegel_translog::merkle::{leaf_hash, verify_inclusion};

use crate::ParticipationError as Error;

/// Most uploads of a run, as the workers have it.
pub const MAX_BLOBS: u64 = 1 << 23;
/// Longest path in a tree of so many leaves.
const MAX_PATH: usize = 23;

/// Where one digest stands in the sorted list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// The digest.
    pub blob: BlobDigest,
    /// Zero-based.
    pub index: u64,
    /// Siblings up to the root, lowest first (RFC 6962).
    pub path: Vec<Digest>,
}

/// Proof of one of two answers. Which neighbours belong to an absent digest is fixed by the list, so
/// a list and a digest have exactly one proof.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Membership {
    /// It is in the list.
    Present {
        /// Where.
        place: Place,
    },
    /// It is not: between these two, which stand side by side, there is nothing.
    Absent {
        /// The greatest smaller one; `null` if there is none.
        #[serde(deserialize_with = "present")]
        before: Option<Place>,
        /// The smallest greater one; `null` if there is none.
        #[serde(deserialize_with = "present")]
        after: Option<Place>,
    },
}

impl Membership {
    /// Proves whether `blob` is in a run's list of uploads.
    ///
    /// # Errors
    /// [`Error::Unsorted`] for a list that is not strictly ascending: it proves nothing about what is
    /// not in it. [`Error::TooMany`] for one that no run can have.
    pub fn of(sorted: &[BlobDigest], blob: BlobDigest) -> Result<Self, Error> {
        let count = sorted.len() as u64;
        if count > MAX_BLOBS {
            return Err(Error::TooMany { count });
        }
        if let Some(at) = sorted.windows(2).position(|two| two.first() >= two.last()) {
            return Err(Error::Unsorted { at: at + 1 });
        }
        let tree: Tree = sorted
            .iter()
            .map(|blob| leaf_hash(blob.as_bytes()))
            .collect();
        let place = |at: usize| {
            let index = at as u64;
            let path = tree.inclusion_proof(index, count)?;
            let blob = *sorted.get(at)?;
            Some(Place { blob, index, path })
        };
        Ok(match sorted.binary_search(&blob) {
            // A place that was found is in the tree.
            Ok(at) => match place(at) {
                Some(place) => Self::Present { place },
                None => return Err(Error::Unsorted { at }),
            },
            Err(at) => Self::Absent {
                before: at.checked_sub(1).and_then(place),
                after: place(at),
            },
        })
    }

    /// Whether `blob` is among the `count` digests under `root`.
    ///
    /// # Errors
    /// What does not hold. Nothing is answered then: not even the contrary.
    pub fn verify(&self, blob: BlobDigest, root: InputRoot, count: u64) -> Result<bool, Error> {
        if count > MAX_BLOBS {
            return Err(Error::TooMany { count });
        }
        match self {
            Self::Present { place } => {
                if place.blob != blob {
                    return Err(Error::OtherBlob {
                        asked: blob,
                        found: place.blob,
                    });
                }
                place.verify(root, count)?;
                Ok(true)
            }
            Self::Absent { before, after } => {
                for place in before.iter().chain(after) {
                    place.verify(root, count)?;
                }
                gap(blob, before.as_ref(), after.as_ref(), root, count)?;
                Ok(false)
            }
        }
    }
}

/// The neighbours leave no place for `blob`: they are around it, and nothing is between them or
/// beyond them.
fn gap(
    blob: BlobDigest,
    before: Option<&Place>,
    after: Option<&Place>,
    root: InputRoot,
    count: u64,
) -> Result<(), Error> {
    let around =
        before.is_none_or(|place| place.blob < blob) && after.is_none_or(|place| place.blob > blob);
    if !around {
        return Err(Error::NotAround { blob });
    }
    // One past the left neighbour is where the blob would stand.
    let would_be = before.map_or(0, |place| place.index + 1);
    let next = after.map_or(count, |place| place.index);
    if would_be != next {
        return Err(Error::NotAdjacent {
            from: would_be,
            to: next,
        });
    }
    // Without neighbours nothing has led to the root yet: the list is empty, and so is its root.
    let empty = InputRoot::from(siegel_translog::merkle::empty_root());
    match before.or(after) {
        None if root != empty => Err(Error::NotEmpty { root }),
        _ => Ok(()),
    }
}

impl Place {
    fn verify(&self, root: InputRoot, count: u64) -> Result<(), Error> {
        if self.path.len() > MAX_PATH {
            let found = self.path.len();
            return Err(siegel_translog::merkle::MerkleError::Length { found }.into());
        }
        let leaf = leaf_hash(self.blob.as_bytes());
        Ok(verify_inclusion(
            &leaf,
            self.index,
            count,
            &self.path,
            &root.digest(),
        )?)
    }
}

#[cfg(test)]
mod tests;
