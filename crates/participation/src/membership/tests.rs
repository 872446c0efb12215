use std::collections::BTreeSet;

use proptest::prelude::*;
use siegel_program::input_root;

use super::*;

fn blob(n: u64) -> BlobDigest {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&n.to_be_bytes());
    BlobDigest::from_bytes(bytes)
}

/// The list and root that a run over these has.
fn run(members: impl IntoIterator<Item = u64>) -> (Vec<BlobDigest>, InputRoot, u64) {
    let sorted: Vec<_> = members.into_iter().map(blob).collect();
    let root = input_root(&sorted).unwrap();
    let count = sorted.len() as u64;
    (sorted, root, count)
}

/// All lists over seven digests, and every digest asked of each: the answer is right, and the workers'
/// root is the one it leads to. Catches a wrong answer at either end, and a leaf hashed otherwise.
#[test]
fn all_subsets_of_a_small_set_answer_right() {
    for subset in 0_u32..1 << 7 {
        let (sorted, root, count) = run((0..7).filter(|n| subset >> n & 1 == 1));
        for asked in 0..7 {
            let proof = Membership::of(&sorted, blob(asked)).unwrap();
            let answer = proof.verify(blob(asked), root, count).unwrap();
            assert_eq!(answer, subset >> asked & 1 == 1, "{subset:b}, {asked}");
        }
    }
}

/// Everything that a liar could hand in over small lists: each of the two answers, with every choice of
/// honest places, neighbours or none, and with counts that are off. For an absent digest no proof of
/// presence holds and the other way round. Catches neighbours that need not be side by side, an end of
/// the list that is not bound by the count, and a neighbour on the wrong side.
#[test]
fn no_choice_of_honest_places_proves_the_contrary() {
    for subset in 0_u32..1 << 5 {
        let (sorted, root, count) = run((0..5).filter(|n| subset >> n & 1 == 1));
        let places: Vec<Option<Place>> = std::iter::once(None)
            .chain(sorted.iter().map(|b| match Membership::of(&sorted, *b) {
                Ok(Membership::Present { place }) => Some(place),
                other => panic!("{other:?}"),
            }))
            .collect();
        for asked in (0..5).map(blob) {
            let is_in = sorted.contains(&asked);
            for before in &places {
                if let Some(place) = before.clone() {
                    let claim = Membership::Present { place };
                    let same =
                        matches!(&claim, Membership::Present { place } if place.blob == asked);
                    assert_eq!(claim.verify(asked, root, count).is_ok(), same);
                }
                for after in &places {
                    let claim = Membership::Absent {
                        before: before.clone(),
                        after: after.clone(),
                    };
                    let honest = !is_in && claim == Membership::of(&sorted, asked).unwrap();
                    let held = claim.verify(asked, root, count);
                    assert_eq!(held.is_ok(), honest, "{subset:b} {asked} {claim:?}");
                }
            }
        }
    }
}

#[test]
fn an_empty_list_has_no_one_and_only_it() {
    let (sorted, root, count) = run([]);
    let proof = Membership::of(&sorted, blob(1)).unwrap();
    assert!(!proof.verify(blob(1), root, count).unwrap());
    let other = InputRoot::of(b"another");
    assert!(matches!(
        proof.verify(blob(1), other, 0),
        Err(Error::NotEmpty { .. })
    ));
    assert!(matches!(
        proof.verify(blob(1), root, 1),
        Err(Error::NotAdjacent { from: 0, to: 1 })
    ));
}

/// I2. Catches a prover that takes a list from which absence cannot be proved.
#[test]
fn i2_only_strictly_ascending_lists_prove_anything() {
    for bad in [[blob(2), blob(1)], [blob(1), blob(1)]] {
        assert!(matches!(
            Membership::of(&bad, blob(1)),
            Err(Error::Unsorted { at: 1 })
        ));
    }
}

#[test]
fn a_count_or_a_path_beyond_every_run_is_refused() {
    let (sorted, root, _) = run(0..3);
    let proof = Membership::of(&sorted, blob(1)).unwrap();
    let too_many = proof.verify(blob(1), root, MAX_BLOBS + 1);
    assert!(matches!(too_many, Err(Error::TooMany { .. })));
    let Membership::Present { mut place } = proof else {
        panic!("it is there");
    };
    place.path = vec![Digest::of(b""); MAX_PATH + 1];
    let long = Membership::Present { place }.verify(blob(1), root, MAX_BLOBS);
    assert!(matches!(long, Err(Error::Merkle(_))));
}

