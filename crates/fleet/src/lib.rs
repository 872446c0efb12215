//! Simulated clients, data sets, supervisor and launcher.
//!
//! Nothing here is measured or trusted. See OVERVIEW.md.

#[cfg(feature = "simulation")]
pub mod clients;
#[cfg(feature = "simulation")]
pub mod cluster;
pub mod data;
#[cfg(feature = "simulation")]
pub mod deployment;
#[cfg(feature = "simulation")]
pub mod error;
#[cfg(feature = "simulation")]
pub mod keeper;
pub mod kills;
#[cfg(feature = "simulation")]
pub mod launcher;
#[cfg(feature = "simulation")]
pub mod parts;
pub mod role;
pub mod rss;
#[cfg(feature = "simulation")]
pub mod supervisor;

#[cfg(feature = "simulation")]
pub use error::FleetError;
pub use role::{Part, ProcessName};
pub use siegel_recipe as binaries;
