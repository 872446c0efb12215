//! Three real nodes over in-memory pipes, with simulated evidence and a log of the test's own.

#![allow(missing_docs)]
// Helpers of tests are tests too; the lint sees only the annotated functions.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod birth;
mod death;
mod endorsed;
mod refusals;
mod replacing;
mod sessions;
mod takeover;
mod whole_path;
mod witnesses;
mod workload;
mod world;
