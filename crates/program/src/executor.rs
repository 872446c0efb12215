//! What a driver may ask of the machine under it.

use crate::{ClippedSumSpec, HistogramSpec};

/// Carries out the intrinsics of one step. Each is the whole path from client values to a noisy
/// result; there is no method for a part of it (I5).
pub trait Executor {
    /// One noisy count per bin of `spec`, in its order.
    fn dp_histogram(&mut self, spec: &HistogramSpec) -> Result<Vec<i64>, Stop>;

    /// One noisy lattice integer per parameter of `spec`'s model; every unit has trained from
    /// `params`, which are private or public.
    fn dp_clipped_sum(&mut self, spec: &ClippedSumSpec, params: &[f32]) -> Result<Vec<i64>, Stop>;
}

/// Why the machine stopped. Codes and public facts only (I12).
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
#[error("{code}: {message}")]
pub struct Stop {
    /// Stable, kebab-case.
    pub code: &'static str,
    /// What was wrong and what to do.
    pub message: String,
}

impl Stop {
    /// A stop with this code and text.
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }
}
