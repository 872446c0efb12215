//! The build script beside the crate: one source, two readers.
//!
//! `scene` is a small checkout with the real script and recipe, and with programs in the place of
//! cargo, rustc and cc that only write down what they are asked.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod configs;
mod git;
mod manifest;
mod run;
mod scene;
mod script;
