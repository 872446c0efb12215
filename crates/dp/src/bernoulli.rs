//! Coins with probability exp(−γ), exact for rational γ.
//!
//! Canonne, Kamath, Steinke, "The Discrete Gaussian for Differential Privacy" (arXiv 2004.00010),
//! algorithm 1. Only uniform integers and comparisons: no float ever decides (I5, I7).

use crate::NoiseRng;

/// True with probability exactly `num / den`. Needs `num <= den` and `den > 0`.
fn fraction(rng: &mut NoiseRng, num: u128, den: u128) -> bool {
    rng.below(den) < num
}

/// True with probability exactly exp(−`num`/`den`), for any `num` and any `den > 0`.
pub fn exp_neg(rng: &mut NoiseRng, num: u128, den: u128) -> bool {
    let mut left = num;
    // exp(-γ) = exp(-1)^⌊γ⌋ · exp(-(γ - ⌊γ⌋)); almost always stops within a few tries.
    while left > den {
        if !exp_neg_unit(rng, 1, 1) {
            return false;
        }
        left -= den;
    }
    exp_neg_unit(rng, left, den)
}

/// True with probability exactly exp(−`a`² / `den`), also where `a`² does not fit 128 bits.
pub fn exp_neg_square(rng: &mut NoiseRng, a: u128, den: u128) -> bool {
    match a.checked_mul(a) {
        Some(square) => exp_neg(rng, square, den),
        // exp(-a²/den) as a product of `a` factors. Reached with probability below e^-4000 per
        // draw (see DiscreteGaussian), so its slowness does not matter; it keeps the law exact.
        None => exp_neg_product(rng, a, den),
    }
}

fn exp_neg_product(rng: &mut NoiseRng, a: u128, den: u128) -> bool {
    let mut left = a;
    while left > 0 {
        if !exp_neg(rng, a, den) {
            return false;
        }
        left -= 1;
    }
    true
}

/// γ = num/den in [0, 1]: count K until the first failure of coins γ/1, γ/2, γ/3, …; K is odd with
/// probability exp(−γ).
fn exp_neg_unit(rng: &mut NoiseRng, num: u128, den: u128) -> bool {
    let mut k = 1u128;
    // A coin of γ/k as two independent coins, γ and 1/k: den · k need not fit.
    while fraction(rng, num, den) && fraction(rng, 1, k) {
        k += 1;
    }
    k % 2 == 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use siegel_ident::Secret;

    fn rate(n: u32, mut coin: impl FnMut(&mut NoiseRng) -> bool) -> f64 {
        let mut rng = NoiseRng::new(&Secret::new([9; 32]));
        (0..n).filter(|_| coin(&mut rng)).count() as f64 / f64::from(n)
    }

    fn close(measured: f64, p: f64, n: u32) {
        let sd = (p * (1.0 - p) / f64::from(n)).sqrt();
        assert!(
            (measured - p).abs() < 4.5 * sd + 1e-12,
            "measured {measured}, expected {p}"
        );
    }

    /// I5. Catches the wrong parity of K, k starting at 0 or 2, and a lost ⌊γ⌋.
    #[test]
    fn i5_coin_has_probability_exp_minus_gamma() {
        let n = 200_000;
        for (num, den) in [
            (0u128, 1u128),
            (1, 1000),
            (1, 3),
            (1, 2),
            (1, 1),
            (7, 5),
            (2, 1),
            (3, 1),
            (22, 7),
        ] {
            let p = (-(num as f64) / den as f64).exp();
            close(rate(n, |r| exp_neg(r, num, den)), p, n);
        }
        let big = 1u128 << 94;
        close(rate(n, |r| exp_neg(r, big / 2, big)), (-0.5f64).exp(), n);
        close(
            rate(n, |r| exp_neg(r, big * 3 / 2, big)),
            (-1.5f64).exp(),
            n,
        );
    }

    /// I5. The path for squares beyond 128 bits has the same law. Catches one factor too few.
    #[test]
    fn i5_product_path_agrees_with_the_square() {
        let n = 100_000;
        for (a, den) in [(1u128, 2u128), (3, 10), (5, 20), (4, 7)] {
            let p = (-((a * a) as f64) / den as f64).exp();
            close(rate(n, |r| exp_neg_square(r, a, den)), p, n);
            close(rate(n, |r| exp_neg_product(r, a, den)), p, n);
        }
        assert_eq!(rate(50, |r| exp_neg_square(r, 1 << 70, 1 << 60)), 0.0);
    }
}
