//! The noise stream: ChaCha20 under a key of the run.

use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use siegel_ident::Secret;

/// A ChaCha20 key stream (20 rounds, 64-bit counter from 0, stream 0), read as little-endian
/// 64-bit words.
///
/// The caller derives one key per (step, tensor, chunk) from the run secret and uses it for one
/// stream only: reusing noise between two steps is a privacy break. The same key gives the same
/// noise on every machine (I7). Whoever knows the key can subtract the noise, so there is no
/// `Debug` and no `Clone` (I13). `rand_chacha` does not zeroise its state when dropped.
pub struct NoiseRng(ChaCha20Rng);

impl NoiseRng {
    /// Starts the stream of this key.
    pub fn new(key: &Secret<32>) -> Self {
        Self(ChaCha20Rng::from_seed(*key.expose()))
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A uniform integer in `0..bound`, exact, by rejection. `bound` 0 counts as 1.
    pub fn below(&mut self, bound: u128) -> u128 {
        let largest = bound.saturating_sub(1);
        // The smallest 2^k - 1 that covers the range: each try is kept with probability > 1/2.
        let mask = u128::MAX.checked_shr(largest.leading_zeros()).unwrap_or(0);
        loop {
            let low = u128::from(if mask > 0 { self.next_u64() } else { 0 });
            let high = u128::from(if mask >> 64 > 0 { self.next_u64() } else { 0 });
            let drawn = (high << 64 | low) & mask;
            if drawn <= largest {
                return drawn;
            }
        }
    }

    /// One fair bit.
    pub fn bit(&mut self) -> bool {
        self.next_u64() >> 63 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// I7. RFC 8439 appendix A.1, test vectors 1 and 2: key 0, nonce 0, blocks 0 and 1. Catches
    /// another round number (ChaCha12, ChaCha8), counter start or word order.
    #[test]
    fn i7_key_stream_is_chacha20() {
        let mut rng = NoiseRng::new(&Secret::new([0; 32]));
        let hex = |n: usize, rng: &mut NoiseRng| -> Vec<u8> {
            (0..n).flat_map(|_| rng.next_u64().to_le_bytes()).collect()
        };
        assert_eq!(
            hex(8, &mut rng),
            [
                0x76, 0xb8, 0xe0, 0xad, 0xa0, 0xf1, 0x3d, 0x90, 0x40, 0x5d, 0x6a, 0xe5, 0x53, 0x86,
                0xbd, 0x28, 0xbd, 0xd2, 0x19, 0xb8, 0xa0, 0x8d, 0xed, 0x1a, 0xa8, 0x36, 0xef, 0xcc,
                0x8b, 0x77, 0x0d, 0xc7, 0xda, 0x41, 0x59, 0x7c, 0x51, 0x57, 0x48, 0x8d, 0x77, 0x24,
                0xe0, 0x3f, 0xb8, 0xd8, 0x4a, 0x37, 0x6a, 0x43, 0xb8, 0xf4, 0x15, 0x18, 0xa1, 0x1c,
                0xc3, 0x87, 0xb6, 0x69, 0xb2, 0xee, 0x65, 0x86
            ]
        );
        assert_eq!(
            hex(2, &mut rng),
            [
                0x9f, 0x07, 0xe7, 0xbe, 0x55, 0x51, 0x38, 0x7a, 0x98, 0xba, 0x97, 0x7c, 0x73, 0x2d,
                0x08, 0x0d
            ]
        );
    }

    /// Catches a modulo instead of a rejection, and a mask one bit short.
    #[test]
    fn below_is_uniform_and_inside() {
        let mut rng = NoiseRng::new(&Secret::new([1; 32]));
        for bound in [1u128, 2, 3, 5, 6, 7] {
            let mut seen = vec![0u32; bound as usize];
            for _ in 0..60_000 {
                seen[rng.below(bound) as usize] += 1;
            }
            let expected = 60_000.0 / bound as f64;
            for n in &seen {
                assert!(
                    (f64::from(*n) - expected).abs() < 5.0 * expected.sqrt() + 1e-9,
                    "{bound}: {seen:?}"
                );
            }
        }
        for bound in [1 << 63, 1 << 64, (1 << 64) + 1, (1 << 95) + 7, u128::MAX] {
            let mut upper_half = 0;
            for _ in 0..2_000 {
                let drawn = rng.below(bound);
                assert!(drawn < bound);
                upper_half += u32::from(drawn >= bound / 2);
            }
            assert!((800..1200).contains(&upper_half), "{bound}: {upper_half}");
        }
        assert_eq!(rng.below(0), 0);
    }
}
