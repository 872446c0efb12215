//! σ² as an exact fraction, and what it costs.
//!
//! The discrete Gaussian with parameter σ² on integers with L2 sensitivity Δ is exactly
//! Δ²/(2σ²)-zCDP (arXiv 2004.00010, theorem 4), also in many dimensions with independent noise.

use siegel_ident::NanoRho;

use crate::DpError;
use crate::gaussian::fits;

/// 10⁹ / 2: nano-ρ = Δ² · `HALF_NANO` / σ².
const HALF_NANO: u128 = 500_000_000;

/// The parameter σ² of a discrete Gaussian, in squared lattice units, in lowest terms, positive.
/// The variance of the noise is at most σ², and practically equal to it for σ > 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sigma2 {
    num: u64,
    den: u64,
}

impl Sigma2 {
    /// σ² = `num`/`den`. Refuses a zero part.
    pub fn new(num: u64, den: u64) -> Result<Self, DpError> {
        if num == 0 || den == 0 {
            return Err(DpError::NotPositive { num, den });
        }
        let g = gcd(num.into(), den.into()) as u64;
        Ok(Self {
            num: num / g,
            den: den / g,
        })
    }

    /// Numerator, in lowest terms.
    pub const fn num(self) -> u64 {
        self.num
    }

    /// Denominator, in lowest terms.
    pub const fn den(self) -> u64 {
        self.den
    }

    /// σ as a float, for standard errors and plots; decisions use the fraction.
    pub fn sigma(self) -> f64 {
        (self.num as f64 / self.den as f64).sqrt()
    }
}

/// The smallest σ² that the sampler can draw and that costs at most `rho` at squared L2
/// sensitivity `sensitivity_sq`: Δ²/(2ρ) exactly where it fits, else rounded *up* by less than
/// one part in 2⁴⁹ or to the next whole number, so that the cost is never understated (I6).
pub fn sigma2_for(sensitivity_sq: u64, rho: NanoRho) -> Result<Sigma2, DpError> {
    if sensitivity_sq == 0 {
        return Err(DpError::NoSensitivity);
    }
    if rho.0 == 0 {
        return Err(DpError::NoBudget);
    }
    let num = u128::from(sensitivity_sq) * HALF_NANO;
    let den = u128::from(rho.0);
    let g = gcd(num, den);
    if let Some(exact) = fraction(num / g, den / g) {
        return Ok(exact);
    }
    // Too fine for the sampler: the finest dyadic fraction above it that fits.
    (0..=50u32)
        .rev()
        .find_map(|bits| fraction(num.checked_mul(1 << bits)?.div_ceil(den), 1 << bits))
        .ok_or(DpError::TooMuchNoise {
            sensitivity_sq,
            rho,
        })
}

/// ρ of one draw with this σ² at squared L2 sensitivity `sensitivity_sq`, rounded up to a whole
/// nano-ρ (I6). Saturates at `u64::MAX`, which no policy can hold.
pub fn cost_of(sensitivity_sq: u64, sigma2: Sigma2) -> NanoRho {
    let cost = u128::from(sensitivity_sq)
        .checked_mul(u128::from(sigma2.den))
        .and_then(|product| product.checked_mul(HALF_NANO))
        .map(|product| product.div_ceil(u128::from(sigma2.num)));
    NanoRho(cost.and_then(|c| u64::try_from(c).ok()).unwrap_or(u64::MAX))
}

fn fraction(num: u128, den: u128) -> Option<Sigma2> {
    let sigma2 = Sigma2::new(u64::try_from(num).ok()?, u64::try_from(den).ok()?).ok()?;
    fits(sigma2).then_some(sigma2)
}

fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_bigint::BigUint;
    use proptest::prelude::*;

    #[test]
    fn known_values() {
        // Δ² = 32, ρ = 0.1: σ² = 160.
        assert_eq!(sigma2_for(32, NanoRho(100_000_000)), Sigma2::new(160, 1));
        assert_eq!(
            cost_of(32, Sigma2::new(160, 1).unwrap()),
            NanoRho(100_000_000)
        );
        // Δ = 1, σ² = 3: ρ = 1/6, rounded up in the ninth digit.
        assert_eq!(cost_of(1, Sigma2::new(3, 1).unwrap()), NanoRho(166_666_667));
        assert_eq!(sigma2_for(0, NanoRho(1)), Err(DpError::NoSensitivity));
        assert_eq!(sigma2_for(1, NanoRho(0)), Err(DpError::NoBudget));
        assert!(matches!(
            sigma2_for(u64::MAX, NanoRho(1)),
            Err(DpError::TooMuchNoise { .. })
        ));
        assert_eq!(
            Sigma2::new(0, 1),
            Err(DpError::NotPositive { num: 0, den: 1 })
        );
        assert_eq!(Sigma2::new(6, 4), Sigma2::new(3, 2));
        assert_eq!(
            cost_of(u64::MAX, Sigma2::new(1, u64::MAX).unwrap()),
            NanoRho(u64::MAX)
        );
    }

    proptest! {
        /// I6. Catches a floor where a ceiling belongs, in either direction: exact big integers.
        #[test]
        fn i6_cost_is_never_understated(sens in 1u64..1 << 48, rho in 1u64..1 << 53) {
            let Ok(s2) = sigma2_for(sens, NanoRho(rho)) else { return Ok(()) };
            prop_assert!(cost_of(sens, s2).0 <= rho);
            // sens·10⁹ · den / (2 num) ≤ rho, without any rounding.
            let lhs = BigUint::from(sens) * s2.den() * 500_000_000u64;
            let rhs = BigUint::from(rho) * s2.num();
            prop_assert!(lhs <= rhs);
            // And not wasteful: 1 − 2⁻⁴⁰ of the allotment is used, or σ² is a whole number + 1.
            let slack = &rhs - &lhs;
            prop_assert!((slack << 40u32) <= rhs || s2.den() == 1 || s2.sigma() < 1e-3);
        }

        #[test]
        fn i6_cost_rounds_up_by_less_than_one(sens in 1u64..1 << 40, num in 1u64..1 << 51, den in 1u64..1 << 40) {
            let s2 = Sigma2::new(num, den).unwrap();
            let cost = cost_of(sens, s2).0;
            prop_assume!(cost < u64::MAX);
            let exact_num = BigUint::from(sens) * s2.den() * 500_000_000u64;
            prop_assert!(BigUint::from(cost) * s2.num() >= exact_num);
            prop_assert!(BigUint::from(cost - 1) * s2.num() < exact_num);
        }
    }
}
