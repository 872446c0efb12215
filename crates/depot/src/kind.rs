//! What an object is. The depot looks into uploads only, and there only at the public header.

use siegel_wire::v1::ObjectKind;

use crate::DepotError;

/// Kinds live apart: the digest of one is not found under another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A client's sealed upload.
    Upload,
    /// A sealed release or checkpoint.
    Sealed,
    /// A public program bundle.
    Program,
    /// A run's plan: public.
    Plan,
    /// The sorted blob digests of a run: public.
    Inputs,
}

impl Kind {
    /// First part of the object's path in the store.
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::Upload => "upload",
            Self::Sealed => "sealed",
            Self::Program => "program",
            Self::Plan => "plan",
            Self::Inputs => "inputs",
        }
    }

    /// From the number on the wire.
    pub fn from_wire(number: i32) -> Result<Self, DepotError> {
        match ObjectKind::try_from(number) {
            Ok(ObjectKind::Upload) => Ok(Self::Upload),
            Ok(ObjectKind::Sealed) => Ok(Self::Sealed),
            Ok(ObjectKind::Program) => Ok(Self::Program),
            Ok(ObjectKind::Plan) => Ok(Self::Plan),
            Ok(ObjectKind::Inputs) => Ok(Self::Inputs),
            Ok(ObjectKind::Unspecified) | Err(_) => Err(DepotError::Kind { number }),
        }
    }
}
