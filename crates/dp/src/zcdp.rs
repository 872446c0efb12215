//! zCDP to (ε, δ), by the optimal conversion, rounded outwards.
//!
//! ρ-zCDP implies (ε, δ)-DP for every α > 1 with
//! ε = α ρ + ln(1 − 1/α) − (ln δ + ln α) / (α − 1)
//! (arXiv 2004.00010, corollary 13, solved for ε). Every α gives a true statement, so an imperfect
//! minimum over α only makes ε larger. The claim of a policy is always this figure, never that of
//! the continuous Gaussian.

use siegel_ident::{Budget, NanoRho};

use crate::ln::ln;

/// Above ρ = 10⁴ the closed form ρ + 2√(ρ ln 1/δ) is used: still true, and monotone in floats.
const CLOSED_FORM_ABOVE: u64 = 10_000_000_000_000;

/// Smallest δ that is converted; smaller ones give infinity.
const MIN_DELTA: f64 = 1e-300;

/// The ε that ρ-zCDP gives at `delta`, rounded up.
///
/// At least the exact value of the optimal conversion and within 2·10⁻¹² (relative plus absolute)
/// of it. 0 for ρ = 0 or `delta` ≥ 1; infinity for `delta` below 10⁻³⁰⁰, negative or NaN.
pub fn epsilon(rho: NanoRho, delta: f64) -> f64 {
    if delta.is_nan() || delta < MIN_DELTA {
        return f64::INFINITY;
    }
    if rho.0 == 0 || delta >= 1.0 {
        return 0.0;
    }
    let ln_delta = ln(delta);
    let value = if rho.0 > CLOSED_FORM_ABOVE {
        rho.as_f64() + 2.0 * (rho.as_f64() * -ln_delta).sqrt()
    } else {
        minimum(|x| at_order(rho.as_f64(), ln_delta, x))
    };
    // Outwards: far more than the rounding errors of the few operations above.
    value.max(0.0) * (1.0 + 1e-12) + 1e-12
}

/// The ε of a whole budget at a total δ: the conversion gets δ − δ₀, rounded down (facts: reported
/// ε = zcdp(ρ, δ − δ₀)). Infinity if δ₀ leaves nothing.
pub fn epsilon_of(budget: Budget, delta: f64) -> f64 {
    if budget.delta0.0 == 0 {
        return epsilon(budget.rho_nano, delta);
    }
    epsilon(
        budget.rho_nano,
        (delta - budget.delta0.as_f64().next_up()).next_down(),
    )
}

/// The largest ρ whose [`epsilon`] at `delta` is at most `eps`; 0 if there is none.
pub fn max_rho(eps: f64, delta: f64) -> NanoRho {
    // epsilon(lo) ≤ eps holds throughout, so the answer is valid whatever the search does.
    let (mut lo, mut hi) = (0u64, u64::MAX);
    while lo < hi {
        let middle = lo + (hi - lo).div_ceil(2);
        if epsilon(NanoRho(middle), delta) <= eps {
            lo = middle;
        } else {
            hi = middle - 1;
        }
    }
    NanoRho(lo)
}

/// ε by the order α = 1 + x.
fn at_order(rho: f64, ln_delta: f64, x: f64) -> f64 {
    let alpha = 1.0 + x;
    alpha * rho + ln(x / alpha) - (ln_delta + ln(alpha)) / x
}

