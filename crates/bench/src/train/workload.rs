//! What is trained: the intrinsic as a plan would have it, and the model's accuracy.

use std::collections::BTreeMap;

use siegel_ident::NanoRho;
use siegel_program::clipped_sum::{ClippedSumSpec, ClippedSumTerms};
use siegel_program::{Bundle, Intrinsic, ProgramError};
use siegel_seal::{OpenError, SealError};
use siegel_tensor::{Classifier, Examples, Model, Scratch, Sgd, TensorError, accuracy};

use super::data::{CLASSES, Data, EXAMPLES, FEATURES};

/// Column of the rows in a record.
pub const COLUMN: &str = "rows";
/// Clip norm.
pub const CLIP: f64 = 0.5;
/// Local rate.
const RATE: f64 = 0.05;
/// Examples of one gradient.
const BATCH: u32 = 10;
/// S, in lattice units.
pub const SCALE: u64 = 1 << 16;
/// ρ of a round at noise multiplier 0.1, the peers' (1,000 made-up users cannot carry a serious ε;
/// the cost is the same): 1 / (2 · 0.1²) = 50.
const RHO_NANO: u64 = 50_000_000_000;

/// Why a measurement cannot stand.
#[derive(Debug, thiserror::Error)]
pub enum TrainTrouble {
    /// Ours could not seal.
    #[error("seal_upload: {0}")]
    Seal(#[from] SealError),
    /// Ours could not open.
    #[error("open_upload: {0}")]
    Open(#[from] OpenError),
    /// A stored upload has another digest.
    #[error("an upload has changed")]
    Changed,
    /// Records, sums, noise.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// The model.
    #[error(transparent)]
    Tensor(#[from] TensorError),
    /// The lattice.
    #[error(transparent)]
    Dp(#[from] siegel_dp::DpError),
}

/// One model and how long it is trained.
pub struct Workload {
    /// Width of the hidden layer.
    pub hidden: u32,
    /// Clients of a round.
    pub cohort: u32,
    /// Rounds.
    pub rounds: u32,
    /// The question of every round.
    pub intrinsic: Intrinsic,
    /// The program; its text plays no part here.
    pub bundle: Bundle,
    /// The model.
    pub model: Model,
}

impl Workload {
    /// Fedsim-v1 with a hidden layer of this width.
    pub fn new(hidden: u32, cohort: u32, rounds: u32) -> Result<Self, TrainTrouble> {
        let model = Model::Classifier(Classifier {
            features: FEATURES as u32,
            hidden,
            classes: CLASSES as u32,
        });
        let bundle = Bundle::new("fedsim", "", BTreeMap::new())?;
        let terms = ClippedSumTerms {
            column: COLUMN,
            alphabet: None,
            model,
            max_items_per_user: EXAMPLES as u32,
            epochs: 1,
            batch: BATCH,
            rate_micro: (RATE * 1e6) as u64,
            clip_micro: (CLIP * 1e6) as u64,
            scale: SCALE,
            rho: NanoRho(RHO_NANO),
        };
        let spec = ClippedSumSpec::new(&bundle, terms)?;
        Ok(Self {
            hidden,
            cohort,
            rounds,
            intrinsic: Intrinsic::ClippedSum(spec),
            bundle,
            model,
        })
    }

    /// Number of parameters.
    pub fn dimension(&self) -> usize {
        self.model.dimension()
    }

    /// The parameters to start from: zeros for logistic regression, as the peers have it.
    pub fn initial(&self) -> Vec<f32> {
        match self.hidden {
            0 => vec![0.0; self.dimension()],
            _ => self.model.initial(18),
        }
    }

    /// Local training as the intrinsic asks for it.
    pub fn sgd(&self) -> Sgd {
        Sgd {
            epochs: 1,
            batch: BATCH,
            rate: RATE as f32,
        }
    }

    /// Share of held-out examples that these parameters get right.
    pub fn accuracy(&self, params: &[f32], data: &Data) -> Result<f64, TrainTrouble> {
        let test = Examples::Rows(&data.test);
        let (right, total) = accuracy(&self.model, params, &test, &mut Scratch::default())?;
        Ok(right as f64 / total.max(1) as f64)
    }
}
