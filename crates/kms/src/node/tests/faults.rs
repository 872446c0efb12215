//! How bad the network is; drawn per seed, so that seeds differ in kind.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

#[derive(Clone, Copy)]
pub(super) struct Faults {
    pub(super) drop_percent: u64,
    pub(super) double_percent: u64,
    pub(super) longest_delay: u64,
    /// Mean ticks between changes of the partition; 0 = never.
    pub(super) partition_every: u64,
    /// Percent of ticks on which some node cuts its log.
    pub(super) cut_percent: u64,
    /// Percent of ticks that a node misses: clocks differ.
    pub(super) slow_percent: u64,
}

impl Faults {
    pub(super) fn none() -> Self {
        Self {
            drop_percent: 0,
            double_percent: 0,
            longest_delay: 1,
            partition_every: 0,
            cut_percent: 0,
            slow_percent: 0,
        }
    }

    pub(super) fn drawn(seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed ^ 0xfa01);
        Self {
            drop_percent: rng.next_u64() % 25,
            double_percent: rng.next_u64() % 20,
            longest_delay: 1 + rng.next_u64() % 12,
            partition_every: [0, 40, 80, 160][rng.next_u64() as usize % 4],
            cut_percent: [0, 2, 10, 50][rng.next_u64() as usize % 4],
            slow_percent: rng.next_u64() % 30,
        }
    }

    /// Loss, delay, doubles and reordering, but nobody is cut off: what must still make progress.
    pub(super) fn lossy(seed: u64) -> Self {
        let drawn = Self::drawn(seed);
        Self {
            drop_percent: drawn.drop_percent / 2,
            longest_delay: drawn.longest_delay.min(4),
            partition_every: 0,
            ..drawn
        }
    }
}
