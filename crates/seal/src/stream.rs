//! Chunked encryption of a body (Hoang, Reyhanitabar, Rogaway, Vizár, "Online Authenticated
//! Encryption and its Nonce-Reuse Misuse-Resistance", CRYPTO 2015: STREAM).
//!
//! AES-256-GCM over chunks of 64 KiB. Nonce = 7 bytes of the header's hash ‖ counter u32 ‖ last
//! flag; associated data = SHA-256 of the header. The data key is fresh for every object, so that
//! the counter alone keeps nonces apart; chunks cannot be reordered, dropped, repeated, cut off or
//! moved to another header.

use ring::aead;
use siegel_ident::{Digest, Secret};
use zeroize::Zeroizing;

use crate::{OpenError, SealError};

/// Plaintext bytes in every chunk but the last.
pub(crate) const CHUNK: usize = 64 * 1024;
/// Bytes of one authentication tag.
pub(crate) const TAG: usize = 16;

/// How many bytes `len` bytes of plaintext become.
pub(crate) const fn sealed_len(len: u64) -> u64 {
    len + len.div_ceil(CHUNK as u64) * TAG as u64
}

/// Appends the sealed body to `out`. `plaintext` has at least one byte.
pub(crate) fn seal(
    key: &Secret<32>,
    header: &Digest,
    plaintext: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), SealError> {
    let cipher = cipher(key).map_err(|_| SealError::Cipher)?;
    let count = plaintext.len().div_ceil(CHUNK);
    for (index, chunk) in plaintext.chunks(CHUNK).enumerate() {
        let nonce = nonce(header, index, count).ok_or(SealError::Cipher)?;
        // Encrypted in a buffer of its own, so that no plaintext ever stands in `out`.
        let mut sealed = Zeroizing::new(chunk.to_vec());
        let tag = cipher
            .seal_in_place_separate_tag(nonce, aead::Aad::from(header.as_bytes()), &mut sealed)
            .map_err(|_| SealError::Cipher)?;
        out.extend_from_slice(&sealed);
        out.extend_from_slice(tag.as_ref());
    }
    Ok(())
}

/// Opens a sealed body. On any failure what was decrypted so far is zeroised.
pub(crate) fn open(
    key: &Secret<32>,
    header: &Digest,
    body: &[u8],
) -> Result<Zeroizing<Vec<u8>>, OpenError> {
    let cipher = cipher(key).map_err(|_| OpenError::NotAuthentic)?;
    let count = body.len().div_ceil(CHUNK + TAG);
    let mut plain = Zeroizing::new(Vec::with_capacity(body.len()));
    for (index, chunk) in body.chunks(CHUNK + TAG).enumerate() {
        let nonce = nonce(header, index, count).ok_or(OpenError::NotAuthentic)?;
        let mut buffer = Zeroizing::new(chunk.to_vec());
        let opened = cipher
            .open_in_place(nonce, aead::Aad::from(header.as_bytes()), &mut buffer)
            .map_err(|_| OpenError::NotAuthentic)?;
        plain.extend_from_slice(opened);
    }
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
