//! Keys and plaintext (I13): no `Debug`, `Display`, `Clone` or `Serialize`, zeroised on drop.

use std::ops::{Deref, DerefMut};

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

/// Zeroises all memory of a vector and leaves it empty.
///
/// The same as its `zeroize()`, but in bulk: `zeroize` 1.9 clears the elements of a `Vec` one by
/// one, each behind a barrier of its own (about 2 ns an element), and the capacity past them at once.
pub fn wipe<T: Copy + Zeroize>(values: &mut Vec<T>) {
    values.clear();
    values.zeroize();
}

/// A vector that is wiped when dropped: `Zeroizing<Vec<T>>`, in bulk. One that grows leaves copies
/// behind: reserve first.
#[derive(Default)]
pub struct Wiped<T: Copy + Zeroize>(Vec<T>);

impl<T: Copy + Zeroize> Wiped<T> {
    /// Takes the values.
    pub const fn new(values: Vec<T>) -> Self {
        Self(values)
    }
}

impl<T: Copy + Zeroize> Deref for Wiped<T> {
    type Target = Vec<T>;

    fn deref(&self) -> &Vec<T> {
        &self.0
    }
}

impl<T: Copy + Zeroize> DerefMut for Wiped<T> {
    fn deref_mut(&mut self) -> &mut Vec<T> {
        &mut self.0
    }
}

impl<T: Copy + Zeroize> Drop for Wiped<T> {
    fn drop(&mut self) {
        wipe(&mut self.0);
    }
}

impl<T: Copy + Zeroize> ZeroizeOnDrop for Wiped<T> {}

/// A secret byte string of no fixed length.
#[derive(Default)]
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

impl Zeroize for SecretBytes {
    fn zeroize(&mut self) {
        wipe(&mut self.0);
    }
}

impl Drop for SecretBytes {
    fn drop(&mut self) {
        self.zeroize();
    }
}

impl ZeroizeOnDrop for SecretBytes {}

impl From<Vec<u8>> for SecretBytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // What lay in the memory cannot be read without unsafe code. This catches a wipe that leaves
    // elements or gives the memory back before it is zeroed.
    #[test]
    fn wiping_empties_and_keeps_the_allocation() {
        let mut values = vec![1u32, 2, 3];
        let capacity = values.capacity();
        wipe(&mut values);
        assert!(values.is_empty());
        assert_eq!(values.capacity(), capacity);
        values.resize(capacity, 0);
        let mut wiped = Wiped::new(vec![7u8; 5]);
        wiped.push(8);
        assert_eq!(wiped.len(), 6);
    }
}
