//! Bundles of real logs, bundles of our own making, and what must not verify.

mod gaps;
mod mutations;
mod policy;
mod sample;
mod times;
mod vectors;
