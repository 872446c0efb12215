//! exp and tanh in `f32` from additions, multiplications and divisions alone.
//!
//! The standard library's would call the platform's, which chooses by CPU at run time (I7). Both are
//! without branches, so loops over them become vector code, and take the same time for all numbers
//! but denormals. NaN stays NaN.

/// eˣ, for x clamped to \[−87, 88\], so the result is neither denormal nor infinite. Relative error at
/// most 2·10⁻⁷.
#[inline(always)]
pub(crate) fn exp(x: f32) -> f32 {
    // 1.5 · 2²³: adding it leaves a whole number in the low bits of the mantissa.
    const SHIFT: f32 = 12_582_912.0;
    // ln 2 in two parts; the first has 9 bits, so its product with a small whole number is exact.
    const LN2_HIGH: f32 = 0.693_359_4;
    const LN2_LOW: f32 = -2.121_944_4e-4;

    let x = if x < -87.0 { -87.0 } else { x };
    let x = if x > 88.0 { 88.0 } else { x };
    let shifted = x * std::f32::consts::LOG2_E + SHIFT;
    let n = shifted - SHIFT;
    let r = x - n * LN2_HIGH - n * LN2_LOW;
    // |r| ≤ ½ ln 2 and a little: the Taylor series to r⁷ is good to 10⁻⁸.
    let p = 1.0 / 5040.0;
    let p = p * r + 1.0 / 720.0;
    let p = p * r + 1.0 / 120.0;
    let p = p * r + 1.0 / 24.0;
    let p = p * r + 1.0 / 6.0;
    let p = p * r + 0.5;
    let p = p * r + 1.0;
    let p = p * r + 1.0;
    // 2ⁿ, −126 ≤ n ≤ 127: n stands in the low bits of `shifted`; move it to the exponent's place.
    let power = f32::from_bits((shifted.to_bits() << 23).wrapping_add(0x3f80_0000));
    p * power
}

/// tanh x; absolute error at most 2·10⁻⁷, and relative below |x| = ¼.
#[inline(always)]
pub(crate) fn tanh(x: f32) -> f32 {
    let size = x.abs();
    let square = x * x;
    // Taylor to x⁹, good to 2·10⁻⁹ below ¼.
    let p = 62.0 / 2835.0;
    let p = p * square - 17.0 / 315.0;
    let p = p * square + 2.0 / 15.0;
    let p = p * square - 1.0 / 3.0;
    let near = size + size * (square * p);
    // 1 − tanh 9 is below half a unit in the last place of 1.
    let clamped = if size > 9.0 { 9.0 } else { size };
    let far = 1.0 - 2.0 / (exp(2.0 * clamped) + 1.0);
    (if size < 0.25 { near } else { far }).copysign(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every 1,000th float there is, against f64.
    #[test]
    fn exp_and_tanh_are_close() {
        for bits in (0..=u32::MAX).step_by(1_009) {
            let x = f32::from_bits(bits);
            let (e, t) = (exp(x), tanh(x));
            if x.is_nan() {
                assert!(e.is_nan() && t.is_nan());
                continue;
            }
            let exact = f64::from(x).clamp(-87.0, 88.0).exp();
            let error = (f64::from(e) / exact - 1.0).abs();
            assert!(error <= 2e-7, "exp({x}) = {e}, relative error {error}");
            let exact = f64::from(x).tanh();
            let scale = if x.abs() < 0.25 { exact.abs() } else { 1.0 };
            let error = (f64::from(t) - exact).abs();
            assert!(
                error <= 2e-7 * scale + 1e-45,
                "tanh({x}) = {t}, error {error}"
            );
            assert!(t.abs() <= 1.0 && e.is_normal());
        }
    }

    /// I7. The same bits everywhere; catches a coefficient or an order that changed.
    #[test]
    fn i7_golden_bits() {
        let mut hash = 0u64;
        for bits in (0..=f32::INFINITY.to_bits()).step_by(4_099) {
            for x in [f32::from_bits(bits), -f32::from_bits(bits)] {
                for y in [exp(x), tanh(x)] {
                    hash = (hash ^ u64::from(y.to_bits())).wrapping_mul(0x100_0000_01b3);
                }
            }
        }
        assert_eq!(hash, 14_676_504_621_035_593_014);
    }
}
