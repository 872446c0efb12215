//! A worker: opens uploads, groups them by user, bounds each user, and sums exactly.
//!
//! It holds the epoch keys of a run and sees plaintext, but gives out nothing except sums sealed to
//! the run's root, whose key it has from the key service (I5). It works only under a lease that it
//! renews with a quorum for every request (I9). See `OVERVIEW.md`.

#![deny(clippy::indexing_slicing)]

mod accept;
mod compute;
mod error;
mod inputs;
mod open;
mod prepare;
mod run;
mod runs;
mod serve;
mod stop;

pub use error::WorkerError;
pub use serve::serve;
