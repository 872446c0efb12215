//! One worker between a scripted key service, a depot that may lie, and a root.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod cache;
mod depot;
mod inputs;
mod lease;
mod refusals;
mod runtime;
mod setting;
mod sums;
mod training;
