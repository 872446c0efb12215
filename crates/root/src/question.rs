//! What a worker is asked, and what its answer must be.

use std::collections::BTreeSet;
use std::time::Duration;

use siegel_ident::{Fencing, RunId, Step};
use siegel_program::{BlockCount, BlockSum, HistogramSpec, SumPlace};
use siegel_seal::Suite;
use siegel_seal::sealed_box::sealed_box_len;
use siegel_wire::v1;

use crate::compute::Open;
use crate::leases::Lease;

/// Most bytes of sealed sums in one answer; workers give at most 15 MiB.
const ANSWER_MAX: usize = 14 << 20;

/// One histogram of one step.
pub(crate) struct Question {
    pub(crate) run: RunId,
    pub(crate) fencing: Fencing,
    pub(crate) step: Step,
    pub(crate) intrinsic: u32,
    pub(crate) spec: HistogramSpec,
    pub(crate) spec_bytes: Vec<u8>,
    pub(crate) blocks: BlockCount,
    pub(crate) limit: Duration,
}

impl Question {
    /// How many sums fit one answer.
    pub(crate) fn most_blocks(&self) -> usize {
        ANSWER_MAX / (sealed_box_len(Suite::XWing, self.spec.bins as usize * 8) + 16)
    }

    pub(crate) fn to_wire(&self, lease: &Lease) -> v1::ComputeBlocks {
        v1::ComputeBlocks {
            fencing: self.fencing.0,
            step: self.step.0,
            intrinsic: self.intrinsic,
            spec: self.spec_bytes.clone(),
            block_count: self.blocks.get(),
            blocks: lease.blocks.clone(),
        }
    }

    /// Opens exactly the blocks of the lease, each once; `None` for anything else. Why a box does
    /// not open helps nobody but an attacker.
    pub(crate) fn open(
        &self,
        open: &Open,
        lease: &Lease,
        sums: v1::BlockSums,
    ) -> Option<Vec<BlockSum>> {
        let mut wanted: BTreeSet<u32> = lease.blocks.iter().copied().collect();
        let mut opened = Vec::with_capacity(wanted.len());
        for v1::BlockSum { block, sealed } in sums.blocks {
            if !wanted.remove(&block) {
                return None;
            }
            let (step, intrinsic, blocks) = (self.step, self.intrinsic, self.blocks);
            let place = SumPlace {
                step,
                intrinsic,
                spec: &self.spec_bytes,
                blocks,
                block,
            };
            let info = BlockSum::seal_info(&self.run, self.fencing, &place);
            let plain = open(&info, &sealed)?;
            opened.push(BlockSum::from_bytes(block, &plain, &self.spec).ok()?);
        }
        wanted.is_empty().then_some(opened)
    }
}
