//! KEM keys, and HPKE in base mode under one (RFC 9180).

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

use hpke::aead::AesGcm256;
use hpke::kdf::HkdfSha256;
use hpke::kem::{X25519HkdfSha256, XWing};
use hpke::{Deserializable, HpkeError, Kem, OpModeR, OpModeS, Serializable};
use rand_core::CryptoRng;
use siegel_ident::{Secret, SecretBytes};
use zeroize::Zeroizing;

use crate::{OpenError, SealError, Suite};

/// A public KEM key that has been checked to parse.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KemPublic {
    suite: Suite,
    key: Vec<u8>,
    parsed: ParsedPublic,
}

impl KemPublic {
    /// Reads `suite u16 big-endian ‖ key`, the form in bindings, bundles and headers.
    pub fn parse(bytes: &[u8]) -> Result<Self, OpenError> {
        let (number, key) = bytes
            .split_first_chunk::<2>()
            .ok_or(OpenError::Field { field: "kem key" })?;
        let number = u16::from_be_bytes(*number);
        let suite = Suite::from_number(number).ok_or(OpenError::UnknownSuite(number))?;
        Self::from_parts(suite, key)
    }

    /// Takes the raw key of a suite that is named elsewhere.
    pub fn from_parts(suite: Suite, key: &[u8]) -> Result<Self, OpenError> {
        let public = Self::unchecked(suite, key.to_vec());
        match public.parsed() {
            Some(_) => Ok(public),
            None => Err(OpenError::BadKey { suite }),
        }
    }

    fn unchecked(suite: Suite, key: Vec<u8>) -> Self {
        let parsed = ParsedPublic::default();
        Self { suite, key, parsed }
    }

    fn parsed(&self) -> Option<&Public> {
        let parse = || match self.suite {
            Suite::X25519 => read::<X25519HkdfSha256>(&self.key).map(Public::X25519),
            Suite::XWing => read::<XWing>(&self.key).map(Public::XWing),
        };
        self.parsed.0.get_or_init(parse).as_ref()
    }

    /// `suite u16 big-endian ‖ key`.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(2 + self.key.len());
        out.extend_from_slice(&self.suite.number().to_be_bytes());
        out.extend_from_slice(&self.key);
        out
    }

    /// Its suite.
    pub const fn suite(&self) -> Suite {
        self.suite
    }

    /// The key without the suite in front.
    pub fn key(&self) -> &[u8] {
        &self.key
    }
}

/// What `hpke` makes of the bytes of a public key.
enum Public {
    X25519(Box<<X25519HkdfSha256 as Kem>::PublicKey>),
    XWing(Box<<XWing as Kem>::PublicKey>),
}

/// Made once: X-Wing expands its key, which costs a third of a sealing. It follows from the bytes, so
/// it plays no part when keys are compared, ordered, hashed or shown.
#[derive(Clone, Default)]
struct ParsedPublic(Arc<OnceLock<Option<Public>>>);

impl PartialEq for ParsedPublic {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
impl Eq for ParsedPublic {}
impl PartialOrd for ParsedPublic {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for ParsedPublic {
    fn cmp(&self, _: &Self) -> Ordering {
        Ordering::Equal
    }
}
impl Hash for ParsedPublic {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}
impl fmt::Debug for ParsedPublic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

/// A private KEM key: 32 bytes in both suites (a clamped scalar, or the seed of X-Wing).
///
/// Zeroised on drop, and so are the keys that `hpke` makes from it; what `ml-kem` expands on its
/// stack during one opening is out of reach (I13).
pub struct KemPrivate {
    suite: Suite,
    key: Secret<32>,
    // Made at the first opening: X-Wing expands its seed, which costs half of an opening.
    parsed: OnceLock<Option<Parsed>>,
}

/// What `hpke` makes of the bytes of a private key.
enum Parsed {
    X25519(Box<<X25519HkdfSha256 as Kem>::PrivateKey>),
    XWing(Box<<XWing as Kem>::PrivateKey>),
}

impl KemPrivate {
    /// Takes the bytes that a sealed box brought.
    pub const fn from_bytes(suite: Suite, key: Secret<32>) -> Self {
        Self {
            suite,
            key,
            parsed: OnceLock::new(),
        }
    }

