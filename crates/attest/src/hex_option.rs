//! `Option<[u8; 32]>` in JSON: lower-case hex, or an explicit `null`. An absent field is refused.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serializer};
use siegel_ident::hex_serde;

pub(crate) fn serialize<S: Serializer>(value: &Option<[u8; 32]>, s: S) -> Result<S::Ok, S::Error> {
    match value {
        Some(bytes) => hex_serde::serialize(bytes, s),
        None => s.serialize_none(),
    }
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Option<[u8; 32]>, D::Error> {
    match Option::<String>::deserialize(d)? {
        None => Ok(None),
        Some(text) => hex_serde::decode_lower(&text)
            .map(Some)
            .ok_or_else(|| D::Error::custom("expected null or 64 lower-case hex digits")),
    }
}
