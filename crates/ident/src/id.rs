//! Ids and counters.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A text that is not an id of this kind.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("not a {0}: expected 32 lower-case hex digits")]
pub struct IdParseError(&'static str);

macro_rules! random_ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(#[serde(with = "crate::hex_serde")] [u8; 16]);

        impl $name {
            /// Takes 16 bytes, random or derived.
            pub const fn from_bytes(bytes: [u8; 16]) -> Self { Self(bytes) }
            /// Reads it from a byte string; `None` unless it has 16 bytes.
            pub fn try_from_slice(bytes: &[u8]) -> Option<Self> {
                bytes.try_into().ok().map(Self)
            }
            /// The 16 bytes.
            pub const fn as_bytes(&self) -> &[u8; 16] { &self.0 }
            /// The 16 bytes, owned.
            pub fn to_vec(&self) -> Vec<u8> { self.0.to_vec() }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&hex::encode(self.0))
            }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self)
            }
        }
        impl FromStr for $name {
            type Err = IdParseError;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                crate::hex_serde::decode_lower(text).map(Self).ok_or(IdParseError(stringify!($name)))
            }
        }
    )*};
}

random_ids! {
    /// One run of a program under a policy.
    RunId;
    /// One upload, chosen by the client; public.
    BlobId;
    /// One request to the key service; a retry carries the same one.
    RequestId;
}

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub u64);

        impl $name {
            /// The next one; saturates, so it never wraps to a used value.
            pub const fn next(self) -> Self { Self(self.0.saturating_add(1)) }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { self.0.fmt(f) }
        }
    )*};
}

counters! {
    /// A key epoch of a cluster, counted from 1.
    EpochId;
    /// A member of the Raft group. Never reused (I10).
    NodeId;
    /// A step of a run, counted from 1; 0 means "before the first".
    Step;
    /// Which incarnation of a root may commit; only the largest one may.
    Fencing;
}

/// The pseudonym of one installation under one pipeline. It is client data: it never leaves a
/// TEE and has no `Debug` or `Display` (I4, I13).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PrivacyId([u8; 32]);

impl PrivacyId {
    /// Length in bytes.
    pub const LEN: usize = 32;
    /// Takes 32 bytes derived from the client's secret and the pipeline.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
    /// The 32 bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}
