//! The KEM suites. Both use HKDF-SHA256 and AES-256-GCM inside HPKE (RFC 9180).

use std::fmt;

/// Which KEM wraps the data key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u16)]
pub enum Suite {
    /// DHKEM(X25519, HKDF-SHA256): uploads today.
    X25519 = 1,
    /// X-Wing (ML-KEM-768 with X25519, draft-connolly-cfrg-xwing-kem): session boxes and release
    /// keys. A recorder who later owns a quantum computer learns nothing.
    XWing = 2,
}

impl Suite {
    /// The number in headers, bundles and policies.
    pub const fn number(self) -> u16 {
        self as u16
    }
    /// The suite of a number; `None` if this build does not know it.
    pub const fn from_number(number: u16) -> Option<Self> {
        match number {
            1 => Some(Self::X25519),
            2 => Some(Self::XWing),
            _ => None,
        }
    }
    /// Length of a public key in bytes.
    pub const fn public_len(self) -> usize {
        match self {
            Self::X25519 => 32,
            Self::XWing => 1216,
        }
    }
    /// Length of an encapsulated key in bytes.
    pub const fn enc_len(self) -> usize {
        match self {
            Self::X25519 => 32,
            Self::XWing => 1120,
        }
    }
    /// Length of a private key in bytes: a scalar, or the seed of X-Wing.
    pub const fn private_len(self) -> usize {
        32
    }
    /// The longest encapsulated key of any suite.
    pub(crate) const MAX_ENC_LEN: usize = 1120;
}

impl fmt::Display for Suite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::X25519 => f.write_str("1 (X25519)"),
            Self::XWing => f.write_str("2 (X-Wing)"),
        }
    }
}
