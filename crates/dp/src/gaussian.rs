//! The exact discrete Gaussian on the integers.
//!
//! P(X = x) ∝ exp(−x² / 2σ²). Canonne, Kamath, Steinke (arXiv 2004.00010), algorithms 2 and 3: a
//! discrete Laplace proposal of scale t = ⌊σ⌋ + 1, accepted with probability
//! exp(−(|y| − σ²/t)² / 2σ²). All in integers.

use crate::bernoulli::{exp_neg, exp_neg_square};
use crate::{DpError, NoiseRng, Sigma2};

/// Bound on den · t² (2⁵¹), see [`DiscreteGaussian`].
const RANGE: u128 = 1 << 51;

/// Draws integers from the discrete Gaussian, exactly.
///
/// **Range**, checked once at construction: with σ² = num/den in lowest terms and t = ⌊σ⌋ + 1,
/// den · t² is at most 2⁵¹ (and so is num, which is smaller). That is every whole σ² up to 2⁵¹ − 2²⁷ (σ below about
/// 4.7·10⁷ lattice units), and finer fractions for smaller σ. Then 2·num·den·t² < 2¹⁰⁴, and the
/// square in the acceptance test fits 128 bits unless |y| ≥ 2¹² t, which a proposal reaches with
/// probability e^−4096; a slower path with the same law takes over there, so nothing is truncated.
///
/// **Timing** depends on the drawn values (rejection sampling): draw in bulk before the release
/// is timed from outside (I12).
#[derive(Clone, Copy, Debug)]
pub struct DiscreteGaussian {
    sigma2: Sigma2,
    /// t = ⌊σ⌋ + 1.
    scale: u64,
    /// den · t: |y| · step − num is t·den times the distance from σ²/t.
    step: u128,
    /// 2 · num · den · t².
    denominator: u128,
}

impl DiscreteGaussian {
    /// A sampler for σ², or a refusal if it is out of the documented range.
    pub fn new(sigma2: Sigma2) -> Result<Self, DpError> {
        if !fits(sigma2) {
            return Err(DpError::Range {
                num: sigma2.num(),
                den: sigma2.den(),
            });
        }
        let t = scale(sigma2);
        let step = u128::from(sigma2.den()) * u128::from(t);
        // fits(): num ≤ 2⁵¹ and step · t ≤ 2⁵¹.
        let denominator = 2 * u128::from(sigma2.num()) * step * u128::from(t);
        Ok(Self {
            sigma2,
            scale: t,
            step,
            denominator,
        })
    }

    /// The parameter σ².
    pub const fn sigma2(&self) -> Sigma2 {
        self.sigma2
    }

    /// One draw, in lattice units.
    pub fn sample(&self, rng: &mut NoiseRng) -> i64 {
        loop {
            let (magnitude, negative) = self.laplace(rng);
            let distance =
                (u128::from(magnitude) * self.step).abs_diff(u128::from(self.sigma2.num()));
            if exp_neg_square(rng, distance, self.denominator) {
                // A magnitude beyond i64 has probability below e^-(2^37).
                let value = i64::try_from(magnitude).unwrap_or(i64::MAX);
                return if negative { -value } else { value };
            }
        }
    }

    /// `n` draws, in order.
    pub fn fill(&self, rng: &mut NoiseRng, n: usize) -> Vec<i64> {
        (0..n).map(|_| self.sample(rng)).collect()
    }

    /// P(y) ∝ exp(−|y| / t): magnitude and sign.
    fn laplace(&self, rng: &mut NoiseRng) -> (u64, bool) {
        let t = u128::from(self.scale);
        loop {
            let offset = rng.below(t);
            if !exp_neg(rng, offset, t) {
                continue;
            }
            let mut whole = 0u64;
            while exp_neg(rng, 1, 1) {
                whole = whole.saturating_add(1);
            }
            let magnitude = self
                .scale
                .saturating_mul(whole)
                .saturating_add(offset as u64);
            let negative = rng.bit();
            // −0 would count 0 twice.
            if !(negative && magnitude == 0) {
                return (magnitude, negative);
            }
        }
    }
}

/// True if the sampler's 128-bit products cannot overflow for this σ².
pub(crate) fn fits(sigma2: Sigma2) -> bool {
    let t = u128::from(scale(sigma2));
    // t > σ, so this bounds num = den · σ² too. No overflow: den · (σ + 1)² ≤ 4 · 2⁶⁴.
    u128::from(sigma2.den()) * t * t <= RANGE
}

/// ⌊σ⌋ + 1. ⌊√(num/den)⌋ = ⌊√⌊num/den⌋⌋.
fn scale(sigma2: Sigma2) -> u64 {
    (sigma2.num() / sigma2.den()).isqrt() + 1
}

#[cfg(test)]
mod tests;
