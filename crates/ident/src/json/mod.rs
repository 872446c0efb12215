//! Canonical JSON (RFC 8785): what is named by the digest of its bytes is read only from the
//! canonical bytes, so that one value has one digest (I2).

mod writer;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};

/// Why a document was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JsonError {
    /// Longer than its bound.
    #[error("document of {len} bytes is longer than the {max} allowed")]
    TooLong {
        /// Its length.
        len: usize,
        /// The bound.
        max: usize,
    },
    /// Not JSON, or not of this shape: an unknown, missing or mistyped field.
    #[error("does not parse: {0}")]
    Shape(#[from] serde_json::Error),
    /// The same value, but spelled otherwise than RFC 8785 does.
    #[error("not canonical JSON (RFC 8785): first difference at byte {at}")]
    NotCanonical {
        /// Offset of the first differing byte.
        at: usize,
    },
}

/// Writes a value as canonical JSON.
pub fn to_canonical<T: Serialize>(value: &T) -> Result<Vec<u8>, JsonError> {
    Ok(serde_json_canonicalizer::to_vec(value)?)
}

/// Reads a value from canonical JSON of at most `max` bytes. The caller keeps using the bytes it
/// passed in: they are what is hashed and enforced. The types must deny unknown fields.
pub fn from_canonical<T: Serialize + DeserializeOwned>(
    bytes: &[u8],
    max: usize,
) -> Result<T, JsonError> {
    if bytes.len() > max {
        return Err(JsonError::TooLong {
            len: bytes.len(),
            max,
        });
    }
    let value: T = serde_json::from_slice(bytes)?;
    // Only writing the value again shows that the bytes are its one spelling: a field that is left out,
    // or written though it is the default, is canonical JSON too, and another digest.
    if writer::write(&value, bytes.len()).is_some_and(|canonical| canonical == bytes) {
        return Ok(value);
    }
    let canonical = to_canonical(&value)?;
    if canonical != bytes {
        let same = canonical
            .iter()
            .zip(bytes)
            .take_while(|(a, b)| a == b)
            .count();
        return Err(JsonError::NotCanonical { at: same });
    }
    Ok(value)
}

/// For `deserialize_with` on an `Option` that must be written, as null if it is none: serde by itself
/// reads an absent one as `None`, and an absent field is a refusal (I3).
pub fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    d: D,
) -> Result<Option<T>, D::Error> {
    Option::deserialize(d)
}

#[cfg(test)]
mod tests;
