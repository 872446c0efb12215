//! One worker between a scripted key service, a depot that may lie, and a root.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod depot;
mod lease;
mod refusals;
mod setting;
mod sums;
