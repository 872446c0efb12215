//! A DP intrinsic: the whole path from client values to a noisy result (I5).

use serde::{Deserialize, Serialize};
use siegel_dp::{DiscreteGaussian, Sigma2};
use siegel_ident::{Budget, Delta, NanoRho, json};

use crate::{ClippedSumSpec, HistogramSpec, ProgramError};

const DOCUMENT: &str = "intrinsic";
const MAX_SPEC: usize = 2048;

/// What a step asks of its clients. Public, and part of the plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Intrinsic {
    /// Noisy counts of users.
    Histogram(HistogramSpec),
    /// A noisy sum of clipped model updates.
    ClippedSum(ClippedSumSpec),
}

impl Intrinsic {
    /// Reads canonical JSON. What depends on the bundle (the words of a histogram, the alphabet of
    /// a model) is checked by [`crate::Query::new`], which has it.
    pub fn parse(bytes: &[u8]) -> Result<Self, ProgramError> {
        let intrinsic: Self =
            json::from_canonical(bytes, MAX_SPEC).map_err(ProgramError::document(DOCUMENT))?;
        intrinsic.check()?;
        Ok(intrinsic)
    }

    /// Canonical JSON.
    pub fn to_bytes(&self) -> Result<Vec<u8>, ProgramError> {
        json::to_canonical(self).map_err(ProgramError::document(DOCUMENT))
    }

    /// How many integers its sum has: bins, or parameters.
    pub fn dimension(&self) -> usize {
        match self {
            Self::Histogram(spec) => spec.bins as usize,
            Self::ClippedSum(spec) => spec.dimension(),
        }
    }

    /// Bytes of the broadcast that it needs: `f32` for each parameter, none for a histogram.
    pub fn state_bytes(&self) -> usize {
        match self {
            Self::Histogram(_) => 0,
            Self::ClippedSum(spec) => spec.dimension() * 4,
        }
    }

    /// What it costs: ρ as stated, and no δ₀ (nothing is thresholded).
    pub fn cost(&self) -> Budget {
        Budget {
            rho_nano: self.rho_nano(),
            delta0: Delta(0),
        }
    }

    /// Squared L2 sensitivity of the exact sum under zero-out.
    pub fn sensitivity_sq(&self) -> u64 {
        match self {
            Self::Histogram(spec) => spec.sensitivity_sq(),
            Self::ClippedSum(spec) => spec.sensitivity_sq(),
        }
    }

    /// σ² of the noise: the smallest (rounded up) whose zCDP cost Δ²/2σ² is at most `rho_nano`
    /// (Canonne, Kamath, Steinke 2020, theorem 4).
    pub fn sigma2(&self) -> Result<Sigma2, ProgramError> {
        siegel_dp::sigma2_for(self.sensitivity_sq(), self.rho_nano()).map_err(noise)
    }

    /// Standard error of each integer: σ. (The discrete Gaussian's variance is at most σ².)
    pub fn standard_error(&self) -> Result<f64, ProgramError> {
        Ok(self.sigma2()?.sigma())
    }

    /// The sum of this many units fits 64 bits whatever they send, and its noise can be drawn
    /// exactly. Checked before a run is registered.
    pub fn check_range(&self, contributors: u64) -> Result<(), ProgramError> {
        if let Self::ClippedSum(spec) = self {
            spec.check_contributors(contributors)?;
        }
        DiscreteGaussian::new(self.sigma2()?).map_err(noise)?;
        Ok(())
    }

    /// Name of the column that it reads.
    pub fn column(&self) -> &str {
        match self {
            Self::Histogram(spec) => &spec.column,
            Self::ClippedSum(spec) => &spec.column,
        }
    }

    fn rho_nano(&self) -> NanoRho {
        match self {
            Self::Histogram(spec) => spec.rho_nano,
            Self::ClippedSum(spec) => spec.rho_nano,
        }
    }

    pub(crate) fn check(&self) -> Result<(), ProgramError> {
        match self {
            Self::Histogram(spec) => spec.check(),
            Self::ClippedSum(spec) => spec.check(),
        }
    }
}

pub(crate) fn noise(error: siegel_dp::DpError) -> ProgramError {
    ProgramError::Noise(error.to_string())
}
