//! Starlark asks some things of a value that cannot be answered with an error: its text, its
//! truth. A value that must not be asked trips this wire; the call then fails whatever it returns.

use std::fmt;
use std::sync::{Arc, OnceLock};

use allocative::Allocative;
use siegel_program::Kind;

/// The first forbidden use within one call, shared by all values of the call.
#[derive(Clone, Default, Allocative)]
pub(crate) struct Tripwire(#[allocative(skip)] Arc<OnceLock<(Kind, &'static str)>>);

impl Tripwire {
    /// Remembers the first attempt.
    pub(crate) fn trip(&self, kind: Kind, attempt: &'static str) {
        let _ = self.0.set((kind, attempt));
    }

    /// Trips and gives the error for the places that can take one.
    pub(crate) fn refuse<T>(&self, kind: Kind, attempt: &'static str) -> starlark::Result<T> {
        self.trip(kind, attempt);
        Err(starlark::Error::new_other(Tripped))
    }

    /// What tripped it, if anything did.
    pub(crate) fn tripped(&self) -> Option<(Kind, &'static str)> {
        self.0.get().copied()
    }
}

impl fmt::Debug for Tripwire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tripwire")
    }
}

#[derive(Debug, thiserror::Error)]
#[error("a value was used as its kind does not allow")]
struct Tripped;
