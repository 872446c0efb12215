//! From a real update to integers of bounded norm.
//!
//! One contribution is clipped to L2 norm C, scaled so that C is S − √d/2 lattice units, and
//! rounded. Rounding moves each of d coordinates by at most ½, so the norm by at most √d/2, and the
//! integer vector has norm at most S: that is the sensitivity which the noise is drawn for (I5).
//! That is not left to floating point: the integers' own norm is checked.

use crate::DpError;

/// Largest scale: 2³¹.
const MAX_SCALE: u64 = 1 << 31;

/// Contributors times scale stay below 2⁶²: a sum cannot leave `i64`.
const MAX_SUM: u128 = 1 << 62;

/// Numbers whose squares are added in 64 bits.
const BLOCK: usize = 4096;

/// The lattice that d-dimensional updates are put on: norm at most S.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lattice {
    scale: u64,
    dimension: usize,
}

impl Lattice {
    /// A lattice with bound `scale` (S) on the norm in `dimension` (d) coordinates. S must be above
    /// √d/2, or nothing is left of an update after rounding, and at most 2³¹.
    pub fn new(scale: u64, dimension: usize) -> Result<Self, DpError> {
        // S > √d/2 in integers: 4S² > d.
        let room = 4 * u128::from(scale) * u128::from(scale) > dimension as u128;
        if dimension == 0 || scale > MAX_SCALE || !room {
            return Err(DpError::Scale { scale, dimension });
        }
        Ok(Self { scale, dimension })
    }

    /// S: the L2 sensitivity in lattice units.
    pub const fn scale(&self) -> u64 {
        self.scale
    }

    /// d.
    pub const fn dimension(&self) -> usize {
        self.dimension
    }

    /// The real value of one lattice unit: C / (S − √d/2).
    pub fn unit(&self, clip: f64) -> f64 {
        clip / self.radius()
    }

    /// Refuses a number of contributors whose exact sum could pass 2⁶².
    pub fn check_contributors(&self, contributors: u64) -> Result<(), DpError> {
        if u128::from(contributors) * u128::from(self.scale) < MAX_SUM {
            return Ok(());
        }
        Err(DpError::Contributors {
            contributors,
            scale: self.scale,
        })
    }

    /// Clips `update` to L2 norm `clip` and puts it on the lattice: Σ out² ≤ S², always (I5).
    ///
    /// All in `f64`, in a fixed order, with additions, multiplications, one square root and one
    /// division only, so the same integers come out everywhere (I7). Ties go to even.
    ///
    /// Writes zeros and says `false` if the lengths are not d, a number is not finite, `clip` is not
    /// a finite number above 0, or the integers' norm is above S after all. Work and memory do not
    /// depend on which (I12); nothing outside the worker may learn it.
    pub fn place(&self, update: &[f32], clip: f64, out: &mut [i64]) -> bool {
        let lengths = update.len() == self.dimension && out.len() == self.dimension;
        let good = lengths && clip.is_finite() && clip > 0.0;
        let good = good && self.fill(update, clip, self.radius(), out);
        if !good {
            out.fill(0);
        }
        good
    }

    /// Clipped to `clip`, scaled so that this is `radius` units, and rounded, in `out`; false if that
    /// must not be used.
    fn fill(&self, update: &[f32], clip: f64, radius: f64, out: &mut [i64]) -> bool {
        // f32 squares are exact in f64 and at most 2²⁵⁶: no overflow for any finite update. A NaN or
        // an infinity anywhere makes the sum NaN or infinite.
        let norm = sum_of_squares(update).sqrt();
        let longest = if norm > clip { norm } else { clip };
        let factor = radius / longest;
        let bound = self.scale as f64;
        let (mut sum, mut good) = (0u128, norm.is_finite());
        for (out, update) in out.chunks_mut(BLOCK).zip(update.chunks(BLOCK)) {
            // Halves of the squares, so that neither sum leaves 64 bits within a block.
            let (mut low, mut high) = (0u64, 0u64);
            for (to, &x) in out.iter_mut().zip(update) {
                let (scaled, whole) = nearest(f64::from(x) * factor);
                // |q| ≤ S ≤ 2³¹ keeps the square in range; a NaN fails this too.
                let fits = scaled.abs() <= bound;
                good &= fits;
                *to = if fits { whole } else { 0 };
                let magnitude = u64::from(to.unsigned_abs() as u32);
                let square = magnitude * magnitude;
                low += square & 0xffff_ffff;
                high += square >> 32;
            }
            sum += u128::from(low) + (u128::from(high) << 32);
        }
        good && sum <= u128::from(self.scale) * u128::from(self.scale)
    }

    /// S − √d/2, above 0.
    fn radius(&self) -> f64 {
        self.scale as f64 - (self.dimension as f64).sqrt() / 2.0
    }
}

