//! An intrinsic with all that a unit's contribution depends on.

use crate::{Bundle, ClippedSum, Histogram, Intrinsic, ProgramError};

/// What a worker computes for one question.
pub enum Query<'a> {
    /// Counts.
    Histogram(Histogram<'a>),
    /// Model updates.
    ClippedSum(Box<ClippedSum<'a>>),
}

impl<'a> Query<'a> {
    /// Joins an intrinsic with its bundle and the broadcast state, whose length must be
    /// [`Intrinsic::state_bytes`].
    pub fn new(
        intrinsic: &'a Intrinsic,
        bundle: &'a Bundle,
        state: &[u8],
    ) -> Result<Self, ProgramError> {
        match intrinsic {
            Intrinsic::Histogram(_) if !state.is_empty() => Err(ProgramError::StateLength {
                found: state.len(),
                expected: 0,
            }),
            Intrinsic::Histogram(spec) => Ok(Self::Histogram(Histogram::new(spec, bundle)?)),
            Intrinsic::ClippedSum(spec) => Ok(Self::ClippedSum(Box::new(ClippedSum::new(
                spec, bundle, state,
            )?))),
        }
    }

    pub(crate) fn dimension(&self) -> usize {
        match self {
            Self::Histogram(histogram) => histogram.spec().bins as usize,
            Self::ClippedSum(sum) => sum.spec().dimension(),
        }
    }
}
