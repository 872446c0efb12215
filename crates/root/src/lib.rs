//! A root: owns the loop of a run, adds exact sums, draws the noise, seals and commits.
//!
//! It never sees an upload. What it opens are sums of blocks, sealed to its per-boot key; what it
//! lets out are noisy totals, sealed to a key that only the key service can open, and checkpoints
//! (I5, I17). See `OVERVIEW.md`.

#![deny(clippy::indexing_slicing)]

mod bridge;
mod commit;
mod compute;
mod error;
mod events;
mod leases;
mod prepare;
mod question;
mod resume;
mod run;
mod serve;
mod service;
mod stop;
mod wish;
mod workers;

pub use error::RootError;
pub use serve::serve;
