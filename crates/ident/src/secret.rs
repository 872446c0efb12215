//! Keys and plaintext (I13): no `Debug`, `Display`, `Clone` or `Serialize`, zeroised on drop.

use subtle::ConstantTimeEq;
use zeroize::{Zeroize, ZeroizeOnDrop};

/// A secret of `N` bytes, compared in constant time.
///
/// Zeroised when dropped; a copy that the compiler spilled to the stack is out of reach.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct Secret<const N: usize>([u8; N]);

impl<const N: usize> Secret<N> {
    /// Takes the bytes.
    pub const fn new(bytes: [u8; N]) -> Self {
        Self(bytes)
    }
    /// Reads it from a byte string; `None` unless it has `N` bytes.
    pub fn try_from_slice(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }
    /// The bytes, for the one place that uses them.
    pub const fn expose(&self) -> &[u8; N] {
        &self.0
    }
    /// A second holder of the same secret, made on purpose and visible in review.
    pub const fn duplicate(&self) -> Self {
        Self(self.0)
    }
    /// Constant-time equality.
    pub fn same(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

/// A secret byte string of no fixed length.
#[derive(Zeroize, ZeroizeOnDrop, Default)]
pub struct SecretBytes(Vec<u8>);

impl SecretBytes {
    /// Takes the bytes.
    pub const fn new(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
    /// The bytes, for the one place that uses them.
    pub fn expose(&self) -> &[u8] {
        &self.0
    }
    /// How many bytes.
    pub fn len(&self) -> usize {
        self.0.len()
    }
    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<Vec<u8>> for SecretBytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}
