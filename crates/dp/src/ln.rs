//! The natural logarithm in plain IEEE additions, multiplications and divisions.
//!
//! `f64::ln` calls the C library, whose last bit may differ between CPUs. A policy is accepted or
//! refused by replicas of a state machine on a comparison that uses it (I7), so it is our own.

use std::f64::consts::{LN_2, SQRT_2};

/// ln(x) for finite x > 0, normal numbers. Relative error below 10⁻¹⁵ away from 1, absolute error
/// below 10⁻¹⁶ near 1.
pub(crate) fn ln(x: f64) -> f64 {
    let bits = x.to_bits();
    let mut exponent = (bits >> 52) as i64 - 1023;
    let mut mantissa = f64::from_bits(bits & ((1 << 52) - 1) | 1023 << 52);
    if mantissa > SQRT_2 {
        mantissa /= 2.0;
        exponent += 1;
    }
    // ln m = 2 atanh(s), s = (m − 1)/(m + 1), |s| ≤ 0.172: 14 terms leave less than 10⁻²².
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let square = s * s;
    let mut sum = 0.0;
    for k in (0..14u32).rev() {
        sum = sum * square + 1.0 / f64::from(2 * k + 1);
    }
    exponent as f64 * LN_2 + 2.0 * s * sum
}

#[cfg(test)]
mod tests {
    use super::ln;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_the_library(x in prop::num::f64::POSITIVE | prop::num::f64::NORMAL) {
            let x = x.abs();
            prop_assume!(x.is_normal());
            prop_assert!((ln(x) - x.ln()).abs() <= 1e-15 * x.ln().abs() + 1e-16, "{x}");
        }
        #[test]
        fn agrees_near_one(x in 0.5f64..2.0) {
            prop_assert!((ln(x) - x.ln()).abs() <= 1e-15 * x.ln().abs() + 1e-16, "{x}");
        }
    }
}
