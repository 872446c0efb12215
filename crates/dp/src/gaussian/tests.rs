//! The sampler against the exact law. Seeds are fixed, so a red test is a bug and no bad luck;
//! thresholds are at 4.5 standard deviations.

use num_bigint::BigUint;
use siegel_ident::{NanoRho, Secret};

use super::*;
use crate::sigma2_for;

fn rng(seed: u8) -> NoiseRng {
    NoiseRng::new(&Secret::new([seed; 32]))
}

fn sigma2(num: u64, den: u64) -> Sigma2 {
    Sigma2::new(num, den).unwrap()
}

fn draw(s2: Sigma2, n: usize, seed: u8) -> Vec<i64> {
    DiscreteGaussian::new(s2).unwrap().fill(&mut rng(seed), n)
}

/// P(X = x) for |x| ≤ reach, from the definition; index reach is x = 0.
fn pmf(s2: Sigma2, reach: i64) -> Vec<f64> {
    let weight = |x: i64| (-((x * x) as f64) * s2.den() as f64 / (2.0 * s2.num() as f64)).exp();
    let far = (20.0 * s2.sigma()) as i64 + 20;
    let total: f64 = (-far..=far).map(weight).sum();
    (-reach..=reach).map(|x| weight(x) / total).collect()
}

/// Standardised chi-square of draws against the exact law of `law`: cells with at least 20
/// expected, the two tails joined. About N(0, 1) if the law is right.
fn chi_square_z(draws: &[i64], law: Sigma2) -> f64 {
    let n = draws.len() as f64;
    let reach = (8.0 * law.sigma()) as i64 + 3;
    let probabilities = pmf(law, reach);
    // Neighbouring values share a cell where one alone is too thin (large σ).
    let mut cells: Vec<(i64, f64, f64)> = Vec::new();
    let mut open = (0.0, 0.0);
    let mut counts = vec![0f64; probabilities.len()];
    let mut outside = 0f64;
    for x in draws {
        match counts.get_mut((x + reach).max(-1) as usize) {
            Some(cell) if *x >= -reach => *cell += 1.0,
            _ => outside += 1.0,
        }
    }
    let least = 20f64.max(n / 200.0);
    for (i, p) in probabilities.iter().enumerate() {
        open = (open.0 + counts[i], open.1 + p * n);
        if open.1 >= least {
            cells.push((i as i64, open.0, open.1));
            open = (0.0, 0.0);
        }
    }
    let rest = n - cells.iter().map(|c| c.2).sum::<f64>();
    let (last_observed, last_expected) = (open.0 + outside, rest);
    let mut chi: f64 = cells.iter().map(|(_, o, e)| (o - e) * (o - e) / e).sum();
    if last_expected > 5.0 {
        chi += (last_observed - last_expected).powi(2) / last_expected;
    }
    let df = cells.len() as f64;
    // Wilson–Hilferty.
    ((chi / df).cbrt() - (1.0 - 2.0 / (9.0 * df))) / (2.0 / (9.0 * df)).sqrt()
}

const LAWS: &[(u64, u64)] = &[
    (1, 16),
    (1, 4),
    (2, 3),
    (1, 1),
    (5, 2),
    (16, 1),
    (160, 1),
    (16_000_000_000, 92_345_678),
];

/// I5. Catches any wrong acceptance, scale, sign or parity: the whole law.
#[test]
fn i5_chi_square_against_the_exact_law() {
    for (i, (num, den)) in LAWS.iter().enumerate() {
        let s2 = sigma2(*num, *den);
        let z = chi_square_z(&draw(s2, 100_000, i as u8 + 1), s2);
        assert!(z < 4.5, "sigma^2 {num}/{den}: z = {z}");
    }
}

/// The harness can see: half the standard deviation, 10 % less of it, a doubled zero, a shift by
/// one and a folded sign all fail the same test.
#[test]
fn i5_chi_square_sees_wrong_noise() {
    for (i, (num, den)) in LAWS.iter().enumerate().skip(2) {
        let s2 = sigma2(*num, *den);
        let halved = draw(sigma2(*num, den * 4), 100_000, i as u8 + 1);
        assert!(chi_square_z(&halved, s2) > 20.0, "halved at {num}/{den}");
    }
    let s2 = sigma2(16, 1);
    assert!(
        chi_square_z(&draw(sigma2(1296, 100), 100_000, 1), s2) > 20.0,
        "10 % less"
    );
    let good = draw(s2, 100_000, 1);
    let shifted: Vec<i64> = good.iter().map(|x| x + 1).collect();
    assert!(chi_square_z(&shifted, s2) > 20.0, "shifted");
    let folded: Vec<i64> = good.iter().map(|x| x.abs()).collect();
    assert!(chi_square_z(&folded, s2) > 20.0, "folded");
    let zeros: Vec<i64> = good.iter().map(|x| if *x == 1 { 0 } else { *x }).collect();
    assert!(chi_square_z(&zeros, s2) > 20.0, "zero counted twice");
}

