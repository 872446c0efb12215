//! The root's part: block sums to a noisy total. There is no way from here to the raw sum (I5).

use siegel_dp::{DiscreteGaussian, NoiseRng, Sigma2};
use siegel_ident::Secret;
use zeroize::Zeroizing;

use crate::{BlockCount, BlockSum, HistogramSpec, ProgramError};

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
    spec: &'a HistogramSpec,
    sums: Zeroizing<Vec<i64>>,
    seen: Vec<bool>,
}

impl<'a> Total<'a> {
    /// Zero, waiting for every block.
    pub fn new(spec: &'a HistogramSpec, blocks: BlockCount) -> Self {
        Self {
            spec,
            sums: Zeroizing::new(vec![0; spec.bins as usize]),
            seen: vec![false; blocks.get() as usize],
        }
    }

    /// True if this block is already in: a late answer of a slow worker is to be dropped.
    pub fn has(&self, block: u32) -> bool {
        self.seen.get(block as usize).copied().unwrap_or(false)
    }

    /// Adds one block. A block counts once (I4).
    pub fn add(&mut self, sum: &BlockSum) -> Result<(), ProgramError> {
        let (block, count, bins) = (sum.block, self.seen.len() as u32, self.spec.bins);
        if sum.sums.len() != bins as usize {
            return Err(ProgramError::SumLength { block, bins });
        }
        match self.seen.get(block as usize) {
            None => return Err(ProgramError::NoSuchBlock { block, count }),
            Some(true) => return Err(ProgramError::BlockTwice { block }),
            Some(false) => {}
        }
        // All or nothing: an overflow must not leave half a block inside.
        let pairs = || self.sums.iter().zip(sum.sums.iter());
        let added: Option<Vec<i64>> = pairs().map(|(a, b)| a.checked_add(*b)).collect();
        self.sums = Zeroizing::new(added.ok_or(ProgramError::Overflow)?);
        if let Some(seen) = self.seen.get_mut(block as usize) {
            *seen = true;
        }
        Ok(())
    }

    /// How many blocks are still missing.
    pub fn missing(&self) -> u32 {
        self.seen.iter().filter(|seen| !**seen).count() as u32
    }

    /// The only exit: the total with noise on every bin. Saturates rather than wraps, which is
    /// post-processing.
    pub fn release(self, noise: Noise) -> Result<Vec<i64>, ProgramError> {
        match self.missing() {
            0 if noise.spec == *self.spec => {
                let pairs = self.sums.iter().zip(noise.values.iter());
                Ok(pairs.map(|(sum, z)| sum.saturating_add(*z)).collect())
            }
            0 => Err(ProgramError::OtherNoise),
            missing => Err(ProgramError::BlocksMissing { missing }),
        }
    }
}

/// Exact discrete Gaussian noise for one histogram, drawn in bulk before any sum is opened: how
/// long the rejection sampler takes then says nothing about a release (I12). No `Debug`, no
/// `Clone`: one draw serves one release.
pub struct Noise {
    spec: HistogramSpec,
    values: Zeroizing<Vec<i64>>,
}

impl Noise {
    /// Draws from the stream of `key`, which the caller derives from the run's noise key by step,
    /// tensor and chunk: every incarnation of a root draws the same (I6, I7).
    pub fn draw(spec: &HistogramSpec, key: &Secret<32>) -> Result<Self, ProgramError> {
        let failed = |e: siegel_dp::DpError| ProgramError::Noise(e.to_string());
        let sampler = DiscreteGaussian::new(spec.sigma2()?).map_err(failed)?;
        let mut rng = NoiseRng::new(key);
        let values = Zeroizing::new(sampler.fill(&mut rng, spec.bins as usize));
        Ok(Self {
            spec: spec.clone(),
            values,
        })
    }
}

impl HistogramSpec {
    /// σ² of the noise: the smallest (rounded up) whose zCDP cost Δ²/2σ² is at most `rho_nano`
    /// (Canonne, Kamath, Steinke 2020, theorem 4).
    pub fn sigma2(&self) -> Result<Sigma2, ProgramError> {
        siegel_dp::sigma2_for(self.sensitivity_sq(), self.rho_nano)
            .map_err(|e| ProgramError::Noise(e.to_string()))
    }

    /// Standard error of each noisy count: σ. (The discrete Gaussian's variance is at most σ².)
    pub fn standard_error(&self) -> Result<f64, ProgramError> {
        Ok(self.sigma2()?.sigma())
    }
}