/// Every proof that differs from this one in one thing.
fn mutants(proof: &Membership) -> Vec<Membership> {
    let places = |place: &Place| {
        let mut all = Vec::new();
        for byte in 0..32 {
            let mut bytes = *place.blob.as_bytes();
            bytes[byte] ^= 1;
            all.push(Place {
                blob: BlobDigest::from_bytes(bytes),
                ..place.clone()
            });
        }
        for index in [place.index.wrapping_sub(1), place.index + 1, u64::MAX] {
            all.push(Place {
                index,
                ..place.clone()
            });
        }
        for at in 0..place.path.len() {
            let mut path = place.path.clone();
            let mut bytes = *path[at].as_bytes();
            bytes[at] ^= 0x80;
            path[at] = Digest::from_bytes(bytes);
            all.push(Place {
                path,
                ..place.clone()
            });
            let mut path = place.path.clone();
            path.remove(at);
            all.push(Place {
                path,
                ..place.clone()
            });
        }
        let mut path = place.path.clone();
        path.push(Digest::of(b"more"));
        all.push(Place {
            path,
            ..place.clone()
        });
        all
    };
    match proof {
        Membership::Present { place } => {
            let absent = [
                (None, None),
                (Some(place.clone()), None),
                (None, Some(place.clone())),
            ];
            places(place)
                .into_iter()
                .map(|place| Membership::Present { place })
                .chain(absent.map(|(before, after)| Membership::Absent { before, after }))
                .collect()
        }
        Membership::Absent { before, after } => {
            let mut all = Vec::new();
            for place in before.iter().flat_map(places) {
                let (before, after) = (Some(place), after.clone());
                all.push(Membership::Absent { before, after });
            }
            for place in after.iter().flat_map(places) {
                let (before, after) = (before.clone(), Some(place));
                all.push(Membership::Absent { before, after });
            }
            for place in before.iter().chain(after) {
                let place = place.clone();
                all.push(Membership::Present { place });
            }
            let pairs = [
                (None, after.clone()),
                (before.clone(), None),
                (after.clone(), before.clone()),
                (before.clone(), before.clone()),
                (after.clone(), after.clone()),
            ];
            for (before, after) in pairs {
                all.push(Membership::Absent { before, after });
            }
            all.retain(|mutant| mutant != proof);
            all
        }
    }
}

proptest! {
    /// Catches any field that the check does not look at: another blob, place, path, root or number.
    #[test]
    fn every_mutation_is_refused(
        members in prop::collection::btree_set(0_u64..200, 0..40),
        asked in 0_u64..200,
    ) {
        let is_in = members.contains(&asked);
        let (sorted, root, count) = run(members);
        let proof = Membership::of(&sorted, blob(asked)).unwrap();
        prop_assert_eq!(proof.verify(blob(asked), root, count).unwrap(), is_in);
        for mutant in mutants(&proof) {
            prop_assert!(mutant.verify(blob(asked), root, count).is_err(), "{:?}", mutant);
        }
        prop_assert!(proof.verify(blob(asked), InputRoot::of(b"other"), count).is_err());
    }

    /// The number comes from the receipt. A path may hold for several numbers, an end of the list for
    /// one only.
    #[test]
    fn the_end_of_the_list_is_where_the_count_says(
        members in prop::collection::btree_set(0_u64..100, 1..20),
        off in 1_u64..5,
    ) {
        let beyond = blob(members.last().unwrap() + 1);
        let (sorted, root, count) = run(members);
        let proof = Membership::of(&sorted, beyond).unwrap();
        prop_assert!(proof.verify(beyond, root, count + off).is_err());
        prop_assert!(proof.verify(beyond, root, count.saturating_sub(off)).is_err());
    }

    /// Whatever two lists have in common: a proof from one holds under the other only if it is the
    /// other's as well.
    #[test]
    fn no_proof_of_another_list_holds(
        ours in prop::collection::btree_set(0_u64..30, 0..12),
        theirs in prop::collection::btree_set(0_u64..30, 0..12),
        asked in 0_u64..30,
    ) {
        prop_assume!(ours != theirs);
        let others: BTreeSet<u64> = theirs;
        let (_, root, count) = run(ours);
        let (sorted, ..) = run(others);
        let proof = Membership::of(&sorted, blob(asked)).unwrap();
        prop_assert!(proof.verify(blob(asked), root, count).is_err());
    }
}
