//! A worker's part: records to exact sums per block of units (I4, I7).

use std::collections::BTreeMap;

use siegel_ident::{Fencing, RunId, SecretBytes, Step, Transcript};
use zeroize::{Zeroize, Zeroizing};

use crate::{BlockCount, Histogram, HistogramSpec, IndexKey, ProgramError, Record, UnitHash};

/// Collects the units of some blocks, in one pass over all records of a run, in any order.
///
/// The steps are in the order that I4 asks for: first all blobs of a unit are joined, then the
/// unit is bounded, then it is added.
pub struct SumBuilder<'a> {
    histogram: &'a Histogram<'a>,
    key: &'a IndexKey,
    blocks: BlockCount,
    units: BTreeMap<u32, BTreeMap<UnitHash, Vec<u32>>>,
}

impl<'a> SumBuilder<'a> {
    /// Starts on the blocks `wanted`; each may be named once.
    pub fn new(
        histogram: &'a Histogram<'a>,
        key: &'a IndexKey,
        blocks: BlockCount,
        wanted: &[u32],
    ) -> Result<Self, ProgramError> {
        let mut units = BTreeMap::new();
        for &block in wanted {
            if block >= blocks.get() {
                return Err(ProgramError::NoSuchBlock {
                    block,
                    count: blocks.get(),
                });
            }
            if units.insert(block, BTreeMap::new()).is_some() {
                return Err(ProgramError::BlockTwice { block });
            }
        }
        Ok(Self {
            histogram,
            key,
            blocks,
            units,
        })
    }

    /// Joins a record to its unit, if that is in a wanted block. A blob that does not open or does
    /// not decode is simply not added: it is a unit of its own that contributes zero (I12).
    pub fn add(&mut self, record: &Record<'_>) {
        let unit = self.key.unit(&record.privacy_id);
        let Some(block) = self.units.get_mut(&self.blocks.block_of(&unit)) else {
            return;
        };
        let mut new = self.histogram.bins_of(record);
        let bins = block.entry(unit).or_default();
        bins.append(&mut new);
        bins.sort_unstable();
        bins.dedup();
    }

    /// Bounds each unit and sums up, one sum per wanted block, ascending.
    pub fn finish(mut self) -> Result<Vec<BlockSum>, ProgramError> {
        let spec = self.histogram.spec();
        let mut out = Vec::with_capacity(self.units.len());
        for (block, units) in std::mem::take(&mut self.units) {
            let mut sums = Zeroizing::new(vec![0i64; spec.bins as usize]);
            for (unit, mut bins) in units {
                bound(self.key, &unit, &mut bins, spec.max_per_user as usize);
                for &bin in &bins {
                    let slot = sums.get_mut(bin as usize).ok_or(ProgramError::Overflow)?;
                    *slot = slot.checked_add(1).ok_or(ProgramError::Overflow)?;
                }
                bins.zeroize();
            }
            out.push(BlockSum { block, sums });
        }
        Ok(out)
    }
}

/// Keeps the `most` bins of smallest keyed rank. It knows neither blobs nor their order (I4).
fn bound(key: &IndexKey, unit: &UnitHash, bins: &mut Vec<u32>, most: usize) {
    if bins.len() > most {
        bins.sort_by_cached_key(|&bin| key.rank(unit, bin));
        bins.truncate(most);
    }
}

/// The exact sum of one block. A raw sum: it goes sealed to the root's own key and nowhere else,
/// and its only consumer is [`crate::Total`] (I5). No `Debug`.
pub struct BlockSum {
    pub(crate) block: u32,
    pub(crate) sums: Zeroizing<Vec<i64>>,
}

impl BlockSum {
    /// Which block.
    pub fn block(&self) -> u32 {
        self.block
    }

    /// The plaintext to be sealed: `i64` little-endian per bin. Its length is public.
    pub fn to_bytes(&self) -> SecretBytes {
        let mut out = Vec::with_capacity(self.sums.len() * 8);
        self.sums
            .iter()
            .for_each(|sum| out.extend_from_slice(&sum.to_le_bytes()));
        out.into()
    }

    /// Reads an opened block sum; it must have exactly the bins of `spec`.
    pub fn from_bytes(
        block: u32,
        bytes: &SecretBytes,
        spec: &HistogramSpec,
    ) -> Result<Self, ProgramError> {
        let (whole, rest) = bytes.expose().as_chunks::<8>();
        if !rest.is_empty() || whole.len() != spec.bins as usize {
            return Err(ProgramError::SumLength {
                block,
                bins: spec.bins,
            });
        }
        let sums = whole
            .iter()
            .map(|eight| i64::from_le_bytes(*eight))
            .collect();
        Ok(Self {
            block,
            sums: Zeroizing::new(sums),
        })
    }

    /// What a sealed block sum is bound to: the `info` of its sealed box, the same on both sides.
    /// A worker's answer to one question cannot pass as the answer to another.
    pub fn seal_info(run: &RunId, fencing: Fencing, place: &SumPlace<'_>) -> Transcript {
        Transcript::new("siegel/block-sum/v1")
            .field(run.as_bytes())
            .u64(fencing.0)
            .u64(place.step.0)
            .u64(place.intrinsic.into())
            .field(place.spec)
            .u64(place.blocks.get().into())
            .u64(place.block.into())
    }
}

/// Where a block sum belongs.
#[derive(Clone, Copy, Debug)]
pub struct SumPlace<'a> {
    /// Step of the run.
    pub step: Step,
    /// Index of the intrinsic within the step.
    pub intrinsic: u32,
    /// Canonical bytes of its specification.
    pub spec: &'a [u8],
    /// How many blocks there are.
    pub blocks: BlockCount,
    /// Which one this is.
    pub block: u32,
}
