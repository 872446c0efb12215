//! What a worker is asked, and what its answer must be.

use std::collections::BTreeSet;
use std::time::Duration;

use siegel_ident::{Digest, Fencing, RunId, Step};
use siegel_program::{BlockCount, BlockSum, Intrinsic, ProgramError, SumPlace};
use siegel_seal::Suite;
use siegel_seal::sealed_box::sealed_box_len;
use siegel_session::SESSION_LIFETIME;
use siegel_wire::v1;

use crate::compute::{Job, Open};
use crate::leases::Lease;

/// Most bytes of sealed sums in one answer; workers give at most 15 MiB.
const ANSWER_MAX: usize = 14 << 20;

/// How long a worker may take for one question: this,
const LEASE_BASE: Duration = Duration::from_secs(30);
/// and for each upload so much,
const LEASE_PER_BLOB: Duration = Duration::from_millis(5);
/// and for each upload's training at this slow pace, in epochs × items × parameters a second,
const LEASE_PACE: u64 = 20_000_000;
/// but never more: a session must outlive it.
const LEASE_MOST: Duration = Duration::from_secs(SESSION_LIFETIME.0 - 600);

/// One intrinsic of one step.
pub(crate) struct Question {
    pub(crate) run: RunId,
    pub(crate) fencing: Fencing,
    pub(crate) step: Step,
    /// Its number within the step.
    pub(crate) index: u32,
    pub(crate) intrinsic: Intrinsic,
    spec: Vec<u8>,
    /// What every unit starts from.
    state: Vec<u8>,
    state_digest: Digest,
    pub(crate) blocks: BlockCount,
    /// How long a worker may take.
    pub(crate) limit: Duration,
}

impl Question {
    /// Intrinsic number `index` of a step of the job.
    pub(crate) fn new(
        job: &Job,
        step: Step,
        index: u32,
        intrinsic: Intrinsic,
        state: Vec<u8>,
    ) -> Result<Self, ProgramError> {
        Ok(Self {
            run: job.run,
            fencing: job.fencing,
            step,
            index,
            spec: intrinsic.to_bytes()?,
            state_digest: Digest::of(&state),
            state,
            blocks: BlockCount::for_blobs(job.blob_count),
            limit: limit(&intrinsic, job.blob_count),
            intrinsic,
        })
    }

    /// How many sums fit one answer.
    pub(crate) fn most_blocks(&self) -> usize {
        ANSWER_MAX / (sealed_box_len(Suite::XWing, self.intrinsic.dimension() * 8) + 16)
    }

    pub(crate) fn to_wire(&self, lease: &Lease) -> v1::ComputeBlocks {
        v1::ComputeBlocks {
            fencing: self.fencing.0,
            step: self.step.0,
            intrinsic: self.index,
            spec: self.spec.clone(),
            block_count: self.blocks.get(),
            blocks: lease.blocks.clone(),
            state: self.state.clone(),
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
            let (step, intrinsic, blocks) = (self.step, self.index, self.blocks);
            let place = SumPlace {
                step,
                intrinsic,
                spec: &self.spec,
                state: self.state_digest,
                blocks,
                block,
            };
            let info = BlockSum::seal_info(&self.run, self.fencing, &place);
            let plain = open(&info, &sealed)?;
            opened.push(BlockSum::from_bytes(block, &plain, &self.intrinsic).ok()?);
        }
        wanted.is_empty().then_some(opened)
    }
}

/// By public numbers alone: how long a unit takes must not show (I12).
fn limit(intrinsic: &Intrinsic, blobs: u64) -> Duration {
    let reading = LEASE_PER_BLOB.saturating_mul(u32::try_from(blobs).unwrap_or(u32::MAX));
    let work = match intrinsic {
        Intrinsic::Histogram(_) => 0,
        Intrinsic::ClippedSum(spec) => [spec.epochs, spec.max_items_per_user]
            .into_iter()
            .map(u64::from)
            .fold(spec.dimension() as u64, u64::saturating_mul),
    };
    let training = Duration::from_secs(work.saturating_mul(blobs) / LEASE_PACE);
    (LEASE_BASE + reading)
        .saturating_add(training)
        .min(LEASE_MOST)
}
