//! What can be wrong with the parameters of a mechanism.

use siegel_ident::NanoRho;

/// Why parameters were refused. All of them are public parameters, never client data (I12).
#[derive(Debug, Clone, Copy, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum DpError {
    /// σ² with a zero numerator (no noise at all) or a zero denominator.
    #[error("sigma^2 = {num}/{den} is not a positive number: give both parts at least 1")]
    NotPositive {
        /// Numerator given.
        num: u64,
        /// Denominator given.
        den: u64,
    },
    /// σ² outside what the sampler computes exactly in 128 bits.
    #[error(
        "sigma^2 = {num}/{den} is outside the exact sampler's range: \
         denominator * (floor(sigma) + 1)^2 must be at most 2^51; use a coarser fraction or a \
         smaller sensitivity"
    )]
    Range {
        /// Numerator, in lowest terms.
        num: u64,
        /// Denominator, in lowest terms.
        den: u64,
    },
    /// A mechanism with sensitivity 0 releases nothing about anyone; most likely a mistake.
    #[error("sensitivity is 0: a mechanism without contributions needs no noise and no budget")]
    NoSensitivity,
    /// No noise is large enough for ρ = 0.
    #[error("rho is 0: no finite noise gives it; allot at least one nano-rho")]
    NoBudget,
    /// The σ² that this ρ needs is larger than the sampler can draw.
    #[error(
        "rho = {rho} at squared sensitivity {sensitivity_sq} needs a sigma^2 above 2^51: \
         raise rho or lower the bound per user"
    )]
    TooMuchNoise {
        /// Squared L2 sensitivity.
        sensitivity_sq: u64,
        /// The ρ asked for.
        rho: NanoRho,
    },
    /// A lattice on which no update fits.
    #[error(
        "lattice scale {scale} does not suit {dimension} dimensions: give more than half the square \
         root of the dimension, at most 2^31, and at least one dimension"
    )]
    Scale {
        /// S, in lattice units.
        scale: u64,
        /// d.
        dimension: usize,
    },
    /// So many contributors that an exact sum could leave 64 bits.
    #[error(
        "{contributors} contributors at lattice scale {scale} can sum to 2^62 or more: \
         lower the scale"
    )]
    Contributors {
        /// Most contributions to one sum.
        contributors: u64,
        /// S, in lattice units.
        scale: u64,
    },
}
