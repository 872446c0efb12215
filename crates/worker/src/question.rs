//! A question of the root, checked against what the key service granted.

use rand_core::CryptoRng;
use siegel_ident::{Digest, Fencing, Step};
use siegel_program::{
    BlockCount, BlockSum, Bundle, Intrinsic, Plan, ProgramError, Query, SumPlace, Units,
};
use siegel_seal::{KemPublic, Suite, sealed_box};
use siegel_session::PeerKeys;
use siegel_wire::v1;

use crate::run::Run;
use crate::stop::Stop;

/// Most bytes of sealed sums in one answer; a session message holds 16 MiB.
const ANSWER_MAX: usize = 15 * 1024 * 1024;

/// A question that passed every check that needs no upload.
pub(crate) struct Question {
    pub(crate) step: Step,
    pub(crate) blocks: BlockCount,
    pub(crate) wanted: Vec<u32>,
    fencing: Fencing,
    /// Index of the intrinsic within the step.
    index: u32,
    intrinsic: Intrinsic,
    spec: Vec<u8>,
    /// The broadcast, public: `f32` little-endian for each parameter, nothing for a histogram.
    state: Vec<u8>,
    state_digest: Digest,
    root_kem: KemPublic,
    /// The plan has nothing else to ask, and all blocks' sums fit one answer: the root has no
    /// reason to ask again, unless another worker dies. Public (I12).
    pub(crate) asked_once: bool,
}

impl Question {
    /// `plan` is the registered one. Policy and allotment are checked besides: each of the three
    /// stands alone (I2, I3, I5, I6).
    pub(crate) fn check(
        run: &Run,
        plan: &Plan,
        root: &PeerKeys,
        ask: v1::ComputeBlocks,
    ) -> Result<Self, Stop> {
        let (step, index) = (Step(ask.step), ask.intrinsic);
        let intrinsic = Intrinsic::parse(&ask.spec).map_err(Stop::Spec)?;
        let allowed = intrinsic.check_policy(&run.grant.policy);
        allowed.map_err(Stop::Spec)?;
        let at = step
            .0
            .checked_sub(1)
            .and_then(|at| usize::try_from(at).ok());
        let allotted = at.and_then(|at| run.grant.parameters.steps.get(at));
        if !intrinsic.cost().within(*allotted.ok_or(Stop::Step(step))?) {
            return Err(Stop::Cost(step));
        }
        if plan.intrinsic(step, index) != Some(&intrinsic) {
            return Err(Stop::NotPlanned { step, index });
        }
        // A unit has a blob of its own at least.
        let fits = intrinsic.check_range(run.grant.blob_count);
        fits.map_err(Stop::Spec)?;
        let (found, expected) = (ask.state.len(), intrinsic.state_bytes());
        if found != expected {
            return Err(Stop::State { found, expected });
        }
        let blocks = run.blocks();
        if ask.block_count != blocks.get() {
            let (found, expected) = (ask.block_count, blocks.get());
            return Err(Stop::BlockCount { found, expected });
        }
        // 16: the message's own framing per block.
        let each = sealed_box::sealed_box_len(Suite::XWing, intrinsic.dimension() * 8) + 16;
        let (asked, max) = (ask.blocks.len(), ANSWER_MAX / each);
        if asked > max {
            return Err(Stop::TooManyBlocks { asked, max });
        }
        let planned: usize = plan.steps.iter().map(|step| step.intrinsics.len()).sum();
        Ok(Self {
            step,
            asked_once: planned == 1 && blocks.get() as usize <= max,
            blocks,
            wanted: ask.blocks,
            fencing: Fencing(ask.fencing),
            index,
            intrinsic,
            spec: ask.spec,
            state_digest: Digest::of(&ask.state),
            state: ask.state,
            root_kem: KemPublic::parse(&root.kem_key).map_err(|_| Stop::NotTheRoot)?,
        })
    }

    /// The intrinsic with its part of the program and the broadcast.
    pub(crate) fn query<'a>(&'a self, bundle: &'a Bundle) -> Result<Query<'a>, ProgramError> {
        Query::new(&self.intrinsic, bundle, &self.state)
    }

    /// The units of the asked blocks, none yet. Refuses blocks that do not exist or are named twice.
    pub(crate) fn units(&self) -> Result<Units, Stop> {
        Units::new(self.blocks, &self.wanted).map_err(Stop::Blocks)
    }

    /// Refuses a program without what the intrinsic names, and blocks as [`Self::units`] does.
    pub(crate) fn check_program(&self, bundle: &Bundle) -> Result<(), Stop> {
        self.query(bundle).map_err(Stop::Program)?;
        self.units().map(drop)
    }

    /// Sealed to the root's per-boot key on top of the session; the length is public (I12).
    pub(crate) fn seal(
        &self,
        rng: &mut impl CryptoRng,
        run: &Run,
        sum: &BlockSum,
    ) -> Result<v1::BlockSum, Stop> {
        let place = SumPlace {
            step: self.step,
            intrinsic: self.index,
            spec: &self.spec,
            state: self.state_digest,
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
