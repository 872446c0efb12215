//! Initial parameters, from a public seed.

use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

use crate::model::{Model, TensorShape};

/// Separates this stream from any other use of a small seed.
const DOMAIN: [u8; 24] = *b"siegel/initial/v1\0\0\0\0\0\0\0";

impl Model {
    /// The initial parameters of this seed; the same on every machine (I7), and public.
    ///
    /// Weights are uniform within ±√(6 / (inputs + outputs)) (Glorot and Bengio 2010, eq. 16),
    /// embeddings within ±1, biases 0. Empty for a model that [`Model::check`] refuses.
    pub fn initial(&self, seed: u64) -> Vec<f32> {
        if self.check().is_err() {
            return Vec::new();
        }
        let mut key = [0; 32];
        for (to, from) in key
            .iter_mut()
            .zip(seed.to_le_bytes().into_iter().chain(DOMAIN))
        {
            *to = from;
        }
        let mut rng = ChaCha20Rng::from_seed(key);
        let mut params = Vec::with_capacity(self.dimension());
        for tensor in self.tensors() {
            let bound = bound(&tensor);
            params.extend((0..tensor.len()).map(|_| bound * uniform(&mut rng)));
        }
        params
    }
}

/// Half the width of a tensor's range. Square root and division are exact to the last bit by IEEE 754.
fn bound(tensor: &TensorShape) -> f32 {
    match (tensor.name, tensor.shape.as_slice()) {
        ("embedding", _) => 1.0,
        (_, [inputs, outputs]) => (6.0 / (inputs + outputs) as f32).sqrt(),
        _ => 0.0,
    }
}

/// Uniform on the 2²⁴ multiples of 2⁻²³ in [−1, 1): every step is exact.
fn uniform(rng: &mut ChaCha20Rng) -> f32 {
    (rng.next_u32() >> 8) as f32 * (1.0 / 8_388_608.0) - 1.0
}

#[cfg(test)]
mod tests {
    use crate::{Classifier, Model, NextChar};

    const MODEL: Model = Model::NextChar(NextChar {
        alphabet: 63,
        context: 4,
        embedding: 8,
        hidden: 32,
    });

    /// I7. Catches a change of generator, key, word order or range.
    #[test]
    fn i7_a_seed_is_a_model() {
        let params = MODEL.initial(7);
        assert_eq!(params.len(), MODEL.dimension());
        assert_eq!(params, MODEL.initial(7));
        assert_ne!(params, MODEL.initial(8));
        let bits: Vec<u32> = params.iter().take(3).map(|x| x.to_bits()).collect();
        assert_eq!(bits, GOLDEN);
    }
    const GOLDEN: [u32; 3] = [1_048_682_116, 1_055_655_644, 1_057_349_554];

    #[test]
    fn ranges_are_the_documented_ones() {
        let params = MODEL.initial(1);
        let mut rest = params.as_slice();
        for tensor in MODEL.tensors() {
            let (part, more) = rest.split_at(tensor.len());
            rest = more;
            let largest = part.iter().fold(0.0f32, |max, x| max.max(x.abs()));
            let bound = match tensor.name {
                "embedding" => 1.0,
                "hidden.weight" => (6.0f32 / 64.0).sqrt(),
                "output.weight" => (6.0f32 / 95.0).sqrt(),
                _ => 0.0,
            };
            assert!(
                largest <= bound && largest >= 0.95 * bound,
                "{}",
                tensor.name
            );
            let mean = part.iter().sum::<f32>() / part.len() as f32;
            assert!(mean.abs() <= 0.2 * bound, "{}: mean {mean}", tensor.name);
        }
        let refused = Model::Classifier(Classifier {
            features: u32::MAX,
            hidden: 0,
            classes: 10,
        });
        assert!(refused.initial(1).is_empty());
    }
}
