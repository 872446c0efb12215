//! The rules of the ledger, one test per rule, named by the invariant that it upholds. Each was
//! seen to fail with its check taken out.

// Clippy's exception for tests does not reach the helpers beside them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod audit;
mod endings;
mod endorsed_until;
mod endorsements;
mod epochs;
mod fixtures;
mod grants;
mod marks;
mod members;
mod model;
mod ops;
mod policies;
mod receipts;
mod register;
mod releases;
mod requests;
mod steps;
mod witnesses;
mod world;
