//! What the canonical JSON documents of this crate have in common.

use serde::Serialize;
use serde::de::DeserializeOwned;
use siegel_ident::json::{self, JsonError};

use crate::OpenField;

/// Bound on a document of this crate, in bytes, if it has none of its own (I14).
pub(crate) const DOCUMENT_MAX: usize = 64 * 1024;

/// Numbers in hashed JSON stay below 2⁵³, so that every JSON reader sees the same value (I2).
pub(crate) const NUMBER_MAX: u64 = (1 << 53) - 1;

/// Why a document was refused. The author of the document has to mend it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DocumentError {
    /// Not the canonical JSON of this document.
    #[error("{document}: {source}")]
    Json {
        /// Schema of the document that was expected.
        document: &'static str,
        /// What was wrong.
        source: JsonError,
    },
    /// Canonical, but for another schema.
    #[error("{document}: field \"schema\" says {found:?}; is this the right file?")]
    Schema {
        /// The schema that was expected.
        document: &'static str,
        /// The one it names.
        found: String,
    },
    /// A field whose value makes no sense here.
    #[error("{document}: field {field:?} {problem}")]
    Field {
        /// Schema of the document.
        document: &'static str,
        /// Which field.
        field: &'static str,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// A reference value that is not for production, in a document that is.
    #[error("{document}: {source}")]
    ReferenceValue {
        /// Schema of the document.
        document: &'static str,
        /// Which field is open.
        source: OpenField,
    },
    /// A simulation's document, in a process that was built without the simulator (I11).
    #[error(
        "{document}: profile is \"simulation\", but this is a production build without the simulator \
         (I11): start the binaries of flavour simulation, or give a configuration for production"
    )]
    SimulationNotBuilt {
        /// Schema of the document.
        document: &'static str,
    },
    /// The signature over a key bundle is not by this cluster's key.
    #[error("{document}: the signature is not by the cluster key of this genesis")]
    Signature {
        /// Schema of the document.
        document: &'static str,
    },
}

/// A document with a fixed schema and checks beyond its shape.
pub(crate) trait Document: Serialize + DeserializeOwned {
    /// The value of the field `schema`.
    const SCHEMA: &'static str;
    /// Bound on its size, in bytes (I14).
    const MAX: usize = DOCUMENT_MAX;
    /// The field `schema`, as read.
    fn schema(&self) -> &str;
    /// Checks what types alone do not say.
    fn check(&self) -> Result<(), DocumentError>;
}

/// Strict reading: exactly the canonical bytes, the right schema, sensible fields.
pub(crate) fn parse<T: Document>(bytes: &[u8]) -> Result<T, DocumentError> {
    let value: T = json::from_canonical(bytes, T::MAX).map_err(|source| DocumentError::Json {
        document: T::SCHEMA,
        source,
    })?;
    checked(&value)?;
    Ok(value)
}

/// Canonical bytes of a document that [`parse`] would accept again.
pub(crate) fn to_bytes<T: Document>(value: &T) -> Result<Vec<u8>, DocumentError> {
    checked(value)?;
    json::to_canonical(value).map_err(|source| DocumentError::Json {
        document: T::SCHEMA,
        source,
    })
}

fn checked<T: Document>(value: &T) -> Result<(), DocumentError> {
    if value.schema() != T::SCHEMA {
        let found = value.schema().chars().take(80).collect();
        return Err(DocumentError::Schema {
            document: T::SCHEMA,
            found,
        });
    }
    value.check()
}

/// `Ok` if `good`, else a refusal of that field.
pub(crate) fn require<T: Document>(
    good: bool,
    field: &'static str,
    problem: &'static str,
) -> Result<(), DocumentError> {
    if good {
        Ok(())
    } else {
        Err(DocumentError::Field {
            document: T::SCHEMA,
            field,
            problem,
        })
    }
}

#[cfg(test)]
mod tests;
