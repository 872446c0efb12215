//! Time as an input (I15): nothing here reads a clock.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Whole seconds since 1970-01-01T00:00:00Z.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Timestamp(pub u64);

/// A length of time in whole seconds.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Seconds(pub u64);

impl Timestamp {
    /// The moment `after` this one; saturates at the end of time.
    pub const fn plus(self, after: Seconds) -> Self {
        Self(self.0.saturating_add(after.0))
    }
    /// The moment `before` this one; saturates at 1970.
    pub const fn minus(self, before: Seconds) -> Self {
        Self(self.0.saturating_sub(before.0))
    }
    /// How long from `earlier` to this; zero if `earlier` is later.
    pub const fn since(self, earlier: Self) -> Seconds {
        Seconds(self.0.saturating_sub(earlier.0))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} s", self.0)
    }
}
