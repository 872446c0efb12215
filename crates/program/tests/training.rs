//! I4, I5, I7, I12: what a unit's model update may do to the sum.

// Helpers of tests may panic as tests do.
#![allow(clippy::unwrap_used, clippy::panic)]

use proptest::prelude::*;
use siegel_ident::{NanoRho, PrivacyId, Secret};
use siegel_program::{
    BlockCount, Bundle, ClippedSumSpec, ClippedSumTerms, Column, IndexKey, Intrinsic, Noise,
    ProgramError, Query, Record, SumBuilder, Total,
};
use siegel_tensor::{Classifier, Model, NextChar};

const SCALE: u64 = 65_536;

fn bundle() -> Bundle {
    Bundle::new(
        "test",
        "",
        [("a.txt".to_owned(), "abc \n".to_owned())].into(),
    )
    .unwrap()
}

fn terms(model: Model) -> ClippedSumTerms<'static> {
    let (column, alphabet) = match model {
        Model::NextChar(_) => ("text", Some("a.txt")),
        Model::Classifier(_) => ("rows", None),
    };
    ClippedSumTerms {
        column,
        alphabet,
        model,
        max_items_per_user: 8,
        epochs: 1,
        batch: 4,
        rate_micro: 500_000,
        clip_micro: 1_000_000,
        scale: SCALE,
        rho: NanoRho(1_000_000),
    }
}

fn chars() -> Model {
    Model::NextChar(NextChar {
        alphabet: 6,
        context: 2,
        embedding: 2,
        hidden: 3,
    })
}

fn rows() -> Model {
    Model::Classifier(Classifier {
        features: 2,
        hidden: 0,
        classes: 2,
    })
}

fn sum_of(terms: ClippedSumTerms<'_>) -> Intrinsic {
    Intrinsic::ClippedSum(ClippedSumSpec::new(&bundle(), terms).unwrap())
}

fn state(intrinsic: &Intrinsic) -> Vec<u8> {
    let Intrinsic::ClippedSum(spec) = intrinsic else {
        panic!("another intrinsic");
    };
    let params = spec.model.initial(3);
    params.iter().flat_map(|p| p.to_le_bytes()).collect()
}

