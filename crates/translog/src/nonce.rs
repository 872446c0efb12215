//! A nonce in the log: how somebody without a clock learns the time from witnesses.
//!
//! Whoever asks draws 32 random bytes and has them logged. A proof of that entry is younger than the
//! nonce, and its [`witnessed_at`](crate::LoggedEntry::witnessed_at) is a time that a quorum of witnesses
//! has read off their clocks since: no later than now, and no earlier than the question.

use serde::{Deserialize, Serialize};
use siegel_ident::json;

use crate::error::ProofError;

const SCHEMA: &str = "siegel/nonce/v1";
/// Longest document, in bytes.
pub const MAX_DOCUMENT: usize = 256;

/// The document that an entry of type [`predicate::NONCE`](crate::predicate::NONCE) is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NonceDocument {
    /// Drawn by whoever asks.
    pub nonce: [u8; 32],
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    #[serde(with = "siegel_ident::hex_serde")]
    nonce: [u8; 32],
    schema: String,
}

impl NonceDocument {
    /// Canonical JSON.
    ///
    /// # Errors
    /// [`ProofError`] if it cannot be written.
    pub fn to_bytes(&self) -> Result<Vec<u8>, ProofError> {
        let stored = Stored {
            nonce: self.nonce,
            schema: SCHEMA.into(),
        };
        json::to_canonical(&stored).map_err(ProofError::json("nonce document"))
    }

    /// Reads canonical JSON.
    ///
    /// # Errors
    /// [`ProofError`]: longer than [`MAX_DOCUMENT`], another spelling, schema or field.
    pub fn parse(bytes: &[u8]) -> Result<Self, ProofError> {
        let stored: Stored = json::from_canonical(bytes, MAX_DOCUMENT)
            .map_err(ProofError::json("nonce document"))?;
        if stored.schema != SCHEMA {
            return Err(ProofError::field("nonce.schema", SCHEMA, &stored.schema));
        }
        Ok(Self {
            nonce: stored.nonce,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i2_a_nonce_has_one_spelling() {
        let document = NonceDocument { nonce: [7; 32] };
        let bytes = document.to_bytes().unwrap();
        assert_eq!(NonceDocument::parse(&bytes).unwrap(), document);
        let text = String::from_utf8(bytes).unwrap();
        for bad in [
            text.replace("/v1", "/v2"),
            text.replace("07", "7"),
            text.replace('{', "{ "),
            text.replace('}', ",\"z\":1}"),
            String::new(),
        ] {
            assert!(NonceDocument::parse(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
