//! What the tests of all kinds have in common.

mod overview;
pub(crate) mod vectors;
