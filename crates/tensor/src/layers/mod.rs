//! Layers: forward, gradient, step. Each works on a whole batch, row-major, rows padded to 8.

pub(crate) mod activation;
pub(crate) mod dense;
pub(crate) mod embedding;
pub(crate) mod softmax;

pub(crate) use activation::Activation;
pub(crate) use dense::Dense;
pub(crate) use embedding::Embedding;

#[cfg(test)]
pub(crate) mod check {
    //! Numerical differences.

    /// Central differences of `f` at `x`, in f64.
    pub(crate) fn gradient(x: &[f64], f: impl Fn(&[f64]) -> f64) -> Vec<f64> {
        let mut x = x.to_vec();
        (0..x.len())
            .map(|i| {
                let (at, h) = (x[i], 1e-6);
                x[i] = at + h;
                let above = f(&x);
                x[i] = at - h;
                let below = f(&x);
                x[i] = at;
                (above - below) / (2.0 * h)
            })
            .collect()
    }

    /// Our f32 gradient against the f64 one.
    pub(crate) fn close(ours: &[f32], theirs: &[f64]) {
        assert_eq!(ours.len(), theirs.len());
        for (i, (&a, &b)) in ours.iter().zip(theirs).enumerate() {
            assert!(
                (f64::from(a) - b).abs() <= 2e-5 * (1.0 + b.abs()),
                "{i}: {a}, not {b}"
            );
        }
        // A gradient of zeros would pass against itself.
        assert!(theirs.iter().any(|b| b.abs() > 1e-2));
    }

    /// Numbers in [−1, 1), no two rows alike.
    pub(crate) fn numbers(len: usize, seed: u32) -> Vec<f32> {
        let mut state = seed.wrapping_mul(747_796_405).wrapping_add(1);
        (0..len)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 8) as f32 / 8_388_608.0 - 1.0
            })
            .collect()
    }

    pub(crate) fn wide(x: &[f32]) -> Vec<f64> {
        x.iter().map(|&x| f64::from(x)).collect()
    }
}