/// Mean 0 and variance of the exact law, from lattice-sized to the largest σ.
#[test]
fn i5_moments() {
    let n = 40_000;
    for (i, s2) in [
        sigma2(1, 1),
        sigma2(1000, 7),
        sigma2(1 << 40, 3),
        sigma2((1 << 51) - (1 << 28), 1),
    ]
    .into_iter()
    .enumerate()
    {
        let draws = draw(s2, n, i as u8 + 40);
        let variance = s2.sigma().powi(2);
        let mean = draws.iter().map(|x| *x as f64).sum::<f64>() / n as f64;
        let second = draws.iter().map(|x| (*x as f64).powi(2)).sum::<f64>() / n as f64;
        assert!(
            mean.abs() < 4.5 * s2.sigma() / (n as f64).sqrt(),
            "mean {mean}"
        );
        // The variance of the sample variance of a Gaussian is 2 σ⁴ / n.
        let slack = 4.5 * variance * (2.0 / n as f64).sqrt();
        assert!(
            (second - variance).abs() < slack,
            "variance {second}, expected {variance}"
        );
    }
}

/// P(0) and tail mass at 2, 3 and 4 σ. Catches a truncated or too heavy tail.
#[test]
fn i5_zero_and_tail() {
    let n = 400_000;
    let s2 = sigma2(100, 1);
    let draws = draw(s2, n, 60);
    let law = pmf(s2, 200);
    let check = |what: &str, count: usize, p: f64| {
        let expected = p * n as f64;
        let slack = 4.5 * expected.sqrt() + 1.0;
        assert!(
            (count as f64 - expected).abs() < slack,
            "{what}: {count}, expected {expected}"
        );
    };
    check("P(0)", draws.iter().filter(|x| **x == 0).count(), law[200]);
    for beyond in [20i64, 30, 40] {
        let p: f64 = law.iter().skip(200 + beyond as usize).sum::<f64>() * 2.0;
        check(
            "tail",
            draws.iter().filter(|x| x.abs() >= beyond).count(),
            p,
        );
    }
}

/// I7. Golden: the first draws of a fixed key. Any change of the algorithm, even to another exact
/// one, changes released bytes and must be seen.
#[test]
fn i7_golden_draws() {
    assert_eq!(draw(sigma2(160, 1), 12, 7), GOLDEN_160);
    assert_eq!(draw(sigma2(1 << 44, 1), 4, 7), GOLDEN_WIDE);
}

const GOLDEN_160: [i64; 12] = [17, 13, -6, 20, -3, -19, -9, -9, 1, 5, -32, -18];
const GOLDEN_WIDE: [i64; 4] = [-5374197, 4485825, 7788664, 3261040];

/// `fill` is the same as drawing one by one, whatever the cut.
#[test]
fn i7_fill_is_a_prefix_of_a_longer_fill() {
    let long = draw(sigma2(160, 1), 1001, 8);
    assert_eq!(draw(sigma2(160, 1), 500, 8), long[..500]);
}

/// Range limits on both sides, and the 128-bit products at the limit, in exact arithmetic.
#[test]
fn i14_range_is_checked_at_construction() {
    for (num, den) in [
        ((1 << 51) - (1 << 28), 1),
        (1, 1 << 51),
        (1 << 49, 3),
        (1, 1),
    ] {
        let s2 = sigma2(num, den);
        let sampler = DiscreteGaussian::new(s2).unwrap();
        let t = BigUint::from(sampler.scale);
        let exact = BigUint::from(2u32) * num * den * &t * &t;
        assert_eq!(BigUint::from(sampler.denominator), exact);
        // |y| < 2¹² t: the square fits.
        let farthest = (BigUint::from(sampler.step) * &t) << 12u32;
        assert!(&farthest * &farthest < BigUint::from(1u32) << 128u32);
        assert!(sampler.fill(&mut rng(1), 50).len() == 50);
    }
    for (num, den) in [
        (1 << 51, 1),
        ((1 << 51) + 1, 1),
        (u64::MAX, 1),
        (1, (1 << 51) + 1),
        (u64::MAX, 2),
        ((1 << 51) - 1, (1 << 51) - 2),
    ] {
        let refused = DiscreteGaussian::new(sigma2(num, den));
        assert!(matches!(refused, Err(DpError::Range { .. })), "{num}/{den}");
    }
}

/// What [`sigma2_for`] returns can always be drawn.
#[test]
fn every_computed_sigma_is_in_range() {
    for sens in [1u64, 32, 1 << 20, 1 << 40] {
        for rho in [1u64, 999_999_937, 92_345_678, 1 << 52] {
            if let Ok(s2) = sigma2_for(sens, NanoRho(rho)) {
                assert!(DiscreteGaussian::new(s2).is_ok());
            }
        }
    }
}
