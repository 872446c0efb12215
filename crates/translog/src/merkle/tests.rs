//! RFC 6962 known answers, and everything against the definition in the RFC.

use proptest::prelude::*;

use super::*;

/// The eight leaves that certificate-transparency implementations test with, and their roots.
const LEAVES: [&[u8]; 8] = [
    b"",
    &[0x00],
    &[0x10],
    &[0x20, 0x21],
    &[0x30, 0x31],
    &[0x40, 0x41, 0x42, 0x43],
    &[0x50, 0x51, 0x52, 0x53, 0x54, 0x55, 0x56, 0x57],
    &[
        0x60, 0x61, 0x62, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68, 0x69, 0x6a, 0x6b, 0x6c, 0x6d, 0x6e,
        0x6f,
    ],
];
const ROOTS: [&str; 9] = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
];

fn leaves(n: u64) -> Vec<Digest> {
    (0..n).map(|i| leaf_hash(&i.to_be_bytes())).collect()
}

/// MTH, word for word.
fn naive_root(leaves: &[Digest]) -> Digest {
    match leaves.len() {
        0 => Digest::of(b""),
        1 => leaves[0],
        n => {
            let k = naive_split(n);
            node_hash(&naive_root(&leaves[..k]), &naive_root(&leaves[k..]))
        }
    }
}

/// PATH, word for word.
fn naive_path(m: usize, leaves: &[Digest]) -> Vec<Digest> {
    if leaves.len() == 1 {
        return Vec::new();
    }
    let k = naive_split(leaves.len());
    if m < k {
        [naive_path(m, &leaves[..k]), vec![naive_root(&leaves[k..])]].concat()
    } else {
        [
            naive_path(m - k, &leaves[k..]),
            vec![naive_root(&leaves[..k])],
        ]
        .concat()
    }
}

/// SUBPROOF, word for word.
fn naive_subproof(m: usize, leaves: &[Digest], whole: bool) -> Vec<Digest> {
    if m == leaves.len() {
        return if whole {
            Vec::new()
        } else {
            vec![naive_root(leaves)]
        };
    }
    let k = naive_split(leaves.len());
    if m <= k {
        [
            naive_subproof(m, &leaves[..k], whole),
            vec![naive_root(&leaves[k..])],
        ]
        .concat()
    } else {
        [
            naive_subproof(m - k, &leaves[k..], false),
            vec![naive_root(&leaves[..k])],
        ]
        .concat()
    }
}

fn naive_split(n: usize) -> usize {
    let mut k = 1;
    while k * 2 < n {
        k *= 2;
    }
    k
}

#[test]
fn known_answers() {
    let hashes: Vec<Digest> = LEAVES.iter().map(|leaf| leaf_hash(leaf)).collect();
    for (n, expected) in ROOTS.iter().enumerate() {
        assert_eq!(root(&hashes[..n]).to_string(), *expected, "{n} leaves");
    }
}

