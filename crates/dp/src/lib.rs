//! Exact discrete noise, zCDP accounting and its conversion to (ε, δ).
//!
//! Two halves that meet only in integers. [`zcdp`] and [`sigma2`] do the accounting: costs are
//! whole nano-ρ and every rounding goes against the one who spends (I6). [`gaussian`] draws the
//! noise: integers from a ChaCha20 stream, no floating point, so that every incarnation of a root
//! gets the same bytes (I7) and no output value betrays an input by its last bits (I5). [`lattice`]
//! brings a real update there: clipped, rounded, its integer norm checked.

pub mod bernoulli;
pub mod error;
pub mod gaussian;
pub mod lattice;
pub mod rng;
pub mod sigma2;
pub mod zcdp;

mod ln;

pub use error::DpError;
pub use gaussian::DiscreteGaussian;
pub use lattice::Lattice;
pub use rng::NoiseRng;
pub use sigma2::{Sigma2, cost_of, sigma2_for};
