//! Padmé: lengths rounded so that they say little (I12).

/// The padded length of `len` bytes.
///
/// Nikitin et al., "Reducing Metadata Leakage from Encrypted Files and Communication with PURBs",
/// PoPETs 2019, algorithm 1: overhead below 12 %, at most O(log log) bits of the length show.
/// Idempotent; 0 and 1 stay as they are; saturates at `u64::MAX`.
pub const fn padme(len: u64) -> u64 {
    let Some(exponent) = len.checked_ilog2() else {
        return len;
    };
    let Some(log) = exponent.checked_ilog2() else {
        return len;
    };
    // How many low bits must be zero: all but the leading log₂(exponent) + 1 of the mantissa.
    let low_bits = exponent - (log + 1);
    let mask = (1u64 << low_bits) - 1;
    match len.checked_add(mask) {
        Some(sum) => sum & !mask,
        None => u64::MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_values() {
        // From the paper's reference code.
        for (len, padded) in [
            (0, 0),
            (1, 1),
            (2, 2),
            (7, 7),
            (9, 10),
            (17, 18),
            (100, 104),
            (1000, 1024),
        ] {
            assert_eq!(padme(len), padded, "{len}");
        }
        assert_eq!(padme(1 << 40), 1 << 40);
        assert_eq!(padme(u64::MAX), u64::MAX);
    }

    proptest! {
        // Catches a mask that cuts instead of rounding up, and one that rounds too far.
        #[test]
        fn never_shorter_at_most_12_percent_longer_and_idempotent(len in 2u64..1 << 50) {
            let padded = padme(len);
            prop_assert!(padded >= len);
            prop_assert!((padded - len) as f64 <= 0.12 * len as f64);
            prop_assert_eq!(padme(padded), padded);
        }
    }
}
