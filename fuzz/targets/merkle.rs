//! Merkle proofs: those of a tree hold, in any tree; a bent one does not; and no proof made of the
//! input panics.
#![no_main]

use libfuzzer_sys::fuzz_target;
use siegel_ident::Digest;
use siegel_translog::Tree;
use siegel_translog::merkle::{leaf_hash, verify_consistency, verify_inclusion};

fuzz_target!(|data: &[u8]| {
    let [leaves, index, earlier, flip, rest @ ..] = data else {
        return;
    };
    let (size, mut tree) = (u64::from(*leaves) + 1, Tree::new());
    for leaf in 0..size {
        tree.push(leaf_hash(&leaf.to_be_bytes()));
    }
    let (index, earlier) = (u64::from(*index) % size, u64::from(*earlier) % size + 1);
    let leaf = leaf_hash(&index.to_be_bytes());
    let proof = tree.inclusion_proof(index, size).expect("inside the tree");
    let holds =
        |proof: &[Digest]| verify_inclusion(&leaf, index, size, proof, &tree.root()).is_ok();
    assert!(holds(&proof));
    if let Some(hash) = proof.get(usize::from(*flip) % proof.len().max(1)) {
        let bent: Vec<Digest> = proof
            .iter()
            .map(|other| {
                if other == hash {
                    Digest::of(other.as_bytes())
                } else {
                    *other
                }
            })
            .collect();
        assert!(!holds(&bent));
    }

    let mut before = Tree::new();
    for leaf in 0..earlier {
        before.push(leaf_hash(&leaf.to_be_bytes()));
    }
    let consistency = tree
        .consistency_proof(earlier, size)
        .expect("inside the tree");
    let (old, new) = (before.root(), tree.root());
    assert!(verify_consistency(earlier, &old, size, &new, &consistency).is_ok());
    assert_eq!(
        verify_consistency(earlier, &new, size, &new, &consistency).is_ok(),
        earlier == size
    );

    // Any numbers and hashes.
    let hashes: Vec<Digest> = rest
        .chunks_exact(32)
        .filter_map(Digest::try_from_slice)
        .collect();
    let number = |at: usize| {
        let bytes = rest.get(at..at + 8).and_then(|bytes| bytes.try_into().ok());
        bytes.map_or(0, u64::from_be_bytes)
    };
    let (a, b) = (number(0), number(8));
    assert!(verify_inclusion(&leaf, a, b, &hashes, &Digest::of(b"no root")).is_err());
    let other = Digest::of(b"no root");
    let held = verify_consistency(a, &other, b, &new, &hashes);
    assert!(held.is_err() || a == 0, "{a} {b}");
});
