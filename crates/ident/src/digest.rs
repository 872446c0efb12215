//! SHA-256 digests, one type per thing that is named by digest (I2).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A SHA-256 digest, written as 64 lower-case hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Digest(#[serde(with = "crate::hex_serde")] [u8; 32]);

/// A text that is not 64 lower-case hex digits.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("not a SHA-256 digest: expected 64 lower-case hex digits, got {0:?}")]
pub struct DigestParseError(String);

impl Digest {
    /// Length in bytes.
    pub const LEN: usize = 32;

    /// The digest of exactly these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        let hashed = ring::digest::digest(&ring::digest::SHA256, bytes);
        Self::from_slice(hashed.as_ref())
    }

    /// Takes 32 bytes that are already a digest.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Reads a digest from a byte string; `None` unless it has 32 bytes.
    pub fn try_from_slice(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// The 32 bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The 32 bytes, owned.
    pub fn to_vec(&self) -> Vec<u8> {
        self.0.to_vec()
    }

    fn from_slice(bytes: &[u8]) -> Self {
        let mut out = [0u8; 32];
        out.copy_from_slice(bytes);
        Self(out)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Digest {
    type Err = DigestParseError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        crate::hex_serde::decode_lower(text)
            .map(Self)
            .ok_or_else(|| {
                let shown: String = text.chars().take(80).collect();
                DigestParseError(shown)
            })
    }
}

/// Makes a newtype over [`Digest`]; two of them cannot be confused.
macro_rules! digest_types {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Digest);

        impl $name {
            /// The digest of exactly these bytes.
            pub fn of(bytes: &[u8]) -> Self { Self(Digest::of(bytes)) }
            /// Takes 32 bytes that are already this digest.
            pub const fn from_bytes(bytes: [u8; 32]) -> Self { Self(Digest::from_bytes(bytes)) }
            /// Reads it from a byte string; `None` unless it has 32 bytes.
            pub fn try_from_slice(bytes: &[u8]) -> Option<Self> {
                Digest::try_from_slice(bytes).map(Self)
            }
            /// The 32 bytes.
            pub const fn as_bytes(&self) -> &[u8; 32] { self.0.as_bytes() }
            /// The 32 bytes, owned.
            pub fn to_vec(&self) -> Vec<u8> { self.0.to_vec() }
            /// The digest without its meaning.
            pub const fn digest(&self) -> Digest { self.0 }
        }

        impl From<Digest> for $name { fn from(d: Digest) -> Self { Self(d) } }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { self.0.fmt(f) }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0)
            }
        }
        impl FromStr for $name {
            type Err = DigestParseError;
            fn from_str(text: &str) -> Result<Self, Self::Err> { text.parse().map(Self) }
        }
    )*};
}

digest_types! {
    /// An access policy: SHA-256 of its canonical JSON, as logged.
    PolicyDigest;
    /// A program: SHA-256 of its bundle bytes.
    ProgramDigest;
    /// An upload: SHA-256(header ‖ body).
    BlobDigest;
    /// Any other sealed object (release, checkpoint): SHA-256 of the sealed bytes.
    ObjectDigest;
    /// A key cluster: SHA-256 of its genesis document.
    ClusterId;
    /// A genesis document. The same value as its [`ClusterId`].
    GenesisDigest;
    /// The configuration a measured process was started with.
    ConfigDigest;
    /// What a TEE measured: executable, argv and environment.
    Measurement;
    /// Merkle root (RFC 6962) over the sorted blob digests of a run.
    InputRoot;
    /// One receipt's unsigned body.
    ReceiptDigest;
    /// A P-256 key that signs log entries: SHA-256 of its SubjectPublicKeyInfo DER.
    KeyDigest;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_answer_and_strict_hex() {
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(Digest::of(b"abc").to_string(), abc);
        assert_eq!(abc.parse::<Digest>(), Ok(Digest::of(b"abc")));
        assert!(abc.to_uppercase().parse::<Digest>().is_err());
        assert!(abc[1..].parse::<Digest>().is_err());
        assert!(format!("{abc}0").parse::<Digest>().is_err());
    }
}
