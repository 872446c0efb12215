//! A real root with real workers and a real depot, around a scripted key service.

// Helpers of tests may panic as tests do.
#![allow(clippy::unwrap_used, clippy::panic)]

mod kms;
mod liar;
mod refusals;
mod resume;
mod setting;
mod whole;
