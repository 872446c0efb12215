//! Spellings of bytes and numbers in Sigstore's JSON: one spelling per value (I2).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Standard base64 with padding.
pub(crate) fn b64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Reads standard base64; padding and trailing bits must be canonical.
pub(crate) fn from_b64(text: impl AsRef<[u8]>) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}

/// A plain decimal number without sign or leading zeros.
pub(crate) fn from_decimal(text: &str) -> Option<u64> {
    text.parse::<u64>().ok().filter(|n| n.to_string() == text)
}

/// Byte strings as base64 (protobuf JSON `bytes`).
pub(crate) mod base64_bytes {
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(bytes: &[u8], s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(&super::b64(bytes))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(d)?;
        super::from_b64(&text).ok_or_else(|| D::Error::custom("expected canonical base64"))
    }
}

/// SHA-256 digests as base64.
pub(crate) mod base64_digest {
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serializer};
    use siegel_ident::Digest;

    pub(crate) fn serialize<S: Serializer>(digest: &Digest, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(&super::b64(digest.as_bytes()))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Digest, D::Error> {
        let text = String::deserialize(d)?;
        super::from_b64(&text)
            .and_then(|bytes| Digest::try_from_slice(&bytes))
            .ok_or_else(|| D::Error::custom("expected 32 bytes in canonical base64"))
    }
}

/// Lists of SHA-256 digests as base64.
pub(crate) mod base64_digests {
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use siegel_ident::Digest;

    pub(crate) fn serialize<S: Serializer>(list: &[Digest], s: S) -> Result<S::Ok, S::Error> {
        let texts: Vec<String> = list.iter().map(|d| super::b64(d.as_bytes())).collect();
        texts.serialize(s)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<Digest>, D::Error> {
        Vec::<String>::deserialize(d)?
            .iter()
            .map(|text| {
                super::from_b64(text)
                    .and_then(|bytes| Digest::try_from_slice(&bytes))
                    .ok_or_else(|| D::Error::custom("expected 32 bytes in canonical base64"))
            })
            .collect()
    }
}

/// 64-bit integers as decimal strings (protobuf JSON `int64`).
pub(crate) mod decimal_u64 {
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(value: &u64, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(&value.to_string())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<u64, D::Error> {
        let text = String::deserialize(d)?;
        super::from_decimal(&text)
            .ok_or_else(|| D::Error::custom("expected a plain decimal number as a string"))
    }
}
