//! The data of fedsim-v1: Gaussian class prototypes, three classes a client.
//!
//! The law is that of the peers' `common.py`, not its bits: their generator is numpy's.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};

/// Examples of one client.
pub const EXAMPLES: usize = 20;
/// Features of one example.
pub const FEATURES: usize = 784;
/// Classes.
pub const CLASSES: usize = 10;
/// Held-out examples.
const TEST: usize = 2000;
/// Classes of one client.
const LABELS: usize = 3;
/// Deviation of the prototypes; that of an example around its prototype is 1.
const SPREAD: f32 = 0.15;

/// All clients and the held-out examples, as rows of features and the class.
pub struct Data {
    /// One client's rows, row-major.
    pub clients: Vec<Vec<f32>>,
    /// Held-out rows.
    pub test: Vec<f32>,
}

impl Data {
    /// Always the same for one number of clients.
    pub fn new(clients: usize) -> Self {
        let mut source = Source {
            rng: ChaCha8Rng::seed_from_u64(17),
            spare: None,
        };
        let prototypes: Vec<f32> = (0..CLASSES * FEATURES)
            .map(|_| source.normal() * SPREAD)
            .collect();
        let clients = (0..clients)
            .map(|_| {
                let labels = source.distinct(LABELS, CLASSES);
                let class =
                    |source: &mut Source| labels.get(source.below(LABELS)).copied().unwrap_or(0);
                rows(&mut source, &prototypes, EXAMPLES, class)
            })
            .collect();
        let test = rows(&mut source, &prototypes, TEST, |source| {
            source.below(CLASSES)
        });
        Self { clients, test }
    }
}

fn rows(
    source: &mut Source,
    prototypes: &[f32],
    examples: usize,
    class: impl Fn(&mut Source) -> usize,
) -> Vec<f32> {
    let mut out = Vec::with_capacity(examples * (FEATURES + 1));
    for _ in 0..examples {
        let class = class(source);
        let around = prototypes.chunks(FEATURES).nth(class).unwrap_or_default();
        out.extend(around.iter().map(|mean| mean + source.normal()));
        out.push(class as f32);
    }
    out
}

/// Draws for data, not for privacy.
pub struct Source {
    rng: ChaCha8Rng,
    spare: Option<f32>,
}

impl Source {
    /// A source of its own.
    pub fn new(seed: u64) -> Self {
        Self {
            rng: ChaCha8Rng::seed_from_u64(seed),
            spare: None,
        }
    }

    /// `count` distinct numbers below `bound`, each set as likely as any other.
    pub fn distinct(&mut self, count: usize, bound: usize) -> Vec<usize> {
        let mut all: Vec<usize> = (0..bound).collect();
        for at in 0..count.min(bound) {
            let other = at + self.below(bound - at);
            all.swap(at, other);
        }
        all.truncate(count);
        all
    }

    /// Below `bound`, which is small: the bias of 2⁻⁴⁰ does not matter to data.
    fn below(&mut self, bound: usize) -> usize {
        (self.rng.next_u64() % bound.max(1) as u64) as usize
    }

    /// Standard normal, by Box and Muller.
    fn normal(&mut self) -> f32 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        // (0, 1]: the logarithm is finite.
        let unit = |bits: u32| (f64::from(bits) + 1.0) / 4_294_967_296.0;
        let bits = self.rng.next_u64();
        let radius = (-2.0 * unit(bits as u32).ln()).sqrt();
        let (sin, cos) = (std::f64::consts::TAU * unit((bits >> 32) as u32)).sin_cos();
        self.spare = Some((radius * sin) as f32);
        (radius * cos) as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normals_have_mean_0_and_variance_1() {
        let mut source = Source::new(1);
        let drawn: Vec<f64> = (0..40_000).map(|_| f64::from(source.normal())).collect();
        let mean = drawn.iter().sum::<f64>() / 40_000.0;
        let variance = drawn.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 40_000.0;
        assert!(
            mean.abs() < 0.03 && (variance - 1.0).abs() < 0.05,
            "{mean} {variance}"
        );
    }

    #[test]
    fn a_client_has_twenty_rows_of_at_most_three_classes() {
        let data = Data::new(5);
        assert_eq!(data.test.len(), TEST * (FEATURES + 1));
        for client in &data.clients {
            assert_eq!(client.len(), EXAMPLES * (FEATURES + 1));
            let mut classes: Vec<u32> = client
                .chunks(FEATURES + 1)
                .map(|row| row[FEATURES] as u32)
                .collect();
            classes.sort_unstable();
            classes.dedup();
            assert!(
                classes.len() <= LABELS && classes.iter().all(|&c| c < 10),
                "{classes:?}"
            );
        }
    }

    #[test]
    fn draws_are_distinct_and_cover_all() {
        let mut source = Source::new(2);
        let mut seen = [false; 10];
        for _ in 0..100 {
            let mut drawn = source.distinct(3, 10);
            drawn.sort_unstable();
            drawn.dedup();
            assert_eq!(drawn.len(), 3);
            drawn.iter().for_each(|&at| seen[at] = true);
        }
        assert_eq!(seen, [true; 10]);
        assert_eq!(source.distinct(4, 4).len(), 4);
    }
}
