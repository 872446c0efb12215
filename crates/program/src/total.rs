//! The root's part: block sums to a noisy total. There is no way from here to the raw sum (I5).

use siegel_dp::{DiscreteGaussian, NoiseRng};
use siegel_ident::Secret;
use siegel_ident::secret::Wiped;

use crate::intrinsic::noise;
use crate::{BlockCount, BlockSum, Intrinsic, ProgramError};

/// Numbers that share one stream of noise.
pub const NOISE_CHUNK: usize = 65_536;

/// The sums have no accessor, no `Debug` and no way out but [`Total::release`]:
///
/// ```compile_fail
/// fn peek(total: &siegel_program::Total<'_>) -> i64 { total.sums[0] }
/// ```
/// ```compile_fail
/// fn show(total: &siegel_program::Total<'_>) -> String { format!("{total:?}") }
/// ```
///
/// Adds block sums exactly. Addition of integers commutes: order, number of workers and repeats of
/// a lost block cannot change it (I7).
pub struct Total<'a> {
    intrinsic: &'a Intrinsic,
    sums: Wiped<i64>,
    seen: Vec<bool>,
}

impl<'a> Total<'a> {
    /// Zero, waiting for every block.
    pub fn new(intrinsic: &'a Intrinsic, blocks: BlockCount) -> Self {
        Self {
            intrinsic,
            sums: Wiped::new(vec![0; intrinsic.dimension()]),
            seen: vec![false; blocks.get() as usize],
        }
    }

    /// True if this block is already in: a late answer of a slow worker is to be dropped.
    pub fn has(&self, block: u32) -> bool {
        self.seen.get(block as usize).copied().unwrap_or(false)
    }

    /// Adds one block. A block counts once (I4).
    pub fn add(&mut self, sum: &BlockSum) -> Result<(), ProgramError> {
        let (block, count, expected) = (sum.block, self.seen.len() as u32, self.sums.len());
        if sum.sums.len() != expected {
            return Err(ProgramError::SumLength { block, expected });
        }
        match self.seen.get(block as usize) {
            None => return Err(ProgramError::NoSuchBlock { block, count }),
            Some(true) => return Err(ProgramError::BlockTwice { block }),
            Some(false) => {}
        }
        // All or nothing: an overflow must not leave half a block inside.
        let mut pairs = self.sums.iter().zip(sum.sums.iter());
        if pairs.any(|(a, b)| a.checked_add(*b).is_none()) {
            return Err(ProgramError::Overflow);
        }
        for (total, part) in self.sums.iter_mut().zip(sum.sums.iter()) {
            *total = total.saturating_add(*part);
        }
        if let Some(seen) = self.seen.get_mut(block as usize) {
            *seen = true;
        }
        Ok(())
    }

    /// How many blocks are still missing.
    pub fn missing(&self) -> u32 {
        self.seen.iter().filter(|seen| !**seen).count() as u32
    }

    /// The only exit: the total with noise on every number. Saturates rather than wraps, which is
    /// post-processing.
    pub fn release(self, noise: Noise) -> Result<Vec<i64>, ProgramError> {
        match self.missing() {
            0 if noise.intrinsic == *self.intrinsic => {
                let pairs = self.sums.iter().zip(noise.values.iter());
                Ok(pairs.map(|(sum, z)| sum.saturating_add(*z)).collect())
            }
            0 => Err(ProgramError::OtherNoise),
            missing => Err(ProgramError::BlocksMissing { missing }),
        }
    }
}

/// Exact discrete Gaussian noise for one intrinsic, drawn in bulk before any sum is opened: how
/// long the rejection sampler takes then says nothing about a release (I12). No `Debug`, no
/// `Clone`: one draw serves one release.
pub struct Noise {
    intrinsic: Intrinsic,
    values: Wiped<i64>,
}

impl Noise {
    /// Draws [`NOISE_CHUNK`] numbers from the stream of each `key(chunk)`, which the caller derives
    /// from the run's noise key by step, tensor and chunk: every incarnation of a root draws the
    /// same (I6, I7).
    pub fn draw(
        intrinsic: &Intrinsic,
        key: impl Fn(u64) -> Secret<32>,
    ) -> Result<Self, ProgramError> {
        let sampler = DiscreteGaussian::new(intrinsic.sigma2()?).map_err(noise)?;
        let dimension = intrinsic.dimension();
        let mut values = Wiped::new(Vec::with_capacity(dimension));
        for chunk in 0u64.. {
            let left = dimension - values.len();
            if left == 0 {
                break;
            }
            let mut rng = NoiseRng::new(&key(chunk));
            let drawn = Wiped::new(sampler.fill(&mut rng, left.min(NOISE_CHUNK)));
            values.extend_from_slice(&drawn);
        }
        Ok(Self {
            intrinsic: intrinsic.clone(),
            values,
        })
    }
}
