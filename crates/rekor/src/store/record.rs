//! The entry file: a magic line, then per entry `u32 length ‖ leaf hash ‖ body`.
//!
//! The leaf hash stands in front so that a torn or rotten record shows.

use siegel_ident::Digest;
use siegel_translog::merkle::leaf_hash;

/// First bytes of the file.
pub(crate) const MAGIC: &[u8] = b"siegel/log-entries/v1\n";
/// Tiles hold entries of at most 65,535 bytes.
const MAX_BODY: usize = u16::MAX as usize;
const HEAD: usize = 4 + Digest::LEN;

/// One whole record found by [`scan`].
pub(crate) struct Record {
    /// Leaf hash, recomputed.
    pub(crate) leaf: Digest,
    /// Where the body starts, counted from the start of the scanned bytes.
    pub(crate) body_at: usize,
    /// Length of the body.
    pub(crate) body_len: usize,
}

impl Record {
    /// Where the record ends.
    pub(crate) fn end(&self) -> usize {
        self.body_at + self.body_len
    }
}

/// Adds a record to `out`; returns where its body starts in `out`.
pub(crate) fn encode(out: &mut Vec<u8>, leaf: &Digest, body: &[u8]) -> usize {
    out.extend_from_slice(&(body.len() as u32).to_be_bytes());
    out.extend_from_slice(leaf.as_bytes());
    out.extend_from_slice(body);
    out.len() - body.len()
}

/// Reads the record at `at`; `None` if it is torn, too long, or its bytes are not the written ones.
pub(crate) fn scan(bytes: &[u8], at: usize) -> Option<Record> {
    let head = bytes.get(at..at.checked_add(HEAD)?)?;
    let (len, stored) = head.split_at_checked(4)?;
    let body_len = u32::from_be_bytes(len.try_into().ok()?) as usize;
    if body_len > MAX_BODY {
        return None;
    }
    let body_at = at + HEAD;
    let body = bytes.get(body_at..body_at.checked_add(body_len)?)?;
    let leaf = leaf_hash(body);
    (leaf.as_bytes() == stored).then_some(Record {
        leaf,
        body_at,
        body_len,
    })
}
