//! Ranks by Zipf's law, in integers: the same draws on every machine (I7).

use rand_core::Rng;

/// Weights 1/k for k = 1…n, as cumulated integers.
pub(super) struct Zipf {
    cumulated: Vec<u64>,
}

impl Zipf {
    /// Over `n` ranks; at least one.
    pub(super) fn new(n: usize) -> Self {
        let weight = |k: u64| (1u64 << 32) / k;
        let cumulated = (1..=n.max(1) as u64).scan(0, |sum, k| {
            *sum += weight(k);
            Some(*sum)
        });
        Self {
            cumulated: cumulated.collect(),
        }
    }

    /// A rank, counted from 0; 0 is the most frequent.
    pub(super) fn draw(&self, rng: &mut impl Rng) -> usize {
        let total = self.cumulated.last().copied().unwrap_or(1);
        let at = below(rng, total);
        self.cumulated.partition_point(|sum| *sum <= at)
    }
}

/// A number below `n`. The bias of the remainder is below 2⁻²⁵ here: it is only test data.
pub(super) fn below(rng: &mut impl Rng, n: u64) -> u64 {
    rng.next_u64() % n.max(1)
}

/// A random order of 0…n.
pub(super) fn shuffled(rng: &mut impl Rng, n: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    for i in (1..n).rev() {
        order.swap(i, below(rng, i as u64 + 1) as usize);
    }
    order
}
