//! Chunked encryption of a body (Hoang, Reyhanitabar, Rogaway, Vizár, "Online Authenticated
//! Encryption and its Nonce-Reuse Misuse-Resistance", CRYPTO 2015: STREAM).
//!
//! AES-256-GCM over chunks of 64 KiB. Nonce = 7 bytes of the header's hash ‖ counter u32 ‖ last
//! flag; associated data = SHA-256 of the header. The data key is fresh for every object, so that
//! the counter alone keeps nonces apart; chunks cannot be reordered, dropped, repeated, cut off or
//! moved to another header.

use ring::aead;
use siegel_ident::secret::Wiped;
use siegel_ident::{Digest, Secret};
use zeroize::Zeroize as _;

use crate::frame::Frame;
use crate::{OpenError, SealError};

/// Plaintext bytes in every chunk but the last.
pub(crate) const CHUNK: usize = 64 * 1024;
/// Bytes of one authentication tag.
pub(crate) const TAG: usize = 16;

/// How many bytes `len` bytes of plaintext become.
pub(crate) const fn sealed_len(len: u64) -> u64 {
    len + len.div_ceil(CHUNK as u64) * TAG as u64
}

/// Appends the sealed body to `out`. The frame has at least one byte.
///
/// Every chunk is encrypted where it will stand, in memory that is reserved before: plaintext is
/// in `out` one chunk at a time, is overwritten by its ciphertext, and never in memory given back.
pub(crate) fn seal(
    key: &Secret<32>,
    header: &Digest,
    frame: &Frame<'_>,
    out: &mut Vec<u8>,
) -> Result<(), SealError> {
    let cipher = cipher(key).map_err(|_| SealError::Cipher)?;
    let count = frame.len().div_ceil(CHUNK);
    out.reserve_exact(sealed_len(frame.len() as u64) as usize);
    for index in 0..count {
        let nonce = nonce(header, index, count).ok_or(SealError::Cipher)?;
        let (from, at) = (index * CHUNK, out.len());
        frame.append(from, (from + CHUNK).min(frame.len()), out);
        let chunk = out.get_mut(at..).ok_or(SealError::Cipher)?;
        let sealed =
            cipher.seal_in_place_separate_tag(nonce, aead::Aad::from(header.as_bytes()), chunk);
        let Ok(tag) = sealed else {
            chunk.zeroize();
            return Err(SealError::Cipher);
        };
        out.extend_from_slice(tag.as_ref());
    }
    Ok(())
}

/// Opens a sealed body. On any failure what was decrypted so far is zeroised.
pub(crate) fn open(key: &Secret<32>, header: &Digest, body: &[u8]) -> Result<Wiped<u8>, OpenError> {
    let cipher = cipher(key).map_err(|_| OpenError::NotAuthentic)?;
    let count = body.len().div_ceil(CHUNK + TAG);
    // One copy. Every chunk is decrypted to where its plaintext belongs, left of its ciphertext by
    // the tags before it.
    let mut plain = Wiped::new(body.to_vec());
    let mut open_chunk = |index: usize| {
        let nonce = nonce(header, index, count)?;
        let end = ((index + 1) * (CHUNK + TAG)).min(body.len());
        let buffer = plain.get_mut(index * CHUNK..end)?;
        let aad = aead::Aad::from(header.as_bytes());
        let opened = cipher.open_within(nonce, aad, buffer, index * TAG..);
        opened.is_ok().then_some(())
    };
    if !(0..count).all(|index| open_chunk(index).is_some()) {
        return Err(OpenError::NotAuthentic);
    }
    plain.truncate(body.len().saturating_sub(count * TAG));
    Ok(plain)
}

fn cipher(key: &Secret<32>) -> Result<aead::LessSafeKey, ring::error::Unspecified> {
    aead::UnboundKey::new(&aead::AES_256_GCM, key.expose()).map(aead::LessSafeKey::new)
}

fn nonce(header: &Digest, index: usize, count: usize) -> Option<aead::Nonce> {
    let counter = u32::try_from(index).ok()?;
    let mut bytes = [0u8; aead::NONCE_LEN];
    let (prefix, rest) = bytes.split_at_mut_checked(7)?;
    prefix.copy_from_slice(header.as_bytes().get(..7)?);
    let (count_bytes, last) = rest.split_at_mut_checked(4)?;
    count_bytes.copy_from_slice(&counter.to_be_bytes());
    last.copy_from_slice(&[u8::from(index + 1 == count)]);
    Some(aead::Nonce::assume_unique_for_key(bytes))
}