    /// The bytes, only to be put into a sealed box.
    pub const fn expose_bytes(&self) -> &[u8; 32] {
        self.key.expose()
    }

    /// A second holder of the same key, made on purpose and visible in review.
    pub const fn duplicate(&self) -> Self {
        Self::from_bytes(self.suite, self.key.duplicate())
    }

    /// Its suite.
    pub const fn suite(&self) -> Suite {
        self.suite
    }

    /// The public key that belongs to it.
    pub fn public(&self) -> Result<KemPublic, OpenError> {
        let key = match self.suite {
            Suite::X25519 => public_of::<X25519HkdfSha256>(self.key.expose()),
            Suite::XWing => public_of::<XWing>(self.key.expose()),
        };
        let key = key.map_err(|_| OpenError::BadKey { suite: self.suite })?;
        Ok(KemPublic::unchecked(self.suite, key))
    }

    fn parsed(&self) -> Option<&Parsed> {
        let parse = || match self.suite {
            Suite::X25519 => parse::<X25519HkdfSha256>(&self.key).map(Parsed::X25519),
            Suite::XWing => parse::<XWing>(&self.key).map(Parsed::XWing),
        };
        self.parsed.get_or_init(parse).as_ref()
    }
}

/// The key pair of 32 bytes of key material, always the same (RFC 9180, DeriveKeyPair).
pub fn derive_kem(suite: Suite, ikm: &Secret<32>) -> (KemPrivate, KemPublic) {
    let (key, public) = match suite {
        Suite::X25519 => derive_pair::<X25519HkdfSha256>(ikm.expose()),
        Suite::XWing => derive_pair::<XWing>(ikm.expose()),
    };
    (
        KemPrivate::from_bytes(suite, key),
        KemPublic::unchecked(suite, public),
    )
}

/// A fresh key pair, such as that of one boot.
pub fn generate_kem(suite: Suite, rng: &mut impl CryptoRng) -> (KemPrivate, KemPublic) {
    let mut ikm = Zeroizing::new([0u8; 32]);
    rng.fill_bytes(&mut *ikm);
    derive_kem(suite, &Secret::new(*ikm))
}

/// An encapsulated key and the ciphertext with its tag.
pub(crate) struct Wrapped {
    pub(crate) enc: Vec<u8>,
    pub(crate) ciphertext: Vec<u8>,
}

/// HPKE in base mode, one message: encapsulates now, and encrypts once the caller knows the
/// associated data, which may contain the encapsulated key.
pub(crate) fn seal(
    rng: &mut impl CryptoRng,
    to: &KemPublic,
    info: &[u8],
    aad: impl FnOnce(&[u8]) -> Vec<u8>,
    plaintext: &[u8],
) -> Result<Wrapped, SealError> {
    match to.parsed() {
        Some(Public::X25519(to)) => seal_with::<X25519HkdfSha256>(rng, to, info, aad, plaintext),
        Some(Public::XWing(to)) => seal_with::<XWing>(rng, to, info, aad, plaintext),
        None => Err(SealError::DegenerateKey),
    }
}

/// The other direction of [`seal`].
pub(crate) fn open(
    key: &KemPrivate,
    enc: &[u8],
    info: &[u8],
    aad: &[u8],
    ciphertext: &[u8],
) -> Result<SecretBytes, OpenError> {
    let opened = match key.parsed() {
        Some(Parsed::X25519(key)) => open_with::<X25519HkdfSha256>(key, enc, info, aad, ciphertext),
        Some(Parsed::XWing(key)) => open_with::<XWing>(key, enc, info, aad, ciphertext),
        None => Err(HpkeError::ValidationError),
    };
    opened
        .map(SecretBytes::new)
        .map_err(|_| OpenError::NotAuthentic)
}

fn derive_pair<K: Kem>(ikm: &[u8]) -> (Secret<32>, Vec<u8>) {
    let (private, public) = K::derive_keypair(ikm);
    let mut key = Zeroizing::new([0u8; 32]);
    // Both suites have private keys of 32 bytes (checked by a test below).
    private.write_exact(&mut *key);
    (Secret::new(*key), public.to_bytes().to_vec())
}

fn read<K: Kem>(key: &[u8]) -> Option<Box<K::PublicKey>> {
    K::PublicKey::from_bytes(key).ok().map(Box::new)
}

fn public_of<K: Kem>(private: &[u8]) -> Result<Vec<u8>, HpkeError> {
    let private = K::PrivateKey::from_bytes(private)?;
    Ok(K::sk_to_pk(&private).to_bytes().to_vec())
}

fn seal_with<K: Kem>(
    rng: &mut impl CryptoRng,
    to: &K::PublicKey,
    info: &[u8],
    aad: impl FnOnce(&[u8]) -> Vec<u8>,
    plaintext: &[u8],
) -> Result<Wrapped, SealError> {
    let (enc, mut context) =
        hpke::setup_sender_with_rng::<AesGcm256, HkdfSha256, K>(&OpModeS::Base, to, info, rng)
            .map_err(|_| SealError::DegenerateKey)?;
    let enc = enc.to_bytes().to_vec();
    let ciphertext = context
        .seal(plaintext, &aad(&enc))
        .map_err(|_| SealError::Cipher)?;
    Ok(Wrapped { enc, ciphertext })
}

fn parse<K: Kem>(key: &Secret<32>) -> Option<Box<K::PrivateKey>> {
    K::PrivateKey::from_bytes(key.expose()).ok().map(Box::new)
}

fn open_with<K: Kem>(
    private: &K::PrivateKey,
    enc: &[u8],
    info: &[u8],
    aad: &[u8],
    ciphertext: &[u8],
) -> Result<Vec<u8>, HpkeError> {
    let enc = K::EncappedKey::from_bytes(enc)?;
    hpke::single_shot_open::<AesGcm256, HkdfSha256, K>(
        &OpModeR::Base,
        private,
        &enc,
        info,
        ciphertext,
        aad,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUITES: [Suite; 2] = [Suite::X25519, Suite::XWing];

    #[test]
    fn keys_have_the_lengths_that_the_suite_says() {
        for suite in SUITES {
            let (private, public) = derive_kem(suite, &Secret::new([1; 32]));
            assert_eq!(private.expose_bytes().len(), suite.private_len());
            assert_eq!(public.key().len(), suite.public_len());
            let bytes = public.to_bytes();
            assert_eq!(bytes[..2], suite.number().to_be_bytes());
            assert_eq!(KemPublic::parse(&bytes).as_ref(), Ok(&public));
            assert_eq!(private.public().as_ref(), Ok(&public));
            assert!(KemPublic::parse(&bytes[..bytes.len() - 1]).is_err());
            assert!(KemPublic::parse(&[&bytes[..], &[0]].concat()).is_err());
        }
        assert_eq!(
            KemPublic::parse(&[0, 3, 1]),
            Err(OpenError::UnknownSuite(3))
        );
        assert!(KemPublic::parse(&[0]).is_err());
    }

    // DeriveKeyPair of RFC 9180, appendix A.1.1 (ikmR, skRm, pkRm): catches another derivation,
    // under which a cluster restored from the same secret would have other keys.
    #[test]
    fn derivation_is_that_of_rfc_9180() {
        let ikm = "6db9df30aa07dd42ee5e8181afdb977e538f5e1fec8a06223f33f7013e525037";
        let ikm: [u8; 32] = hex::decode(ikm).unwrap().try_into().unwrap();
        let (_, public) = derive_kem(Suite::X25519, &Secret::new(ikm));
        assert_eq!(
            hex::encode(public.key()),
            "3948cfe0ad1ddb695d780e59077195da6c56506b027329794ab02bca80815c4d"
        );
    }

    // X-Wing refuses an ML-KEM key whose coefficients are out of range (FIPS 203, section 7.2).
    #[test]
    fn a_malformed_x_wing_key_is_refused() {
        let error = KemPublic::from_parts(Suite::XWing, &[0xff; 1216]);
        assert_eq!(
            error,
            Err(OpenError::BadKey {
                suite: Suite::XWing
            })
        );
    }
}
