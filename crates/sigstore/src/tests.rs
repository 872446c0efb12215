//! Bundles of real logs, and what must not verify.

mod vectors;
