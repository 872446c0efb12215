//! I4 and I7: who counts, how often, and that nothing else plays a part.

// Helpers of tests may panic as tests do.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeMap;

use proptest::prelude::*;
use siegel_ident::{NanoRho, PrivacyId, Secret};
use siegel_program::{
    BlockCount, BlockSum, Bundle, Column, HistogramSpec, IndexKey, Intrinsic, Noise, ProgramError,
    Query, Record, SumBuilder, Total, Units,
};

const WORDS: [&str; 6] = ["ant", "bee", "cow", "dog", "emu", "fox"];
/// One blob: a user and its words.
type Blob = (u8, Vec<&'static str>);

fn bundle() -> Bundle {
    let list: String = WORDS.iter().map(|w| format!("{w}\n")).collect();
    Bundle::new("test", "", [("words.txt".to_owned(), list)].into()).unwrap()
}

fn spec(bundle: &Bundle, max_per_user: u32) -> Intrinsic {
    let rho = NanoRho(1_000_000);
    let spec = HistogramSpec::new(bundle, "words", "words.txt", max_per_user, rho);
    Intrinsic::Histogram(spec.unwrap())
}

fn key() -> IndexKey {
    IndexKey::new(&Secret::new([9; 32]))
}

fn block_sums(blobs: &[Blob], most: u32, blocks: u32, wanted: &[u32]) -> Vec<BlockSum> {
    let bundle = bundle();
    let spec = spec(&bundle, most);
    let query = Query::new(&spec, &bundle, &[]).unwrap();
    let key = key();
    let blocks = BlockCount::new(blocks).unwrap();
    let mut builder = SumBuilder::new(&query, &key, blocks, wanted).unwrap();
    for (user, words) in blobs {
        builder.add(&Record {
            privacy_id: PrivacyId::from_bytes([*user; 32]),
            columns: vec![Column::words("words", words.clone())],
        });
    }
    builder.finish().unwrap()
}

fn values(sum: &BlockSum) -> Vec<i64> {
    let bytes = sum.to_bytes();
    bytes
        .expose()
        .chunks(8)
        .map(|b| i64::from_le_bytes(b.try_into().unwrap()))
        .collect()
}

fn raw(blobs: &[Blob], most: u32, blocks: u32) -> Vec<i64> {
    let all: Vec<u32> = (0..blocks).collect();
    let mut total = vec![0; WORDS.len() + 1];
    for sum in block_sums(blobs, most, blocks, &all) {
        values(&sum)
            .iter()
            .zip(&mut total)
            .for_each(|(v, t)| *t += v);
    }
    total
}

// I4. Catches adding each blob as it comes instead of joining a user's blobs first.
#[test]
fn two_uploads_of_one_user_count_once() {
    let together = raw(&[(1, vec!["ant", "bee", "cow"])], 6, 16);
    assert_eq!(together, [1, 1, 1, 0, 0, 0, 0]);
    assert_eq!(
        raw(
            &[(1, vec!["ant", "bee"]), (1, vec!["bee", "cow", "cow"])],
            6,
            16
        ),
        together
    );
}

// I4. Catches a bound that is applied per blob: two blobs would then fill four bins.
#[test]
fn the_bound_is_over_all_blobs_of_a_user() {
    let blobs: Vec<Blob> = WORDS.chunks(2).map(|two| (1, two.to_vec())).collect();
    assert_eq!(raw(&blobs, 2, 16).iter().sum::<i64>(), 2);
    assert_eq!(raw(&blobs, 2, 16), raw(&[(1, WORDS.to_vec())], 2, 16));
}

#[test]
fn unknown_words_are_one_bin_and_other_columns_none() {
    assert_eq!(
        raw(&[(1, vec!["zebra", "yak"])], 6, 16),
        [0, 0, 0, 0, 0, 0, 1]
    );
    let bundle = bundle();
    let spec = spec(&bundle, 6);
    let query = Query::new(&spec, &bundle, &[]).unwrap();
    let key = key();
    let one = BlockCount::new(1).unwrap();
    let mut builder = SumBuilder::new(&query, &key, one, &[0]).unwrap();
    builder.add(&Record {
        privacy_id: PrivacyId::from_bytes([1; 32]),
        columns: vec![Column::words("else", vec!["ant"])],
    });
    assert_eq!(values(&builder.finish().unwrap()[0]), [0; 7]);
}

// I4, I7. Catches units that are bounded before what others gathered is joined to them, or that lose
// what came second.
#[test]
fn gatherings_join_to_the_same_sums_whoever_had_which_blob() {
    let blobs: Vec<Blob> = (0..90)
        .map(|n| {
            (
                n % 20,
                vec![WORDS[usize::from(n) % 6], WORDS[usize::from(n / 7) % 6]],
            )
        })
        .collect();
    let (bundle, key) = (bundle(), key());
    let spec = spec(&bundle, 2);
    let query = Query::new(&spec, &bundle, &[]).unwrap();
    let (blocks, wanted) = (BlockCount::new(4).unwrap(), [0, 1, 3]);
    let once = block_sums(&blobs, 2, 4, &wanted);
    let once: Vec<_> = once.iter().map(values).collect();
    assert!(once.iter().flatten().sum::<i64>() > 20);
    for parts in [2, 7] {
        let mut all = Units::new(blocks, &wanted).unwrap();
        for part in 0..parts {
            let mut units = Units::new(blocks, &wanted).unwrap();
            for (user, words) in blobs.iter().skip(part).step_by(parts) {
                let record = Record {
                    privacy_id: PrivacyId::from_bytes([*user; 32]),
                    columns: vec![Column::words("words", words.clone())],
                };
                units.add(&query, &key, &record);
            }
            all.join(units);
        }
        let sums = wanted.map(|block| {
            let sums = all.take(block).sums(&query, &key, 2, &|| true).unwrap();
            assert_eq!((sums.len(), sums[0].block()), (1, block));
            values(&sums[0])
        });
        assert_eq!(sums[..], once[..], "{parts}");
    }
}

// The keyed choice must not prefer early bins, or rare words would never show.
#[test]
fn the_choice_differs_between_users() {
    let blobs: Vec<Blob> = (0..60).map(|user| (user, WORDS.to_vec())).collect();
    let counts = raw(&blobs, 1, 16);
    assert_eq!(counts.iter().sum::<i64>(), 60);
    assert!(counts[..6].iter().all(|&n| n > 0), "{counts:?}");
}

#[test]
fn blocks_outside_the_run_or_twice_are_refused() {
    let bundle = bundle();
    let spec = spec(&bundle, 2);
    let query = Query::new(&spec, &bundle, &[]).unwrap();
    let key = key();
    let blocks = BlockCount::new(4).unwrap();
    let refused = |wanted: &[u32]| SumBuilder::new(&query, &key, blocks, wanted).err();
    assert!(matches!(
        refused(&[4]),
        Some(ProgramError::NoSuchBlock { block: 4, count: 4 })
    ));
    assert!(matches!(
        refused(&[1, 1]),
        Some(ProgramError::BlockTwice { block: 1 })
    ));
}

// I4, I5: a total takes each block once, and only a whole one can be released.
#[test]
fn a_total_takes_each_block_once_and_all_of_them() {
    let bundle = bundle();
    let spec = spec(&bundle, 2);
    let blocks = BlockCount::new(2).unwrap();
    let key = || Secret::new([1; 32]);
    let sums = block_sums(&[(1, vec!["ant"]), (2, vec!["ant"])], 2, 2, &[0, 1]);
    let mut total = Total::new(&spec, blocks);
    total.add(&sums[0]).unwrap();
    assert!(matches!(
        total.add(&sums[0]),
        Err(ProgramError::BlockTwice { block: 0 })
    ));
    let half = total.release(Noise::draw(&spec, |_| key()).unwrap());
    assert!(matches!(
        half,
        Err(ProgramError::BlocksMissing { missing: 1 })
    ));

    let whole = || {
        let mut total = Total::new(&spec, blocks);
        sums.iter().for_each(|sum| total.add(sum).unwrap());
        total
    };
    // Noise of another specification (here a cheaper one) would break the stated cost.
    let other = self::spec(&bundle, 1);
    let wrong = whole().release(Noise::draw(&other, |_| key()).unwrap());
    assert!(matches!(wrong, Err(ProgramError::OtherNoise)));
    let noisy = whole()
        .release(Noise::draw(&spec, |_| key()).unwrap())
        .unwrap();
    assert_eq!(
        noisy,
        whole()
            .release(Noise::draw(&spec, |_| key()).unwrap())
            .unwrap()
    );
    assert_ne!(noisy[1..6], [0; 5], "noise on empty bins too");
}

#[test]
fn a_block_sum_round_trips_and_has_one_length() {
    let bundle = bundle();
    let spec = spec(&bundle, 2);
    let sums = block_sums(&[(1, vec!["ant"])], 2, 1, &[0]);
    let bytes = sums[0].to_bytes();
    assert_eq!(bytes.len(), 56);
    let back = BlockSum::from_bytes(0, &bytes, &spec).ok().unwrap();
    assert_eq!(values(&back), values(&sums[0]));
    for len in [0, 8, 55, 57, 64] {
        let bytes = vec![0; len].into();
        assert!(BlockSum::from_bytes(0, &bytes, &spec).is_err(), "{len}");
    }
}

// Catches an addition that wraps: hostile sums must stop the run, not change a sign.
#[test]
fn an_overflow_is_an_error_and_leaves_the_total_alone() {
    let bundle = bundle();
    let spec = spec(&bundle, 2);
    let mut total = Total::new(&spec, BlockCount::new(3).unwrap());
    let full: Vec<u8> = (0..7).flat_map(|_| i64::MAX.to_le_bytes()).collect();
    let sum = |block| {
        BlockSum::from_bytes(block, &full.clone().into(), &spec)
            .ok()
            .unwrap()
    };
    total.add(&sum(0)).unwrap();
    assert!(matches!(total.add(&sum(1)), Err(ProgramError::Overflow)));
    assert!(!total.has(1) && total.has(0));
}

fn blobs() -> impl Strategy<Value = Vec<Blob>> {
    let words = prop::collection::vec(
        prop::sample::select(vec!["ant", "bee", "cow", "dog", "emu", "yak"]),
        0..8,
    );
    prop::collection::vec((0u8..6, words), 0..20)
}

proptest! {
    // I7: neither the order of blobs nor the number of blocks changes a bit.
    #[test]
    fn permuting_blobs_changes_nothing(
        (blobs, shuffled) in blobs().prop_flat_map(|b| (Just(b.clone()), Just(b).prop_shuffle())),
        most in 1u32..5,
        blocks in 1u32..9,
    ) {
        prop_assert_eq!(raw(&blobs, most, 16), raw(&shuffled, most, blocks));
    }

    // I4: the stated sensitivity holds, however a user's words are spread over blobs.
    #[test]
    fn zeroing_a_user_moves_the_sum_by_at_most_the_sensitivity(
        blobs in blobs(), user in 0u8..6, most in 1u32..5,
    ) {
        let without: Vec<Blob> = blobs.iter().filter(|(u, _)| *u != user).cloned().collect();
        let (a, b) = (raw(&blobs, most, 8), raw(&without, most, 8));
        let moved: i64 = a.iter().zip(&b).map(|(a, b)| (a - b) * (a - b)).sum();
        prop_assert!(moved <= i64::from(most));
        prop_assert!(moved as u64 <= spec(&bundle(), most).sensitivity_sq());
    }

    // The bounded sum is what a slow, obvious reading of the rule gives.
    #[test]
    fn unbounded_counts_are_distinct_users(blobs in blobs()) {
        let mut users: BTreeMap<u8, std::collections::BTreeSet<usize>> = BTreeMap::new();
        for (user, words) in &blobs {
            let bins = words.iter().map(|w| WORDS.iter().position(|x| x == w).unwrap_or(6));
            users.entry(*user).or_default().extend(bins);
        }
        let mut truth = vec![0i64; 7];
        users.values().flatten().for_each(|&bin| truth[bin] += 1);
        prop_assert_eq!(raw(&blobs, 7, 8), truth);
    }
}
