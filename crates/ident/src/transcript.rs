//! The one way to hash several fields: a label, then each field with its length in front, so
//! that no two field tuples give the same bytes.

use crate::Digest;

/// Collects length-prefixed fields under a label. LP = u32 big-endian length, then the bytes.
#[derive(Clone)]
pub struct Transcript {
    bytes: Vec<u8>,
}

impl Transcript {
    /// Starts a transcript. `label` names the purpose and the version, as `siegel/upload/v1`.
    pub fn new(label: &str) -> Self {
        Self {
            bytes: Vec::with_capacity(256),
        }
        .field(label.as_bytes())
    }

    /// Adds a byte string.
    ///
    /// A field of 4 GiB or more does not fit its prefix and is replaced by a marked digest, so that
    /// the encoding stays injective.
    #[must_use]
    pub fn field(mut self, bytes: &[u8]) -> Self {
        match u32::try_from(bytes.len()) {
            Ok(len) => {
                self.bytes.extend_from_slice(&len.to_be_bytes());
                self.bytes.extend_from_slice(bytes);
                self
            }
            Err(_) => self
                .field(b"siegel/long-field/v1")
                .field(Digest::of(bytes).as_bytes()),
        }
    }

    /// Adds a number as eight big-endian bytes.
    #[must_use]
    pub fn u64(self, value: u64) -> Self {
        self.field(&value.to_be_bytes())
    }

    /// Adds a count and then each item.
    #[must_use]
    pub fn list<'a>(self, items: impl ExactSizeIterator<Item = &'a [u8]>) -> Self {
        let counted = self.u64(items.len() as u64);
        items.fold(counted, Self::field)
    }

    /// The bytes so far, to be signed, or used as HKDF `info` or as associated data.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes, owned.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// SHA-256 of the bytes.
    pub fn digest(&self) -> Digest {
        Digest::of(&self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn golden() {
        let t = Transcript::new("siegel/test/v1").field(b"ab").u64(1);
        assert_eq!(
            t.as_bytes(),
            b"\0\0\0\x0esiegel/test/v1\0\0\0\x02ab\0\0\0\x08\0\0\0\0\0\0\0\x01"
        );
    }

    proptest! {
        // Catches a transcript without prefixes: ("a","bc") and ("ab","c") would alias.
        #[test]
        fn no_two_tuples_alias(a in prop::collection::vec(any::<Vec<u8>>(), 0..5),
                               b in prop::collection::vec(any::<Vec<u8>>(), 0..5)) {
            let enc = |x: &Vec<Vec<u8>>| x.iter().fold(Transcript::new("t"), |t, f| t.field(f)).into_bytes();
            prop_assert_eq!(a == b, enc(&a) == enc(&b));
        }
    }
}
