//! The baseline: the same cryptography with `hpke` and `ring` alone, as a careful user of the two
//! would write it.
//!
//! Alone in the tree this touches KEM and AEAD outside `seal` and `session`, because it is what
//! `seal` is measured against. It keeps both keys parsed, pads nothing, checks no header, copies
//! the plaintext once, and zeroises nothing of its own.

use hpke::aead::AesGcm256;
use hpke::kdf::HkdfSha256;
use hpke::{Deserializable as _, HpkeError, Kem, OpModeR, OpModeS, Serializable as _};
use rand_core::CryptoRng;
use ring::aead;

/// Plaintext bytes in every chunk but the last, as in an upload.
const CHUNK: usize = 64 * 1024;
const TAG: usize = aead::MAX_TAG_LEN;
const DEK: usize = 32;
/// A length in front of a field.
const LEN: usize = 4;

/// Why the baseline could not do its part.
#[derive(Debug, thiserror::Error)]
pub enum RawError {
    /// `hpke` refused.
    #[error("raw hpke: {0:?}")]
    Hpke(HpkeError),
    /// `ring` refused.
    #[error("raw ring refused a key or a body")]
    Ring,
    /// Not what this module makes.
    #[error("the sealed bytes are cut short")]
    Short,
}

impl From<ring::error::Unspecified> for RawError {
    fn from(_: ring::error::Unspecified) -> Self {
        Self::Ring
    }
}

impl From<HpkeError> for RawError {
    fn from(error: HpkeError) -> Self {
        Self::Hpke(error)
    }
}

/// Both sides of one key, and what every upload is bound to.
pub struct Raw<K: Kem> {
    private: K::PrivateKey,
    public: K::PublicKey,
    info: Vec<u8>,
    /// What stands before the encapsulated key.
    prefix: Vec<u8>,
}

impl<K: Kem> Raw<K> {
    /// Parses both keys, once.
    pub fn new(
        private: &[u8],
        public: &[u8],
        info: Vec<u8>,
        prefix: Vec<u8>,
    ) -> Result<Self, RawError> {
        Ok(Self {
            private: K::PrivateKey::from_bytes(private)?,
            public: K::PublicKey::from_bytes(public)?,
            info,
            prefix,
        })
    }

    /// `prefix ‖ LP(enc) ‖ LP(wrapped DEK) ‖ body`: fresh DEK under HPKE, SHA-256 of the header,
    /// AES-256-GCM in chunks.
    pub fn seal(&self, rng: &mut impl CryptoRng, plaintext: &[u8]) -> Result<Vec<u8>, RawError> {
        let mut dek = [0u8; DEK];
        rng.fill_bytes(&mut dek);
        let (enc, mut context) = hpke::setup_sender_with_rng::<AesGcm256, HkdfSha256, K>(
            &OpModeS::Base,
            &self.public,
            &self.info,
            rng,
        )?;
        let enc = enc.to_bytes();
        let count = plaintext.len().div_ceil(CHUNK);
        let header = self.prefix.len() + LEN + enc.len() + LEN + DEK + TAG;
        let mut out = Vec::with_capacity(header + plaintext.len() + count * TAG);
        out.extend_from_slice(&self.prefix);
        put(&mut out, &enc);
        let wrapped = context.seal(&dek, &out)?;
        put(&mut out, &wrapped);

        let hash = ring::digest::digest(&ring::digest::SHA256, &out);
        let cipher = cipher(&dek)?;
        for (index, chunk) in plaintext.chunks(CHUNK).enumerate() {
            let at = out.len();
            out.extend_from_slice(chunk);
            let (_, sealing) = out.split_at_mut_checked(at).ok_or(RawError::Short)?;
            let nonce = nonce(hash.as_ref(), index, count)?;
            let tag = cipher.seal_in_place_separate_tag(
                nonce,
                aead::Aad::from(hash.as_ref()),
                sealing,
            )?;
            out.extend_from_slice(tag.as_ref());
        }
        Ok(out)
    }

    /// The other direction.
    pub fn open(&self, sealed: &[u8]) -> Result<Vec<u8>, RawError> {
        let (_, rest) = sealed
            .split_at_checked(self.prefix.len())
            .ok_or(RawError::Short)?;
        let (enc, rest) = take(rest)?;
        let aad_len = sealed.len() - rest.len();
        let (wrapped, body) = take(rest)?;
        let (header, _) = sealed
            .split_at_checked(sealed.len() - body.len())
            .ok_or(RawError::Short)?;
        let (aad, _) = header.split_at_checked(aad_len).ok_or(RawError::Short)?;
        let dek = hpke::single_shot_open::<AesGcm256, HkdfSha256, K>(
            &OpModeR::Base,
            &self.private,
            &K::EncappedKey::from_bytes(enc)?,
            &self.info,
            wrapped,
            aad,
        )?;

        let hash = ring::digest::digest(&ring::digest::SHA256, header);
        let cipher = cipher(&dek)?;
        let count = body.len().div_ceil(CHUNK + TAG);
        // One copy; every chunk is decrypted to where its plaintext belongs.
        let mut out = body.to_vec();
        for index in 0..count {
            let from = index * CHUNK;
            let to = ((index + 1) * (CHUNK + TAG)).min(out.len());
            let chunk = out.get_mut(from..to).ok_or(RawError::Short)?;
            let nonce = nonce(hash.as_ref(), index, count)?;
            cipher.open_within(nonce, aead::Aad::from(hash.as_ref()), chunk, index * TAG..)?;
        }
        out.truncate(body.len() - count * TAG);
        Ok(out)
    }
}

fn cipher(dek: &[u8]) -> Result<aead::LessSafeKey, RawError> {
    let key = aead::UnboundKey::new(&aead::AES_256_GCM, dek)?;
    Ok(aead::LessSafeKey::new(key))
}

fn nonce(hash: &[u8], index: usize, count: usize) -> Result<aead::Nonce, RawError> {
    let counter = u32::try_from(index).map_err(|_| RawError::Short)?;
    let mut bytes = [0u8; aead::NONCE_LEN];
    let hash = hash.get(..7).ok_or(RawError::Short)?;
    let parts = hash
        .iter()
        .copied()
        .chain(counter.to_be_bytes())
        .chain([u8::from(index + 1 == count)]);
    for (to, from) in bytes.iter_mut().zip(parts) {
        *to = from;
    }
    Ok(aead::Nonce::assume_unique_for_key(bytes))
}

fn put(out: &mut Vec<u8>, field: &[u8]) {
    out.extend_from_slice(&(field.len() as u32).to_be_bytes());
    out.extend_from_slice(field);
}

fn take(bytes: &[u8]) -> Result<(&[u8], &[u8]), RawError> {
    let (len, rest) = bytes.split_first_chunk::<LEN>().ok_or(RawError::Short)?;
    rest.split_at_checked(u32::from_be_bytes(*len) as usize)
        .ok_or(RawError::Short)
}