enum Said<'a> {
    Text(&'a str),
    Rows(&'a [f32]),
}

/// The exact sum over all blocks.
fn raw(
    intrinsic: &Intrinsic,
    state: &[u8],
    uploads: &[(u8, Said<'_>)],
    threads: usize,
) -> Vec<i64> {
    let bundle = bundle();
    let query = Query::new(intrinsic, &bundle, state).unwrap();
    let key = IndexKey::new(&Secret::new([9; 32]));
    let blocks = BlockCount::new(4).unwrap();
    let mut builder = SumBuilder::new(&query, &key, blocks, &[0, 1, 2, 3]).unwrap();
    for (user, said) in uploads {
        let column = match said {
            Said::Text(text) => Column::text("text", text),
            Said::Rows(rows) => Column::floats("rows", rows.to_vec()),
        };
        builder.add(&Record {
            privacy_id: PrivacyId::from_bytes([*user; 32]),
            columns: vec![column],
        });
    }
    let mut total = vec![0; intrinsic.dimension()];
    for sum in builder.finish_with(threads, &|| true).unwrap() {
        let bytes = sum.to_bytes();
        let (eights, _) = bytes.expose().as_chunks::<8>();
        for (total, eight) in total.iter_mut().zip(eights) {
            *total += i64::from_le_bytes(*eight);
        }
    }
    total
}

fn texts(intrinsic: &Intrinsic, uploads: &[(u8, &str)], threads: usize) -> Vec<i64> {
    let uploads: Vec<_> = uploads.iter().map(|(u, t)| (*u, Said::Text(t))).collect();
    raw(intrinsic, &state(intrinsic), &uploads, threads)
}

fn norm_sq(q: &[i64]) -> i128 {
    q.iter().map(|q| i128::from(*q) * i128::from(*q)).sum()
}

// I4: catches a user that speaks once per blob, or louder by repeating itself.
#[test]
fn a_user_contributes_once_however_it_is_spread() {
    let sum = sum_of(terms(chars()));
    let whole = texts(&sum, &[(1, "abcab")], 1);
    assert!(norm_sq(&whole) > 0 && norm_sq(&whole) <= i128::from(SCALE * SCALE));
    assert_eq!(texts(&sum, &[(1, "abcab"), (1, "abcab")], 1), whole);
    let two = texts(&sum, &[(1, "abc"), (1, "cba")], 1);
    assert_eq!(texts(&sum, &[(1, "cba"), (1, "abc")], 1), two, "order");
    assert!(norm_sq(&two) <= i128::from(SCALE * SCALE));
    // Another user's words count beside them, exactly.
    let both = texts(&sum, &[(1, "abcab"), (2, "bca")], 1);
    let other = texts(&sum, &[(2, "bca")], 1);
    assert!(
        both.iter()
            .zip(whole.iter().zip(&other))
            .all(|(b, (x, y))| *b == x + y)
    );
}

// I4: catches a bound that is not applied, or applied per blob.
#[test]
fn only_so_many_items_of_a_user_count() {
    let sum = sum_of(terms(chars()));
    let eight = texts(&sum, &[(1, "abcabcab")], 1);
    assert_eq!(texts(&sum, &[(1, "abcabcabbbbbb")], 1), eight);
    assert_ne!(texts(&sum, &[(1, "abcabca")], 1), eight);
    let sum = sum_of(terms(rows()));
    let say = |rows: &[f32]| raw(&sum, &state(&sum), &[(1, Said::Rows(rows))], 1);
    let many: Vec<f32> = (0..10)
        .flat_map(|i| [0.5, 0.1 * i as f32, (i % 2) as f32])
        .collect();
    assert_eq!(say(&many), say(&many[..24]));
    assert_ne!(say(&many[..21]), say(&many[..24]));
    // Half a row does not count.
    assert_eq!(say(&many[..23]), say(&many[..21]));
}

// I7: integers add up the same on every number of threads.
#[test]
fn threads_change_nothing() {
    let sum = sum_of(terms(chars()));
    let uploads: Vec<(u8, &str)> = (0..40)
        .map(|u| (u, ["abc", "cab", "b", ""][u as usize % 4]))
        .collect();
    let one = texts(&sum, &uploads, 1);
    for threads in [2, 3, 64] {
        assert_eq!(texts(&sum, &uploads, threads), one, "{threads}");
    }
}

// I5, I12: whatever a leaf is made to return is bounded by the clip or is zero, and nobody is told.
#[test]
fn hostile_numbers_are_bounded() {
    let sum = sum_of(terms(rows()));
    let honest = [
        (2, Said::Rows(&[0.25, -1.0, 1.0])),
        (3, Said::Rows(&[1.0, 0.5, 0.0])),
    ];
    let base = raw(&sum, &state(&sum), &honest, 1);
    let hostile: [&[f32]; 8] = [
        &[f32::NAN, 1.0, 1.0],
        &[f32::INFINITY, 1.0, 0.0],
        &[f32::NEG_INFINITY, f32::INFINITY, 0.0],
        &[1e38, 1e38, 1.0],
        &[1e-45, -1e-45, 1.0],
        &[0.0, 0.0, f32::NAN],
        &[0.0, 0.0, 7.0],
        &[0.0, 0.0, -1.0],
    ];
    for rows in hostile {
        let with = [
            (1, Said::Rows(rows)),
            (2, Said::Rows(&[0.25, -1.0, 1.0])),
            (3, Said::Rows(&[1.0, 0.5, 0.0])),
        ];
        let moved = raw(&sum, &state(&sum), &with, 2);
        let difference: Vec<i64> = moved.iter().zip(&base).map(|(a, b)| a - b).collect();
        assert!(
            norm_sq(&difference) <= i128::from(SCALE * SCALE),
            "{rows:?}"
        );
    }
    // All at once, and a broadcast that is itself hostile: zero, not an error.
    for bad in [f32::NAN, f32::INFINITY, 1e38] {
        let state: Vec<u8> = (0..sum.dimension())
            .flat_map(|_| bad.to_le_bytes())
            .collect();
        let all: Vec<_> = (1..9)
            .map(|u| (u, Said::Rows(hostile[u as usize - 1])))
            .collect();
        let total = raw(&sum, &state, &all, 2);
        assert!(norm_sq(&total) <= 64 * i128::from(SCALE * SCALE), "{bad}");
    }
}

// I9: a lease that ends inside a sum leaves nothing of it.
#[test]
fn an_interrupted_sum_is_no_sum() {
    let (bundle, sum) = (bundle(), sum_of(terms(chars())));
    let bytes = state(&sum);
    let query = Query::new(&sum, &bundle, &bytes).unwrap();
    let key = IndexKey::new(&Secret::new([9; 32]));
    for threads in [1, 3] {
        let one = BlockCount::new(1).unwrap();
        let mut builder = SumBuilder::new(&query, &key, one, &[0]).unwrap();
        for user in 0..5 {
            builder.add(&Record {
                privacy_id: PrivacyId::from_bytes([user; 32]),
                columns: vec![Column::text("text", "abc")],
            });
        }
        let left = std::sync::atomic::AtomicI32::new(3);
        let go_on = || left.fetch_sub(1, std::sync::atomic::Ordering::Relaxed) > 0;
        let stopped = builder.finish_with(threads, &go_on);
        assert!(matches!(stopped.err(), Some(ProgramError::Interrupted)));
    }
}

#[test]
fn a_broadcast_of_another_length_is_refused() {
    let (bundle, sum) = (bundle(), sum_of(terms(chars())));
    let bytes = state(&sum);
    for len in [0, bytes.len() - 4, bytes.len() - 1, bytes.len() + 4] {
        let mut other = bytes.clone();
        other.resize(len, 0);
        assert!(matches!(
            Query::new(&sum, &bundle, &other).err(),
            Some(ProgramError::StateLength { .. })
        ));
    }
}

// Registration: what would not fit is refused before anything is paid.
#[test]
fn ranges_are_checked() {
    assert!(sum_of(terms(chars())).check_range(1 << 20).is_ok());
    assert!(
        sum_of(terms(chars())).check_range(1 << 46).is_err(),
        "the sum"
    );
    let cheap = ClippedSumTerms {
        rho: NanoRho(1),
        ..terms(chars())
    };
    assert!(sum_of(cheap).check_range(10).is_err(), "the noise");
    let refused = |terms: ClippedSumTerms<'_>| ClippedSumSpec::new(&bundle(), terms).is_err();
    let base = || terms(chars());
    assert!(refused(ClippedSumTerms { scale: 2, ..base() }));
    assert!(refused(ClippedSumTerms {
        alphabet: None,
        ..base()
    }));
    assert!(refused(ClippedSumTerms {
        max_items_per_user: 0,
        ..base()
    }));
    assert!(refused(ClippedSumTerms {
        max_items_per_user: 65_537,
        ..base()
    }));
    assert!(refused(ClippedSumTerms {
        rate_micro: 0,
        ..base()
    }));
    assert!(refused(ClippedSumTerms {
        alphabet: Some("a.txt"),
        ..terms(rows())
    }));
    let other = Model::NextChar(NextChar {
        alphabet: 7,
        context: 2,
        embedding: 2,
        hidden: 3,
    });
    assert!(refused(ClippedSumTerms {
        model: other,
        ..base()
    }));
    assert!(!refused(base()));
}

// The noise of a clipped sum costs at most what is stated, and is long enough.
#[test]
fn noise_is_for_the_stated_sensitivity() {
    let sum = sum_of(terms(chars()));
    assert_eq!(sum.sensitivity_sq(), SCALE * SCALE);
    let cost = siegel_dp::cost_of(SCALE * SCALE, sum.sigma2().unwrap());
    assert!(cost <= sum.cost().rho_nano && cost.0 * 1000 >= sum.cost().rho_nano.0 * 999);
    let mut total = Total::new(&sum, BlockCount::new(1).unwrap());
    let zero = vec![0u8; sum.dimension() * 8].into();
    total
        .add(
            &siegel_program::BlockSum::from_bytes(0, &zero, &sum)
                .ok()
                .unwrap(),
        )
        .unwrap();
    let noisy = total
        .release(Noise::draw(&sum, |_| Secret::new([1; 32])).unwrap())
        .unwrap();
    let sigma = sum.standard_error().unwrap();
    let rms = (noisy.iter().map(|q| (*q as f64).powi(2)).sum::<f64>() / noisy.len() as f64).sqrt();
    assert!((0.6..1.5).contains(&(rms / sigma)), "{rms} {sigma}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    // I5: zeroing a user moves the sum by at most the sensitivity, whatever the user says.
    #[test]
    fn sensitivity(
        rows in prop::collection::vec(any::<f32>(), 0..40),
        clip in 1u64..1_000_000_000,
    ) {
        let sum = sum_of(ClippedSumTerms { clip_micro: clip, ..terms(self::rows()) });
        let total = raw(&sum, &state(&sum), &[(1, Said::Rows(&rows))], 1);
        prop_assert!(norm_sq(&total) <= i128::from(SCALE * SCALE));
    }

    #[test]
    fn hostile_intrinsics_never_panic(at in 0usize..600, byte: u8) {
        let mut bytes = sum_of(terms(chars())).to_bytes().unwrap();
        let len = bytes.len();
        bytes[at % len] = byte;
        if let Ok(back) = Intrinsic::parse(&bytes) {
            prop_assert_eq!(back.to_bytes().unwrap(), bytes);
            let _ = back.check_range(1000);
        }
    }
}
