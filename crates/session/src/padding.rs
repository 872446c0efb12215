//! Messages take one of few sizes, so that their length tells only a class (I12).
//!
//! Padded: u32 big-endian length ‖ message ‖ zeros, up to [`padded_len`]. A message has one encoding.

use siegel_ident::padme;

/// Least size of a padded message.
pub(crate) const PADDED_MIN: usize = 256;
/// Of the length in front.
pub(crate) const PREFIX: usize = 4;

/// How many bytes a message of `len` bytes takes on the channel, before it is cut into frames: its
/// Padmé class with the length in front, at least 256. At most 12 % more than the message above
/// that.
pub const fn padded_len(len: usize) -> usize {
    let padded = padme(len as u64 + PREFIX as u64) as usize;
    if padded < PADDED_MIN {
        PADDED_MIN
    } else {
        padded
    }
}

/// The one padded form of a message. The caller keeps its length below 4 GiB.
pub(crate) fn pad(message: &[u8]) -> Vec<u8> {
    let mut padded = Vec::with_capacity(padded_len(message.len()));
    padded.extend_from_slice(&(message.len() as u32).to_be_bytes());
    padded.extend_from_slice(message);
    padded.resize(padded_len(message.len()), 0);
    padded
}

/// The length that stands in front of a message, and what follows.
pub(crate) fn claimed(first: &[u8]) -> Option<(usize, &[u8])> {
    let (len, rest) = first.split_first_chunk::<PREFIX>()?;
    usize::try_from(u32::from_be_bytes(*len))
        .ok()
        .map(|len| (len, rest))
}

/// Cuts the zeros off; `None` if anything else stands there.
pub(crate) fn unpad(mut body: Vec<u8>, len: usize) -> Option<Vec<u8>> {
    let zeros = body.get(len..)?.iter().all(|byte| *byte == 0);
    body.truncate(len);
    zeros.then_some(body)
}
