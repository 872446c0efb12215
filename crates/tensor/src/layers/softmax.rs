//! Softmax and cross-entropy, joined.

use crate::maths;

/// Lanes of the sum: lane j adds the terms j, j + 8, …; then the lanes are added in order (I7).
const LANES: usize = 8;

/// logits ← softmax(logits) − one-hot(class), in place: the gradient of the row's cross-entropy
/// −ln softmax(logits)\[class\] by its logits.
pub(crate) fn gradient(logits: &mut [f32], class: usize) {
    // The largest first, so that nothing overflows. NaN is never larger, and flows on.
    let largest = logits
        .iter()
        .fold(f32::NEG_INFINITY, |max, &z| if z > max { z } else { max });
    for z in logits.iter_mut() {
        *z = maths::exp(*z - largest);
    }
    let total = sum(logits);
    for z in logits.iter_mut() {
        *z /= total;
    }
    if let Some(z) = logits.get_mut(class) {
        *z -= 1.0;
    }
}

fn sum(terms: &[f32]) -> f32 {
    let mut lanes = [0.0; LANES];
    for group in terms.chunks(LANES) {
        for (lane, term) in lanes.iter_mut().zip(group) {
            *lane += term;
        }
    }
    lanes.iter().fold(0.0, |sum, lane| sum + lane)
}

/// The first of the largest numbers; 0 if the first is NaN.
pub(crate) fn argmax(row: &[f32]) -> usize {
    let mut best = 0;
    let mut largest = row.first().copied().unwrap_or(0.0);
    for (i, &z) in row.iter().enumerate() {
        if z > largest {
            (best, largest) = (i, z);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layers::check::{close, gradient as differences, numbers, wide};

    #[test]
    fn gradient_agrees_with_differences() {
        for classes in [2usize, 10, 63] {
            let logits: Vec<f32> = numbers(classes, 5).iter().map(|x| 4.0 * x).collect();
            for class in [0, classes / 2, classes - 1] {
                let mut ours = logits.clone();
                gradient(&mut ours, class);
                let loss = |z: &[f64]| z.iter().map(|z| z.exp()).sum::<f64>().ln() - z[class];
                close(&ours, &differences(&wide(&logits), loss));
            }
        }
    }

    /// Huge logits: no overflow, a certain answer.
    #[test]
    fn large_logits_do_not_overflow() {
        let mut row = [1e38, -1e38, 0.0];
        gradient(&mut row, 1);
        assert_eq!(row[0], 1.0);
        assert!(row[1] == -1.0 && row[2] < 1e-30);
        // Differences still count up there: 1 / (1 + 1/e).
        let mut row = [300.0, 299.0, 0.0];
        gradient(&mut row, 2);
        assert!((row[0] - 0.731_058_6).abs() < 1e-6);
    }

    #[test]
    fn argmax_is_the_first_of_the_largest() {
        assert_eq!(argmax(&[1.0, 3.0, 3.0, f32::NAN]), 1);
        assert_eq!(argmax(&[f32::NAN, 3.0]), 0);
    }
}
