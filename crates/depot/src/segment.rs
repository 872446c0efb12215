//! Many uploads in one immutable object of the store.
//!
//! Layout: `siegseg`, version u8, number of uploads u32, then for each of them digest 32, policy
//! 32, epoch u64, length u32: the *directory*; then the uploads' bytes in the same order. Integers
//! are big-endian. The object's name is the SHA-256 of its directory, which names every upload by
//! digest: no two segments of different uploads can overwrite each other, and a directory that
//! was changed does not fit its name.

use siegel_ident::lp::{LpError, Reader, Writer};
use siegel_ident::{BlobDigest, Digest, EpochId, PolicyDigest};

const MAGIC: &[u8; 7] = b"siegseg";
const VERSION: u8 = 1;
/// Bytes before the first entry.
pub const PREAMBLE: usize = 7 + 1 + 4;
const ENTRY: usize = 32 + 32 + 8 + 4;
/// Most uploads in one segment: a directory has at most 76 KiB.
pub const MAX_UPLOADS: usize = 1024;

/// One upload as a directory names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// SHA-256 of its bytes.
    pub digest: BlobDigest,
    /// From its public header.
    pub policy: PolicyDigest,
    /// From its public header.
    pub epoch: EpochId,
    /// Its length in bytes.
    pub len: u32,
}

/// What a segment holds, in the order of its bodies.
#[derive(Debug, PartialEq, Eq)]
pub struct Directory(Vec<Entry>);

/// Why some bytes are no directory of a segment.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum SegmentError {
    /// Something else, or damaged at its very beginning.
    #[error("it does not begin as a segment of version 1")]
    NoSegment,
    /// None, or more than a segment holds.
    #[error("its directory names {count} uploads, a segment holds 1 to 1024")]
    Count {
        /// As it says.
        count: u32,
    },
    /// It ends within the directory, or goes on after it.
    #[error("its directory is not whole: {0}")]
    Cut(#[from] LpError),
    /// A changed directory.
    #[error("its directory has SHA-256 {found}, which is not its name")]
    Name {
        /// Of the directory as it is.
        found: Digest,
    },
    /// Bodies are missing, or something follows them.
    #[error("it has {found} bytes, its directory says {expected}")]
    Length {
        /// As the store says.
        found: u64,
        /// By the directory.
        expected: u64,
    },
}

impl Directory {
    /// Of these uploads; at most [`MAX_UPLOADS`].
    pub fn new(entries: Vec<Entry>) -> Self {
        Self(entries)
    }

    /// The exact bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let head = Writer::new()
            .fixed(MAGIC)
            .u8(VERSION)
            .u32(self.0.len() as u32);
        let write = |to: Writer, entry: &Entry| {
            to.fixed(entry.digest.as_bytes())
                .fixed(entry.policy.as_bytes())
                .u64(entry.epoch.0)
                .u32(entry.len)
        };
        self.0.iter().fold(head, write).finish()
    }

    /// The length in bytes of the directory that begins with these [`PREAMBLE`] bytes.
    pub fn len_of(preamble: &[u8]) -> Result<usize, SegmentError> {
        let mut from = Reader::new(preamble);
        let count = count(&mut from)?;
        Ok(PREAMBLE + count * ENTRY)
    }

    /// Reads a directory, whole and nothing after it.
    pub fn parse(bytes: &[u8]) -> Result<Self, SegmentError> {
        let mut from = Reader::new(bytes);
        let count = count(&mut from)?;
        let mut entries = Vec::with_capacity(count);
        for _ in 0..count {
            entries.push(Entry {
                digest: BlobDigest::from_bytes(from.array("digest")?),
                policy: PolicyDigest::from_bytes(from.array("policy")?),
                epoch: EpochId(from.u64("epoch")?),
                len: from.u32("length")?,
            });
        }
        from.finish()?;
        Ok(Self(entries))
    }

    /// Each upload with the place of its first byte in the segment.
    pub fn places(&self) -> impl Iterator<Item = (&Entry, u64)> {
        let bodies = (PREAMBLE + self.0.len() * ENTRY) as u64;
        self.0.iter().scan(bodies, |next, entry| {
            let at = *next;
            *next += u64::from(entry.len);
            Some((entry, at))
        })
    }

    /// Length in bytes of the whole segment.
    pub fn total_len(&self) -> u64 {
        let bodies: u64 = self.0.iter().map(|entry| u64::from(entry.len)).sum();
        (PREAMBLE + self.0.len() * ENTRY) as u64 + bodies
    }
}

fn count(from: &mut Reader<'_>) -> Result<usize, SegmentError> {
    let begin = (from.fixed("magic", MAGIC.len()), from.u8("version"));
    if begin != (Ok(MAGIC), Ok(VERSION)) {
        return Err(SegmentError::NoSegment);
    }
    match from.u32("count")? {
        count if (1..=MAX_UPLOADS as u32).contains(&count) => Ok(count as usize),
        count => Err(SegmentError::Count { count }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory() -> Directory {
        let entry = |n: u8, len| Entry {
            digest: BlobDigest::from_bytes([n; 32]),
            policy: PolicyDigest::from_bytes([7; 32]),
            epoch: EpochId(n.into()),
            len,
        };
        Directory::new(vec![entry(1, 10), entry(2, 0), entry(3, 5)])
    }

    // Catches bodies that are looked for at the wrong place, and a format that changed unseen.
    #[test]
    fn bodies_follow_the_directory_in_its_order() {
        let directory = directory();
        let bytes = directory.to_bytes();
        assert_eq!(bytes.len(), 12 + 3 * 76);
        assert_eq!(&bytes[..12], b"siegseg\x01\0\0\0\x03");
        assert_eq!(Directory::len_of(&bytes[..PREAMBLE]), Ok(bytes.len()));
        let places: Vec<_> = directory.places().map(|(e, at)| (e.len, at)).collect();
        assert_eq!(places, [(10, 240), (0, 250), (5, 250)]);
        assert_eq!(directory.total_len(), 255);
        assert_eq!(Directory::parse(&bytes), Ok(directory));
    }

    // I14: catches a reader that takes a part for the whole, or makes room for what is claimed.
    #[test]
    fn i14_what_is_not_exactly_a_directory_is_refused() {
        let good = directory().to_bytes();
        for cut in 0..good.len() {
            assert!(Directory::parse(&good[..cut]).is_err(), "{cut}");
        }
        let longer = [&good[..], b"x"].concat();
        assert!(matches!(
            Directory::parse(&longer),
            Err(SegmentError::Cut(LpError::Trailing { extra: 1 }))
        ));
        for (at, byte) in [(0, b'S'), (7, 2)] {
            let mut bad = good.clone();
            bad[at] = byte;
            assert_eq!(Directory::parse(&bad), Err(SegmentError::NoSegment));
        }
        for count in [0, 1025, u32::MAX] {
            let mut bad = good.clone();
            bad[8..12].copy_from_slice(&count.to_be_bytes());
            assert_eq!(Directory::parse(&bad), Err(SegmentError::Count { count }));
        }
    }
}