/// Catches: off-by-one in either direction, proofs that are one hash too long or too short.
#[test]
fn all_proofs_of_small_trees_hold_and_no_other_does() {
    for size in 1..=20u64 {
        let all = leaves(size);
        let top = root(&all);
        for index in 0..size {
            let proof = inclusion_proof(&all, index).unwrap();
            assert_eq!(proof, naive_path(index as usize, &all));
            let leaf = all[index as usize];
            assert_eq!(verify_inclusion(&leaf, index, size, &proof, &top), Ok(()));
            for other in (0..size + 2).filter(|i| *i != index) {
                assert!(verify_inclusion(&leaf, other, size, &proof, &top).is_err());
            }
            let longer = [&proof[..], &[top]].concat();
            // Whatever root such a proof would lead to, it is refused for its length.
            assert_eq!(
                verify_inclusion(&leaf, index, size, &longer, &node_hash(&top, &top)),
                Err(MerkleError::Length {
                    found: longer.len()
                })
            );
            if let Some((_, shorter)) = proof.split_last() {
                assert!(verify_inclusion(&leaf, index, size, shorter, &top).is_err());
            }
        }
        for from in 0..=size {
            let proof = consistency_proof(&all, from).unwrap();
            let old = root(&all[..from as usize]);
            if from > 0 {
                assert_eq!(proof, naive_subproof(from as usize, &all, true));
            }
            assert_eq!(verify_consistency(from, &old, size, &top, &proof), Ok(()));
            let longer = [&proof[..], &[top]].concat();
            assert!(verify_consistency(from, &old, size, &top, &longer).is_err());
            if let Some((_, shorter)) = proof.split_last() {
                assert!(verify_consistency(from, &old, size, &top, shorter).is_err());
            }
            let forked = leaf_hash(b"fork");
            assert!(verify_consistency(from, &forked, size, &top, &proof).is_err());
            if from > 0 {
                assert!(verify_consistency(from, &old, size, &forked, &proof).is_err());
            }
        }
    }
    let (three, five) = (root(&leaves(3)), root(&leaves(5)));
    let grown = consistency_proof(&leaves(5), 3).unwrap();
    assert_eq!(
        verify_consistency(5, &five, 3, &three, &grown),
        Err(MerkleError::Shrank { from: 5, to: 3 })
    );
    assert_eq!(
        verify_inclusion(&leaf_hash(b""), 0, 0, &[], &empty_root()),
        Err(MerkleError::OutOfRange { index: 0, size: 0 })
    );
}

/// Catches: a tree that proves for its newest size instead of the asked one.
#[test]
fn proofs_for_an_older_size_lead_to_the_older_root() {
    let all = leaves(70);
    let tree: Tree = all.iter().copied().collect();
    for size in 1..=70u64 {
        let old = tree.root_at(size).unwrap();
        assert_eq!(old, naive_root(&all[..size as usize]));
        let proof = tree.inclusion_proof(size / 2, size).unwrap();
        let leaf = all[size as usize / 2];
        assert_eq!(
            verify_inclusion(&leaf, size / 2, size, &proof, &old),
            Ok(())
        );
    }
    assert!(tree.inclusion_proof(5, 5).is_none());
    assert!(tree.inclusion_proof(0, 71).is_none());
    assert!(tree.root_at(71).is_none());
}

#[test]
fn a_truncated_tree_is_the_tree_of_fewer_leaves() {
    for size in 0..=33u64 {
        let mut tree: Tree = leaves(40).into_iter().collect();
        tree.truncate(size);
        assert_eq!((tree.size(), tree.root()), (size, root(&leaves(size))));
        tree.push(leaf_hash(b"next"));
        assert_eq!(
            tree.root(),
            naive_root(&[leaves(size), vec![leaf_hash(b"next")]].concat())
        );
    }
}

proptest! {
    #[test]
    fn against_the_definition(size in 1u64..300, pick in any::<prop::sample::Index>()) {
        let all = leaves(size);
        let index = pick.index(size as usize);
        prop_assert_eq!(root(&all), naive_root(&all));
        let proof = inclusion_proof(&all, index as u64).unwrap();
        prop_assert_eq!(&proof, &naive_path(index, &all));
        prop_assert!(verify_inclusion(&all[index], index as u64, size, &proof, &root(&all)).is_ok());
        let from = index + 1;
        let proof = consistency_proof(&all, from as u64).unwrap();
        prop_assert_eq!(&proof, &naive_subproof(from, &all, true));
        prop_assert!(
            verify_consistency(from as u64, &root(&all[..from]), size, &root(&all), &proof).is_ok()
        );
    }

    /// I14: sizes and proofs of a liar never panic and never hold.
    #[test]
    fn hostile_proofs_do_not_hold(
        index in any::<u64>(), size in any::<u64>(), n in 0usize..70, seed in any::<u8>(),
    ) {
        let proof: Vec<Digest> = (0..n).map(|i| Digest::of(&[seed, i as u8])).collect();
        let (leaf, top) = (leaf_hash(&[seed]), Digest::of(&[seed]));
        prop_assert!(verify_inclusion(&leaf, index, size, &proof, &top).is_err());
        if index != size && index != 0 {
            prop_assert!(verify_consistency(index, &leaf, size, &top, &proof).is_err());
        }
    }
}
