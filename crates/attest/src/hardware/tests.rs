//! What the tests of all kinds have in common.

pub(crate) mod vectors;
