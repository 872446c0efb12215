//! One question of the root: the sums of some blocks.

use std::sync::Arc;

use rand_core::CryptoRng;
use siegel_ident::{Fencing, RunId, Step};
use siegel_keys::{KeysError, WorkloadKms};
use siegel_link::depot::DepotClient;
use siegel_program::{BlockCount, BlockSum, Histogram, HistogramSpec, SumBuilder, SumPlace};
use siegel_seal::{KemPublic, Suite, sealed_box};
use siegel_session::PeerKeys;
use siegel_wire::v1;

use crate::inputs::Batches;
use crate::open;
use crate::run::Run;
use crate::runs::Runs;
use crate::stop::Stop;

/// Most bytes of sealed sums in one answer; a session message holds 16 MiB.
const ANSWER_MAX: usize = 15 * 1024 * 1024;

/// What answering needs.
pub(crate) struct Tools<'a, R> {
    pub(crate) kms: &'a WorkloadKms,
    pub(crate) depot: &'a DepotClient,
    pub(crate) runs: &'a Runs,
    pub(crate) rng: R,
}

/// Answers one question. A final refusal by the key service erases the run (I9).
pub(crate) async fn compute<R: CryptoRng>(
    mut tools: Tools<'_, R>,
    run: RunId,
    root: &PeerKeys,
    ask: v1::ComputeBlocks,
) -> Result<v1::BlockSums, Stop> {
    let run = tools.runs.get(run)?;
    let question = Question::check(&run, root, ask)?;
    let summed = tokio::select! {
        summed = sums(&tools, &run, &question) => summed,
        () = run.lease_over() => Err(Stop::NoLease(run.grant.run)),
    };
    let sums = match summed {
        Err(over @ (Stop::Kms(KeysError::Refused(_)) | Stop::NoLease(_))) => {
            tools.runs.erase(&run);
            return Err(over);
        }
        summed => summed?,
    };
    let sealed = sums
        .iter()
        .map(|sum| question.seal(&mut tools.rng, &run, sum));
    let blocks = sealed.collect::<Result<Vec<_>, Stop>>()?;
    tracing::info!(run = %run.grant.run, step = %question.step, blocks = blocks.len(), "blocks summed");
    Ok(v1::BlockSums { blocks })
}

/// One pass over all uploads of the run.
async fn sums<R>(
    tools: &Tools<'_, R>,
    run: &Arc<Run>,
    question: &Question,
) -> Result<Vec<BlockSum>, Stop> {
    run.renew(tools.kms).await?;
    let bundle = run.bundle(tools.depot).await?;
    let histogram = Histogram::new(&question.spec, bundle).map_err(Stop::Program)?;
    let digests = run.inputs(tools.depot).await?;
    let mut sum = SumBuilder::new(&histogram, &run.index, question.blocks, &question.wanted)
        .map_err(Stop::Blocks)?;
    let mut batches = Batches::new(digests, tools.depot);
    while let Some(batch) = batches.next().await? {
        run.renew_in_time(tools.kms).await?;
        for upload in batch {
            // Nothing is opened without a live lease, be the process slow or paused (I9).
            run.check_lease()?;
            open::add(&run.grant, &upload, &mut sum);
        }
    }
    sum.finish().map_err(|_| Stop::Sum)
}

/// A question that passed every check that needs no upload.
struct Question {
    fencing: Fencing,
    step: Step,
    intrinsic: u32,
    spec: HistogramSpec,
    spec_bytes: Vec<u8>,
    blocks: BlockCount,
    wanted: Vec<u32>,
    root_kem: KemPublic,
}

impl Question {
    fn check(run: &Run, root: &PeerKeys, ask: v1::ComputeBlocks) -> Result<Self, Stop> {
        let (fencing, step) = (Fencing(ask.fencing), Step(ask.step));
        run.check_root(root, fencing)?;
        let spec = HistogramSpec::parse(&ask.spec).map_err(Stop::Spec)?;
        spec.check_policy(&run.grant.policy).map_err(Stop::Spec)?;
        let at = step
            .0
            .checked_sub(1)
            .and_then(|at| usize::try_from(at).ok());
        let allotted = at.and_then(|at| run.grant.parameters.steps.get(at));
        if !spec.cost().within(*allotted.ok_or(Stop::Step(step))?) {
            return Err(Stop::Cost(step));
        }
        let blocks = run.blocks();
        if ask.block_count != blocks.get() {
            let (found, expected) = (ask.block_count, blocks.get());
            return Err(Stop::BlockCount { found, expected });
        }
        // 16: the message's own framing per block.
        let each = sealed_box::sealed_box_len(Suite::XWing, spec.bins as usize * 8) + 16;
        let (asked, max) = (ask.blocks.len(), ANSWER_MAX / each);
        if asked > max {
            return Err(Stop::TooManyBlocks { asked, max });
        }
        let root_kem = KemPublic::parse(&root.kem_key).map_err(|_| Stop::NotTheRoot)?;
        Ok(Self {
            fencing,
            step,
            intrinsic: ask.intrinsic,
            spec,
            spec_bytes: ask.spec,
            blocks,
            wanted: ask.blocks,
            root_kem,
        })
    }

    /// Sealed to the root's per-boot key on top of the session; the length is public (I12).
    fn seal(
        &self,
        rng: &mut impl CryptoRng,
        run: &Run,
        sum: &BlockSum,
    ) -> Result<v1::BlockSum, Stop> {
        let place = SumPlace {
            step: self.step,
            intrinsic: self.intrinsic,
            spec: &self.spec_bytes,
            blocks: self.blocks,
            block: sum.block(),
        };
        let info = BlockSum::seal_info(&run.grant.run, self.fencing, &place);
        let plain = sum.to_bytes();
        let sealed = sealed_box::seal_box(rng, &self.root_kem, &info, plain.expose());
        Ok(v1::BlockSum {
            block: sum.block(),
            sealed: sealed.map_err(|_| Stop::Sum)?,
        })
    }
}
