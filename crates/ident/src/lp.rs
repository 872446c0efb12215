//! A fixed binary encoding for headers that are hashed as they are (I2): u8, u16, u32, u64
//! big-endian, and byte strings with a u32 length in front. The reader never allocates more than
//! it was given and never panics (I14).

/// Why a header could not be read.
#[derive(Debug, Clone, Copy, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum LpError {
    /// The input ends inside a field.
    #[error("truncated: field {field:?} at byte {at} needs {needs} more bytes")]
    Truncated {
        /// Which field.
        field: &'static str,
        /// Offset of the field.
        at: usize,
        /// How many bytes are missing.
        needs: usize,
    },
    /// A length prefix above the field's bound.
    #[error("field {field:?} at byte {at} is {len} bytes long, at most {max} are allowed")]
    TooLong {
        /// Which field.
        field: &'static str,
        /// Offset of the field.
        at: usize,
        /// The claimed length.
        len: usize,
        /// The bound.
        max: usize,
    },
    /// Bytes after the last field.
    #[error("{extra} trailing bytes after the last field")]
    Trailing {
        /// How many.
        extra: usize,
    },
}

/// Writes fields.
#[derive(Default)]
pub struct Writer(Vec<u8>);

impl Writer {
    /// An empty writer.
    pub fn new() -> Self {
        Self::default()
    }
    /// One byte.
    #[must_use]
    pub fn u8(mut self, v: u8) -> Self {
        self.0.push(v);
        self
    }
    /// Two bytes.
    #[must_use]
    pub fn u16(mut self, v: u16) -> Self {
        self.0.extend_from_slice(&v.to_be_bytes());
        self
    }
    /// Four bytes.
    #[must_use]
    pub fn u32(mut self, v: u32) -> Self {
        self.0.extend_from_slice(&v.to_be_bytes());
        self
    }
    /// Eight bytes.
    #[must_use]
    pub fn u64(mut self, v: u64) -> Self {
        self.0.extend_from_slice(&v.to_be_bytes());
        self
    }
    /// Bytes whose number the format fixes: no prefix.
    #[must_use]
    pub fn fixed(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }
    /// Bytes with a length in front. The caller keeps them below 4 GiB.
    #[must_use]
    pub fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0
            .extend_from_slice(&(bytes.len() as u32).to_be_bytes());
        self.0.extend_from_slice(bytes);
        self
    }
    /// What was written.
    pub fn finish(self) -> Vec<u8> {
        self.0
    }
}

/// Reads fields in the same order.
pub struct Reader<'a> {
    all: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// Reads from the start of `all`.
    pub fn new(all: &'a [u8]) -> Self {
        Self { all, at: 0 }
    }

    /// How many bytes have been read.
    pub fn position(&self) -> usize {
        self.at
    }

    /// `len` bytes without a prefix.
    pub fn fixed(&mut self, field: &'static str, len: usize) -> Result<&'a [u8], LpError> {
        let left = self.all.get(self.at..).unwrap_or_default();
        let taken = left.get(..len).ok_or(LpError::Truncated {
            field,
            at: self.at,
            needs: len.saturating_sub(left.len()),
        })?;
        self.at += len;
        Ok(taken)
    }

    /// An array of `N` bytes.
    pub fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], LpError> {
        let mut out = [0u8; N];
        out.copy_from_slice(self.fixed(field, N)?);
        Ok(out)
    }

    /// One byte.
    pub fn u8(&mut self, field: &'static str) -> Result<u8, LpError> {
        self.array::<1>(field).map(|[b]| b)
    }
    /// Two bytes.
    pub fn u16(&mut self, field: &'static str) -> Result<u16, LpError> {
        self.array(field).map(u16::from_be_bytes)
    }
    /// Four bytes.
    pub fn u32(&mut self, field: &'static str) -> Result<u32, LpError> {
        self.array(field).map(u32::from_be_bytes)
    }
    /// Eight bytes.
    pub fn u64(&mut self, field: &'static str) -> Result<u64, LpError> {
        self.array(field).map(u64::from_be_bytes)
    }

    /// Bytes with a length in front, at most `max` of them.
    pub fn bytes(&mut self, field: &'static str, max: usize) -> Result<&'a [u8], LpError> {
        let at = self.at;
        let len = self.u32(field)? as usize;
        if len > max {
            return Err(LpError::TooLong {
                field,
                at,
                len,
                max,
            });
        }
        self.fixed(field, len)
    }

    /// Ends the reading; anything left over is refused.
    pub fn finish(self) -> Result<(), LpError> {
        match self.all.len() - self.at {
            0 => Ok(()),
            extra => Err(LpError::Trailing { extra }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn round_trip_and_refusals() {
        let bytes = Writer::new().u8(1).u64(2).bytes(b"abc").finish();
        let mut r = Reader::new(&bytes);
        assert_eq!(
            (r.u8("a"), r.u64("b"), r.bytes("c", 3)),
            (Ok(1), Ok(2), Ok(&b"abc"[..]))
        );
        assert_eq!(r.finish(), Ok(()));
        let mut r = Reader::new(&bytes);
        assert!(r.fixed("head", 9).is_ok());
        assert!(matches!(
            r.bytes("c", 2),
            Err(LpError::TooLong { len: 3, max: 2, .. })
        ));
        assert!(matches!(
            Reader::new(&[0, 0]).u32("x"),
            Err(LpError::Truncated { needs: 2, .. })
        ));
        assert_eq!(
            Reader::new(&[0]).finish(),
            Err(LpError::Trailing { extra: 1 })
        );
    }

    proptest! {
        #[test]
        fn hostile_bytes_never_panic(bytes in any::<Vec<u8>>()) {
            let mut r = Reader::new(&bytes);
            while r.bytes("x", 16).is_ok() && r.position() < bytes.len() {}
            let _ = r.finish();
        }
    }
}
