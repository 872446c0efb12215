//! Spellings of bytes and numbers in Sigstore's JSON.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::{Error as _, Unexpected};
use serde::{Deserialize, Deserializer};
use siegel_ident::Digest;

/// Standard base64 with padding.
pub(crate) fn b64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Reads standard base64; padding and trailing bits must be canonical.
pub(crate) fn from_b64(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}

/// A plain decimal number without sign or leading zeros.
pub(crate) fn from_decimal(text: &str) -> Option<u64> {
    text.parse::<u64>().ok().filter(|n| n.to_string() == text)
}

/// Bytes, in JSON as base64 (protobuf JSON `bytes`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Base64(pub(crate) Vec<u8>);

impl<'de> Deserialize<'de> for Base64 {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let text = String::deserialize(d)?;
        from_b64(&text)
            .map(Self)
            .ok_or_else(|| D::Error::invalid_value(Unexpected::Str(&text), &"canonical base64"))
    }
}

/// A SHA-256, in JSON as base64.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Base64Digest(pub(crate) Digest);

impl<'de> Deserialize<'de> for Base64Digest {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let Base64(bytes) = Base64::deserialize(d)?;
        Digest::try_from_slice(&bytes)
            .map(Self)
            .ok_or_else(|| D::Error::invalid_length(bytes.len(), &"32 bytes"))
    }
}

/// A number, in JSON as a decimal string or a number (protobuf JSON `int64`). Negative is refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Number(pub(crate) u64);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Either {
            Number(u64),
            Text(String),
        }
        match Either::deserialize(d)? {
            Either::Number(number) => Ok(Self(number)),
            Either::Text(text) => from_decimal(&text).map(Self).ok_or_else(|| {
                D::Error::invalid_value(Unexpected::Str(&text), &"a plain decimal number")
            }),
        }
    }
}
