//! What a measured process stands on: quotes, clock, randomness, placement, logs.
//!
//! A node crate is a library with `pub async fn serve(platform: Platform, net: Net) -> Result<…>`
//! and a `main` of one line, [`run_node`]. In-process mode builds a [`Platform`] by hand and calls
//! the same `serve`. See OVERVIEW.md.

pub mod clock;
pub mod cpu;
pub mod error;
pub mod harden;
pub mod launched;
pub mod logging;
pub mod node;
pub mod quote;
pub mod rng;
pub mod socket;
pub mod start;
pub mod tsm;

#[cfg(any(test, feature = "simulation"))]
pub use clock::TestClock;
pub use clock::{Clock, SystemClock};
pub use error::PlatformError;
pub use launched::{Launched, launched};
pub use node::{Platform, run_node};
pub use quote::{BoxFuture, QuoteSource};
pub use rng::OsRng;
pub use start::{Peer, StartInfo};
pub use tsm::{ConfigfsTsm, PlatformQuote, TsmError, TsmQuotes};