/// Σ x², in eight sums over every eighth number and then from first to last: the processor can take
/// several at once, and the order is fixed (I7).
fn sum_of_squares(numbers: &[f32]) -> f64 {
    let mut sums = [0f64; 8];
    for eight in numbers.chunks(sums.len()) {
        for (sum, &x) in sums.iter_mut().zip(eight) {
            *sum += f64::from(x) * f64::from(x);
        }
    }
    sums.iter().sum()
}

/// The nearest whole number, ties to even, for |x| ≤ 2⁵¹, as real and as integer: adding 1.5 · 2⁵²
/// leaves no bits below the point, and the integer in the low bits. No library call, so no choice of
/// one at run time (I7). The integer of any other x is to be thrown away.
fn nearest(x: f64) -> (f64, i64) {
    const SHIFT: f64 = 6_755_399_441_055_744.0;
    let shifted = x + SHIFT;
    let whole = shifted.to_bits().wrapping_sub(SHIFT.to_bits()) as i64;
    (shifted - SHIFT, whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HOSTILE: [f32; 10] = [
        f32::NAN,
        f32::INFINITY,
        f32::NEG_INFINITY,
        1e38,
        -1e38,
        f32::MAX,
        f32::MIN_POSITIVE,
        1e-45,
        -0.0,
        0.0,
    ];

    fn squares(placed: &[i64]) -> i128 {
        placed.iter().map(|&q| i128::from(q) * i128::from(q)).sum()
    }

    fn place(scale: u64, update: &[f32], clip: f64) -> (bool, Vec<i64>) {
        let mut out = vec![99; update.len()];
        let lattice = Lattice::new(scale, update.len()).unwrap();
        let good = lattice.place(update, clip, &mut out);
        (good, out)
    }

    #[test]
    fn scales_and_contributors_have_bounds() {
        let scale = |scale, dimension| Lattice::new(scale, dimension).is_ok();
        // S > √d/2: at d = 16 that is S > 2.
        assert!(!scale(2, 16) && scale(3, 16) && scale(2, 15));
        assert!(!scale(0, 1) && scale(1, 1) && !scale(1, 4) && !scale(5, 0));
        assert!(scale(1 << 31, 3_639) && !scale((1 << 31) + 1, 3_639));
        assert!(!scale(1, usize::MAX));

        let lattice = Lattice::new(1 << 16, 3_639).unwrap();
        assert_eq!(lattice.check_contributors((1 << 46) - 1), Ok(()));
        let (contributors, scale) = (1 << 46, 1 << 16);
        let refused = DpError::Contributors {
            contributors,
            scale,
        };
        assert_eq!(lattice.check_contributors(contributors), Err(refused));
        assert!(lattice.check_contributors(u64::MAX).is_err());
    }

    /// Two dimensions, S = 1,000, C = 0.5: S − √2/2 = 999.2929, a unit is 0.5 / that.
    #[test]
    fn placed_by_hand() {
        assert_eq!(place(1000, &[0.3, -0.4], 0.5), (true, vec![600, -799]));
        // Twice as long: clipped to the same. Half as long: not.
        assert_eq!(place(1000, &[0.6, -0.8], 0.5), (true, vec![600, -799]));
        assert_eq!(place(1000, &[0.15, -0.2], 0.5), (true, vec![300, -400]));
        let unit = Lattice::new(1000, 2).unwrap().unit(0.5);
        assert!((unit * 999.292_893_218_813_4 - 0.5).abs() < 1e-15);
    }

    /// Ties go to even: S = 3 in 4 dimensions leaves 2, so C = 2 makes a unit 1.
    #[test]
    fn ties_go_to_even() {
        assert_eq!(Lattice::new(3, 4).unwrap().unit(2.0), 1.0);
        let (good, placed) = place(3, &[0.5, 1.5, -0.5, -0.25], 2.0);
        assert!(good);
        assert_eq!(placed, [0, 2, 0, 0]);
        for (x, q) in [
            (2.5, 2.0),
            (3.5, 4.0),
            (-1.5, -2.0),
            (2.0f64.powi(31), 2.0f64.powi(31)),
        ] {
            assert_eq!(nearest(x), (q, q as i64));
        }
    }

    /// I5. A number that is not finite, anywhere, makes the whole contribution zero.
    #[test]
    fn i5_hostile_numbers_are_zero_or_bounded() {
        for value in HOSTILE {
            for mut update in [vec![0.25; 50], vec![value; 50]] {
                update[7] = value;
                let (good, placed) = place(1 << 16, &update, 1.0);
                assert_eq!(good, value.is_finite(), "{value}");
                assert!(squares(&placed) <= 1 << 32);
                if !good {
                    assert_eq!(placed, [0; 50]);
                }
                if value.abs() >= 1e38 && good {
                    // Huge is clipped, not dropped.
                    assert!(placed[7].abs() > 5_000);
                }
            }
        }
        // The largest norm of all: no overflow.
        let (good, placed) = place(1 << 31, &[f32::MAX; 1000], 1e-3);
        assert!(good && squares(&placed) > 1 << 61 && squares(&placed) <= 1 << 62);
        // Too small for the lattice: zeros, and that is no failure.
        assert_eq!(place(1 << 16, &[1e-45; 9], 1.0), (true, vec![0; 9]));
        assert_eq!(place(1 << 16, &[0.0; 9], 1.0), (true, vec![0; 9]));
    }

    #[test]
    fn wrong_arguments_give_zeros() {
        let lattice = Lattice::new(1 << 16, 3).unwrap();
        for clip in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let mut out = [9; 3];
            assert!(!lattice.place(&[0.5; 3], clip, &mut out));
            assert_eq!(out, [0; 3]);
        }
        let mut out = [9; 4];
        assert!(!lattice.place(&[0.5; 4], 1.0, &mut out));
        assert_eq!(out, [0; 4]);
        assert!(!lattice.place(&[0.5; 3], 1.0, &mut out));
        // A clip so small that the factor overflows.
        let mut out = [9; 3];
        let good = lattice.place(&[0.0; 3], f64::from_bits(1), &mut out);
        assert!(!good && out == [0; 3]);
    }

    /// A norm of exactly C is not clipped, and uses the room up to the rounding.
    #[test]
    fn norm_exactly_the_clip() {
        let (good, placed) = place(1 << 16, &[0.0, 2.0, 0.0], 2.0);
        assert!(good);
        // 65,536 − √3/2 = 65,535.13.
        assert_eq!(placed, [0, 65_535, 0]);
        // The worst that rounding can do: every coordinate goes up by half a unit, to norm S.
        assert_eq!(place(4, &[1.5; 4], 3.0), (true, vec![2; 4]));
    }

    /// Several blocks and a broken end, against the plain formula. Catches a block or lane left out, of
    /// the norm or of the check.
    #[test]
    fn long_updates_are_placed_by_the_same_formula() {
        let d = 2 * BLOCK + 13;
        let update: Vec<f32> = (0..d).map(|i| ((i * 7919) % 1000) as f32 - 499.5).collect();
        let clip = 10.0;
        let norm = update
            .iter()
            .map(|x| f64::from(*x).powi(2))
            .sum::<f64>()
            .sqrt();
        let lattice = Lattice::new(1 << 31, d).unwrap();
        let (good, placed) = place(1 << 31, &update, clip);
        assert!(good);
        for (q, x) in placed.iter().zip(&update) {
            let exact = f64::from(*x) / norm * clip / lattice.unit(clip);
            assert!((*q as f64 - exact).abs() < 0.51, "{q} {exact}");
        }
        // One part in a thousand too far: only the sum over all blocks shows it.
        let mut out = vec![0; d];
        let far = lattice.radius() * 1.001;
        assert!(lattice.fill(&update, clip, lattice.radius(), &mut out));
        assert!(!lattice.fill(&update, clip, far, &mut out));
    }

    /// I5. The check itself, on numbers that were scaled too far.
    #[test]
    fn i5_a_norm_above_the_scale_is_refused() {
        let lattice = Lattice::new(4, 4).unwrap();
        let mut out = [0; 4];
        assert!(lattice.fill(&[1.5; 4], 3.0, 3.0, &mut out));
        assert!(!lattice.fill(&[1.5; 4], 3.0, 5.1, &mut out));
        assert!(!lattice.fill(&[3.0, 0.0, 0.0, 0.0], 3.0, 4.6, &mut out));
        assert!(lattice.fill(&[3.0, 0.0, 0.0, 0.0], 3.0, 4.4, &mut out));
    }

    proptest! {
        /// I5. Σq² ≤ S², whatever the bits of the update, the clip and the scale, also with S barely
        /// above √d/2. Catches a clip in f32, a scale of S instead of S − √d/2, rounding upwards.
        #[test]
        fn i5_norm_is_bounded(
            bits in prop::collection::vec(any::<u32>(), 1..200),
            tame in any::<bool>(),
            clip in prop_oneof![1e-6..1e6f64, any::<f64>()],
            more in prop_oneof![0..4u64, 0..(1u64 << 30)],
        ) {
            let update: Vec<f32> = bits
                .iter()
                .map(|&b| if tame { (b as f32 / 4e9 - 0.5) * 1e-2 } else { f32::from_bits(b) })
                .collect();
            let mut scale = 1 + more;
            while Lattice::new(scale, update.len()).is_err() {
                scale += 1;
            }
            let (good, placed) = place(scale, &update, clip);
            prop_assert!(squares(&placed) <= i128::from(scale) * i128::from(scale));
            prop_assert!(good || placed.iter().all(|&q| q == 0));
            // I7. The same again.
            prop_assert_eq!((good, placed), place(scale, &update, clip));
            if tame && clip.is_normal() && clip > 1e-6 && clip < 1e6 {
                prop_assert!(good);
            }
        }
    }
}
