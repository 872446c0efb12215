//! A worker: opens uploads, groups them by user, bounds each user, and sums exactly.
//!
//! It holds the epoch keys of a run and sees plaintext, but gives out nothing except sums sealed to
//! the run's root, whose key it has from the key service (I5). It works only under a lease that it
//! renews with a quorum for every request (I9). See `OVERVIEW.md`.

#![deny(clippy::indexing_slicing)]

mod accept;
mod compute;
mod error;
mod gather;
mod inputs;
mod job;
mod kept;
mod limits;
mod open;
mod opened;
mod pool;
mod prepare;
mod question;
mod run;
mod runs;
mod serve;
mod stop;
#[cfg(test)]
mod testing;

pub use error::WorkerError;
pub use limits::Limits;
pub use serve::{serve, serve_within};
