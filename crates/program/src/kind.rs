//! The three kinds of a program's values (I5).

use std::fmt;

use serde::{Deserialize, Serialize};

/// Where a value came from, and so what may be done with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// At clients. It has no handle but as the argument of a DP intrinsic: there is no kind for a
    /// raw sum.
    Client,
    /// Made by a mechanism, and paid for: post-processing, control flow and release are free.
    Private,
    /// Known to everyone: parameters, public counts, the program's own text.
    Public,
}

impl Kind {
    /// The name in messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Private => "private",
            Self::Public => "public",
        }
    }

    /// True if a value of this kind may reach state, control flow and releases.
    pub const fn may_leave(self) -> bool {
        !matches!(self, Self::Client)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
