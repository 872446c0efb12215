//! Many archived objects in one immutable object of the store.
//!
//! Layout: `siegpck`, version u8, number of objects u32, then for each of them digest 32, length u32,
//! by ascending digest: the *directory*; then the objects' bytes in the same order. Integers are
//! big-endian. The pack's name is the SHA-256 of its directory: packs of different objects cannot
//! overwrite each other, a pack of the same objects is the same pack, and a directory that was
//! changed does not fit its name.

use siegel_ident::Digest;
use siegel_ident::lp::{LpError, Reader, Writer};

use crate::MAX_ARCHIVED;

const MAGIC: &[u8; 7] = b"siegpck";
const VERSION: u8 = 1;
/// Bytes before the first entry.
pub(crate) const PREAMBLE: usize = 7 + 1 + 4;
const ENTRY: usize = Digest::LEN + 4;
/// Most objects in one pack: a directory has at most 2.3 MB.
pub(crate) const MAX_OBJECTS: usize = 65_536;

/// One object as a directory names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackEntry {
    /// SHA-256 of its bytes.
    pub digest: Digest,
    /// Its length in bytes.
    pub len: u32,
}

/// What a pack holds, in the order of its bodies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackDirectory(Vec<PackEntry>);

/// Why some bytes are no directory of a pack.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum PackError {
    /// Something else, or damaged at its very beginning.
    #[error("it does not begin as a pack of version 1")]
    NoPack,
    /// None, or more than a pack holds.
    #[error("its directory names {count} objects, a pack holds 1 to 65536")]
    Count {
        /// As it says.
        count: u32,
    },
    /// It ends within the directory, or goes on after it.
    #[error("its directory is not whole: {0}")]
    Cut(#[from] LpError),
    /// Digests that do not ascend: one set of objects has one directory.
    #[error("entry {at} of its directory does not follow the one before it")]
    Order {
        /// Counted from 0.
        at: usize,
    },
    /// An object that no archive takes.
    #[error("its directory names an object of {len} bytes, at most 1048576 are allowed")]
    TooLong {
        /// As it says.
        len: u32,
    },
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

impl PackDirectory {
    /// Of these objects; `None` if one is there twice, or there are none or too many.
    pub fn new(mut entries: Vec<PackEntry>) -> Option<Self> {
        entries.sort_unstable_by_key(|entry| entry.digest);
        let ascending = entries.is_sorted_by(|a, b| a.digest < b.digest);
        let fits = (1..=MAX_OBJECTS).contains(&entries.len());
        (ascending && fits).then_some(Self(entries))
    }

    /// The exact bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let head = Writer::new()
            .fixed(MAGIC)
            .u8(VERSION)
            .u32(self.0.len() as u32);
        let write =
            |to: Writer, entry: &PackEntry| to.fixed(entry.digest.as_bytes()).u32(entry.len);
        self.0.iter().fold(head, write).finish()
    }

    /// Reads a directory, whole and nothing after it (I14).
    ///
    /// # Errors
    /// [`PackError`] says what is wrong.
    pub fn parse(bytes: &[u8]) -> Result<Self, PackError> {
        let mut from = Reader::new(bytes);
        let count = count(&mut from)?;
        let mut entries: Vec<PackEntry> = Vec::with_capacity(count.min(bytes.len() / ENTRY));
        for at in 0..count {
            let digest = Digest::from_bytes(from.array("digest")?);
            let len = from.u32("length")?;
            if len as usize > MAX_ARCHIVED {
                return Err(PackError::TooLong { len });
            }
            if entries.last().is_some_and(|last| last.digest >= digest) {
                return Err(PackError::Order { at });
            }
            entries.push(PackEntry { digest, len });
        }
        from.finish()?;
        Ok(Self(entries))
    }

    /// Reads the directory at the beginning of a whole pack, and checks name and length.
    ///
    /// # Errors
    /// [`PackError`] says what is wrong.
    pub fn of_pack(name: &Digest, pack: &[u8]) -> Result<Self, PackError> {
        let len = Self::len_of(pack)?;
        let directory = Self::named(name, pack.get(..len).unwrap_or(pack))?;
        directory.check_len(pack.len() as u64)?;
        Ok(directory)
    }

    /// Reads a directory that must have this name.
    pub(crate) fn named(name: &Digest, bytes: &[u8]) -> Result<Self, PackError> {
        let directory = Self::parse(bytes)?;
        let found = Digest::of(bytes);
        if found != *name {
            return Err(PackError::Name { found });
        }
        Ok(directory)
    }

    pub(crate) fn check_len(&self, found: u64) -> Result<(), PackError> {
        let expected = self.total_len();
        if found != expected {
            return Err(PackError::Length { found, expected });
        }
        Ok(())
    }

    /// The length in bytes of the directory that begins with these [`PREAMBLE`] bytes.
    pub(crate) fn len_of(preamble: &[u8]) -> Result<usize, PackError> {
        let count = count(&mut Reader::new(preamble))?;
        Ok(PREAMBLE + count * ENTRY)
    }

    /// Each object with the place of its first byte in the pack.
    pub fn places(&self) -> impl Iterator<Item = (&PackEntry, u64)> {
        let bodies = (PREAMBLE + self.0.len() * ENTRY) as u64;
        self.0.iter().scan(bodies, |next, entry| {
            let at = *next;
            *next += u64::from(entry.len);
            Some((entry, at))
        })
    }

    /// The length in bytes of the whole pack.
    pub fn total_len(&self) -> u64 {
        let bodies: u64 = self.0.iter().map(|entry| u64::from(entry.len)).sum();
        (PREAMBLE + self.0.len() * ENTRY) as u64 + bodies
    }

    /// How many objects there are: at least one.
    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }
}

fn count(from: &mut Reader<'_>) -> Result<usize, PackError> {
    let head = (from.array("magic"), from.u8("version"));
    if head != (Ok(*MAGIC), Ok(VERSION)) {
        return Err(PackError::NoPack);
    }
    let count = from.u32("number of objects")?;
    if !(1..=MAX_OBJECTS as u32).contains(&count) {
        return Err(PackError::Count { count });
    }
    Ok(count as usize)
}
