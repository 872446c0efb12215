//! Secrets wrapped under a symmetric key: KMS secrets in log entries, data keys of checkpoints.
//!
//! Every wrap has its own key, HKDF(key, salt) with a random salt of 32 bytes, so that there is no
//! bound on how many secrets one key may wrap; the nonce is fixed.

use rand_core::CryptoRng;
use ring::aead;
use siegel_ident::{Secret, SecretBytes, Transcript};
use zeroize::Zeroizing;

use crate::{OpenError, SealError, kdf, stream};

const VERSION: u8 = 1;
const SALT: usize = 32;

/// Length in bytes of a wrapped secret of `len` bytes.
pub const fn wrapped_len(len: usize) -> usize {
    1 + SALT + len + stream::TAG
}

/// Wraps `secret` under `key`. It unwraps only with the same `aad`.
///
/// Layout: version u8 ‖ salt 32 ‖ ciphertext ‖ tag 16.
pub fn wrap(
    key: &Secret<32>,
    rng: &mut impl CryptoRng,
    aad: &Transcript,
    secret: &[u8],
) -> Result<Vec<u8>, SealError> {
    let mut salt = [0u8; SALT];
    rng.fill_bytes(&mut salt);
    let cipher = cipher(key, &salt).map_err(|_| SealError::Cipher)?;
    let mut sealed = Zeroizing::new(secret.to_vec());
    let tag = cipher
        .seal_in_place_separate_tag(nonce(), aead::Aad::from(aad.as_bytes()), &mut sealed)
        .map_err(|_| SealError::Cipher)?;
    let mut out = Vec::with_capacity(wrapped_len(secret.len()));
    out.push(VERSION);
    out.extend_from_slice(&salt);
    out.extend_from_slice(&sealed);
    out.extend_from_slice(tag.as_ref());
    Ok(out)
}

/// Unwraps what [`wrap`] made with the same key and `aad`.
pub fn unwrap(key: &Secret<32>, aad: &Transcript, bytes: &[u8]) -> Result<SecretBytes, OpenError> {
    let (&version, rest) = bytes
        .split_first()
        .ok_or(OpenError::Field { field: "version" })?;
    if version != VERSION {
        return Err(OpenError::Version {
            got: version,
            known: VERSION,
        });
    }
    let (salt, sealed) = rest
        .split_first_chunk::<SALT>()
        .ok_or(OpenError::Field { field: "salt" })?;
    let cipher = cipher(key, salt).map_err(|_| OpenError::NotAuthentic)?;
    let mut buffer = Zeroizing::new(sealed.to_vec());
    let opened = cipher
        .open_in_place(nonce(), aead::Aad::from(aad.as_bytes()), &mut buffer)
        .map_err(|_| OpenError::NotAuthentic)?;
    Ok(SecretBytes::new(opened.to_vec()))
}

/// Unwraps a secret of 32 bytes.
pub fn unwrap_key(
    key: &Secret<32>,
    aad: &Transcript,
    bytes: &[u8],
) -> Result<Secret<32>, OpenError> {
    Secret::try_from_slice(unwrap(key, aad, bytes)?.expose()).ok_or(OpenError::Framing)
}

fn cipher(
    key: &Secret<32>,
    salt: &[u8; SALT],
) -> Result<aead::LessSafeKey, ring::error::Unspecified> {
    let key = kdf::derive(key, &Transcript::new("siegel/wrap/v1").field(salt));
    aead::UnboundKey::new(&aead::AES_256_GCM, key.expose()).map(aead::LessSafeKey::new)
}

/// Fixed, since no derived key encrypts twice.
fn nonce() -> aead::Nonce {
    aead::Nonce::assume_unique_for_key([0u8; aead::NONCE_LEN])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand_chacha::ChaCha20Rng;
    use rand_chacha::rand_core::SeedableRng;

    fn aad() -> Transcript {
        Transcript::new("siegel/test/v1").u64(1)
    }

    fn wrapped(seed: u64) -> Vec<u8> {
        wrap(
            &Secret::new([1; 32]),
            &mut ChaCha20Rng::seed_from_u64(seed),
            &aad(),
            &[9; 32],
        )
        .unwrap()
    }

    #[test]
    fn unwraps_with_the_same_key_and_aad_only() {
        let bytes = wrapped(1);
        assert_eq!(bytes.len(), wrapped_len(32));
        let key = Secret::new([1; 32]);
        assert!(
            unwrap_key(&key, &aad(), &bytes)
                .unwrap()
                .same(&Secret::new([9; 32]))
        );
        let refused = |key: &Secret<32>, aad: &Transcript| unwrap(key, aad, &bytes).err();
        let other_aad = Transcript::new("siegel/test/v1").u64(2);
        assert_eq!(refused(&key, &other_aad), Some(OpenError::NotAuthentic));
        assert_eq!(
            refused(&Secret::new([2; 32]), &aad()),
            Some(OpenError::NotAuthentic)
        );
        for at in 0..bytes.len() {
            let mut bad = bytes.clone();
            bad[at] ^= 1;
            assert!(unwrap(&key, &aad(), &bad).is_err(), "byte {at}");
            assert!(unwrap(&key, &aad(), &bytes[..at]).is_err(), "cut to {at}");
        }
    }

    // Catches a fixed salt: with the fixed nonce two secrets would share a key stream.
    #[test]
    fn two_wraps_share_nothing() {
        let (one, two) = (wrapped(1), wrapped(2));
        assert_ne!(one[1..33], two[1..33]);
        assert_ne!(one[33..], two[33..]);
    }

    #[test]
    fn a_secret_of_another_length_is_not_a_key() {
        let key = Secret::new([1; 32]);
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let bytes = wrap(&key, &mut rng, &aad(), b"short").unwrap();
        assert_eq!(
            unwrap_key(&key, &aad(), &bytes).err(),
            Some(OpenError::Framing)
        );
    }

    proptest! {
        // I14.
        #[test]
        fn hostile_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..120)) {
            prop_assert!(unwrap(&Secret::new([1; 32]), &aad(), &bytes).is_err());
        }
    }
}
