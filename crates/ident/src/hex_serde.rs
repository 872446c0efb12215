//! Byte strings as lower-case hex in JSON: one spelling per value (I2).

use std::fmt;

use serde::de::{Error as _, Visitor};
use serde::{Deserialize, Deserializer, Serializer};

/// Digits that fit without an allocation: those of a digest.
const SHORT: usize = 64;

/// Writes an array as lower-case hex.
pub fn serialize<S: Serializer, const N: usize>(bytes: &[u8; N], s: S) -> Result<S::Ok, S::Error> {
    let mut short = [0; SHORT];
    let digits = short.get_mut(..2 * N).and_then(|digits| {
        hex::encode_to_slice(bytes, digits).ok()?;
        std::str::from_utf8(digits).ok()
    });
    match digits {
        Some(digits) => s.serialize_str(digits),
        None => s.serialize_str(&hex::encode(bytes)),
    }
}

/// Reads exactly `2 N` lower-case hex digits.
pub fn deserialize<'de, D: Deserializer<'de>, const N: usize>(d: D) -> Result<[u8; N], D::Error> {
    d.deserialize_str(Digits)
}

struct Digits<const N: usize>;

impl<const N: usize> Visitor<'_> for Digits<N> {
    type Value = [u8; N];

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a string of {} lower-case hex digits", 2 * N)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<[u8; N], E> {
        decode_lower(text)
            .ok_or_else(|| E::custom(format!("expected {} lower-case hex digits", 2 * N)))
    }
}

/// Reads exactly `2 N` lower-case hex digits; `None` for anything else.
pub fn decode_lower<const N: usize>(text: &str) -> Option<[u8; N]> {
    if text.bytes().any(|b| b.is_ascii_uppercase()) {
        return None;
    }
    let mut out = [0u8; N];
    hex::decode_to_slice(text, &mut out).ok()?;
    Some(out)
}

/// `Vec<u8>` as lower-case hex, for byte strings of no fixed length.
pub mod vec {
    use super::*;

    /// Writes a byte string as lower-case hex.
    pub fn serialize<S: Serializer>(bytes: &[u8], s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(&hex::encode(bytes))
    }

    /// Reads lower-case hex of any even length.
    pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(d)?;
        if text.bytes().any(|b| b.is_ascii_uppercase()) {
            return Err(D::Error::custom("expected lower-case hex"));
        }
        hex::decode(&text).map_err(|_| D::Error::custom("expected lower-case hex"))
    }
}
