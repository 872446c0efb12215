//! The input root: which uploads a run reads, as one digest (I2). Over *sorted* digests, so that
//! the absence of a blob is as provable as its presence.

use ring::digest::{Context, SHA256};
use siegel_ident::{BlobDigest, Digest, InputRoot};

use crate::ProgramError;

/// Merkle root (RFC 6962, section 2.1) over the digests; each leaf is the digest's 32 bytes.
///
/// Refuses digests that are not strictly ascending: a blob listed twice would be read twice.
pub fn input_root(sorted: &[BlobDigest]) -> Result<InputRoot, ProgramError> {
    check_sorted(sorted)?;
    // Complete subtrees from left to right, each (height, hash); equal heights merge at once.
    let mut peaks: Vec<(u32, Digest)> = Vec::with_capacity(64);
    for blob in sorted {
        let mut node = (0, hash(&[&[0], blob.as_bytes()]));
        while let Some((height, left)) = peaks.pop() {
            if height != node.0 {
                peaks.push((height, left));
                break;
            }
            node = (height + 1, parent(&left, &node.1));
        }
        peaks.push(node);
    }
    // RFC 6962 splits at the largest power of two, so the rest folds from the right.
    let root = peaks
        .into_iter()
        .rev()
        .map(|(_, hash)| hash)
        .reduce(|right, left| parent(&left, &right));
    Ok(root.unwrap_or_else(|| Digest::of(b"")).into())
}

/// Refuses digests that are not strictly ascending.
pub fn check_sorted(digests: &[BlobDigest]) -> Result<(), ProgramError> {
    let mut before: Option<&BlobDigest> = None;
    for (at, digest) in digests.iter().enumerate() {
        if before.is_some_and(|b| b >= digest) {
            return Err(ProgramError::Unsorted { at });
        }
        before = Some(digest);
    }
    Ok(())
}

fn parent(left: &Digest, right: &Digest) -> Digest {
    hash(&[&[1], left.as_bytes(), right.as_bytes()])
}

fn hash(parts: &[&[u8]]) -> Digest {
    let mut context = Context::new(&SHA256);
    for part in parts {
        context.update(part);
    }
    let mut out = [0; 32];
    out.copy_from_slice(context.finish().as_ref());
    Digest::from_bytes(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn blob(n: u32) -> BlobDigest {
        BlobDigest::of(&n.to_be_bytes())
    }

    /// The definition of RFC 6962, section 2.1, word for word.
    fn by_definition(leaves: &[BlobDigest]) -> Digest {
        match leaves.len() {
            0 => Digest::of(b""),
            1 => Digest::of(&[&[0][..], leaves[0].as_bytes()].concat()),
            n => {
                let k = n.next_power_of_two() / 2;
                let (l, r) = (by_definition(&leaves[..k]), by_definition(&leaves[k..]));
                Digest::of(&[&[1][..], l.as_bytes(), r.as_bytes()].concat())
            }
        }
    }

    #[test]
    fn empty_is_the_hash_of_nothing() {
        assert_eq!(input_root(&[]).unwrap().digest(), Digest::of(b""));
    }

    // I2: catches an order that is accepted and a blob that counts twice.
    #[test]
    fn unsorted_and_double_digests_are_refused() {
        let mut two = [blob(1), blob(2)];
        two.sort();
        assert!(input_root(&two).is_ok());
        two.reverse();
        assert!(matches!(
            input_root(&two),
            Err(ProgramError::Unsorted { at: 1 })
        ));
        assert!(matches!(
            input_root(&[blob(1), blob(1)]),
            Err(ProgramError::Unsorted { at: 1 })
        ));
    }

    proptest! {
        // Catches a wrong split (not a power of two) and swapped children.
        #[test]
        fn agrees_with_the_definition(n in 0u32..70) {
            let mut leaves: Vec<_> = (0..n).map(blob).collect();
            leaves.sort();
            prop_assert_eq!(input_root(&leaves).unwrap().digest(), by_definition(&leaves));
        }
    }
}