/// The minimum over x > 0 of a function with one valley: powers of two, then golden section.
fn minimum(f: impl Fn(f64) -> f64) -> f64 {
    let mut best = (1.0, f(1.0));
    for exponent in -40..60 {
        let x = 2f64.powi(exponent);
        let value = f(x);
        if value < best.1 {
            best = (x, value);
        }
    }
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    let (mut low, mut high) = (best.0 / 2.0, best.0 * 2.0);
    let mut left = high - GOLDEN * (high - low);
    let mut right = low + GOLDEN * (high - low);
    let (mut f_left, mut f_right) = (f(left), f(right));
    for _ in 0..60 {
        if f_left < f_right {
            (high, right, f_right) = (right, left, f_left);
            left = high - GOLDEN * (high - low);
            f_left = f(left);
        } else {
            (low, left, f_left) = (left, right, f_right);
            right = low + GOLDEN * (high - low);
            f_right = f(right);
        }
    }
    best.1.min(f_left).min(f_right)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use siegel_ident::Delta;

    fn nano(rho: f64) -> NanoRho {
        NanoRho((rho * 1e9).round() as u64)
    }

    /// I6. The table of independent figures. Catches the simple conversion ρ + 2√(ρ ln 1/δ)
    /// (10.597 at ρ = 1) and the continuous Gaussian one (9.618).
    #[test]
    fn i6_known_conversions() {
        for (rho, eps) in [
            (0.2, 4.167),
            (0.25, 4.697),
            (0.81, 8.922),
            (1.0, 10.034),
            (2.0, 14.871),
        ] {
            let got = epsilon(nano(rho), 1e-10);
            assert!((got - eps).abs() < 6e-4, "rho {rho}: {got}, expected {eps}");
        }
        assert!(
            (max_rho(8.0, 1e-4).as_f64() - 1.478).abs() < 1e-3,
            "{}",
            max_rho(8.0, 1e-4)
        );
    }

    #[test]
    fn edges() {
        assert_eq!(epsilon(NanoRho(0), 1e-6), 0.0);
        assert_eq!(epsilon(NanoRho(1), 0.0), f64::INFINITY);
        assert_eq!(epsilon(NanoRho(1), f64::NAN), f64::INFINITY);
        assert_eq!(epsilon(NanoRho(1), -1.0), f64::INFINITY);
        assert_eq!(epsilon(NanoRho(1), 1.0), 0.0);
        assert!(epsilon(NanoRho(u64::MAX), 1e-300).is_finite());
        assert_eq!(max_rho(0.0, 1e-6), NanoRho(0));
        assert_eq!(max_rho(f64::NAN, 1e-6), NanoRho(0));
        let all = Budget {
            rho_nano: nano(0.1),
            delta0: Delta(u64::MAX),
        };
        assert_eq!(epsilon_of(all, 1e-6), f64::INFINITY);
        let some = Budget {
            rho_nano: nano(0.1),
            delta0: Delta((1e-7 * 2f64.powi(64)) as u64 + 1),
        };
        assert!(epsilon_of(some, 1e-6) >= epsilon(nano(0.1), 9e-7));
        assert!(epsilon_of(some, 1e-6) > epsilon(nano(0.1), 1e-6));
    }

    /// The same formula by a grid over ln(α − 1), then a finer one, with the library's logarithm:
    /// at most 10⁻¹³ (relative) above the optimum.
    fn by_grid(rho: f64, delta: f64) -> f64 {
        let at = |ln_x: f64| {
            let x = ln_x.exp();
            let alpha = 1.0 + x;
            alpha * rho + (-1.0 / alpha).ln_1p() - (delta.ln() + alpha.ln()) / x
        };
        let best = |from: f64, step: f64, n: u32| {
            (0..n)
                .map(|i| from + f64::from(i) * step)
                .min_by(|a, b| at(*a).total_cmp(&at(*b)))
                .unwrap()
        };
        let coarse = best(-16.0, 1e-3, 40_000);
        at(best(coarse - 1e-3, 5e-7, 4_000))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// I6. Catches a stray minimum, and a rounding that goes inwards.
        #[test]
        fn i6_outward_and_optimal(rho in 1u64..20_000_000_000, e in 1.0f64..14.0) {
            let delta = 10f64.powf(-e);
            let got = epsilon(NanoRho(rho), delta);
            let grid = by_grid(rho as f64 * 1e-9, delta).max(0.0);
            prop_assert!(got > grid, "{got} {grid}");
            prop_assert!(got <= grid * (1.0 + 2e-12) + 2e-12, "{got} {grid}");
        }

        /// I6. More ρ never costs less ε, to the last nano; a larger δ never costs more.
        #[test]
        fn i6_monotone(rho in any::<u64>(), shift in 0u32..64, step in 1u64..100, e in 1.0f64..14.0) {
            let rho = rho >> shift;
            let delta = 10f64.powf(-e);
            prop_assert!(epsilon(NanoRho(rho), delta) <= epsilon(NanoRho(rho.saturating_add(step)), delta));
            prop_assert!(epsilon(NanoRho(rho), delta * 1.001) <= epsilon(NanoRho(rho), delta));
        }

        /// I6. max_rho is inside and one nano more is outside.
        #[test]
        fn i6_max_rho_is_tight(eps in 0.01f64..50.0, e in 2.0f64..14.0) {
            let delta = 10f64.powf(-e);
            let rho = max_rho(eps, delta);
            prop_assert!(epsilon(rho, delta) <= eps);
            prop_assert!(epsilon(NanoRho(rho.0 + 1), delta) > eps);
        }
    }
}
