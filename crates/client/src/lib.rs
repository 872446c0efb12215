//! What a device does: verify, seal, keep its own odometer and what it has seen of logs.
//!
//! [`verify()`] is the only maker of a [`VerifiedPolicy`], and a [`Device`] seals only under one: so
//! nothing is encrypted before policy, cluster and key have been checked against the device's own
//! configuration and clock (I1). Pure: the caller brings bytes, time and randomness (I15). See
//! `OVERVIEW.md`.

pub mod config;
pub mod device;
mod endorsed;
pub mod odometer;
pub mod refusal;
pub mod seen;
pub mod verify;
pub mod words;

pub use config::ClientConfig;
pub use device::{Content, Device, Upload};
pub use endorsed::EndorsementProof;
pub use odometer::Odometer;
pub use refusal::{ClientRefusal, DeviceRefusal};
pub use seen::SeenLogs;
pub use verify::{Offer, VerifiedPolicy, verify};
pub use words::Words;

#[cfg(test)]
mod testing;
