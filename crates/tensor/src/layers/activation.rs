//! tanh and relu, in place.

use crate::maths;

/// What stands between two dense layers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Activation {
    Tanh,
    Relu,
}

impl Activation {
    /// x ← f(x). f(0) = 0, so padding stays zero.
    pub(crate) fn forward(self, values: &mut [f32]) {
        match self {
            Activation::Tanh => values.iter_mut().for_each(|x| *x = maths::tanh(*x)),
            // NaN stays NaN.
            Activation::Relu => values
                .iter_mut()
                .for_each(|x| *x = if *x < 0.0 { 0.0 } else { *x }),
        }
    }

    /// gradient ← gradient · f′, with f′ from f's own result: 1 − f² for tanh, 1 where f > 0 for relu
    /// (0 at 0).
    pub(crate) fn backward(self, results: &[f32], gradient: &mut [f32]) {
        let both = gradient.iter_mut().zip(results);
        match self {
            Activation::Tanh => both.for_each(|(g, f)| *g *= 1.0 - f * f),
            Activation::Relu => both.for_each(|(g, &f)| *g = if f > 0.0 { *g } else { 0.0 }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layers::check::{close, gradient, numbers, wide};

    fn check(activation: Activation, reference: fn(f64) -> f64) {
        let x: Vec<f32> = numbers(40, 3).iter().map(|x| 3.0 * x).collect();
        let weights = numbers(40, 4);
        let mut results = x.clone();
        activation.forward(&mut results);
        for (x, f) in x.iter().zip(&results) {
            assert!((reference(f64::from(*x)) - f64::from(*f)).abs() < 1e-6);
        }
        let mut ours = weights.clone();
        activation.backward(&results, &mut ours);
        let weights = wide(&weights);
        let theirs = gradient(&wide(&x), |x| {
            x.iter().zip(&weights).map(|(x, w)| w * reference(*x)).sum()
        });
        close(&ours, &theirs);
    }

    #[test]
    fn gradients_agree_with_differences() {
        check(Activation::Tanh, f64::tanh);
        check(Activation::Relu, |x| x.max(0.0));
    }
}
