//! The P-256 key that signs log entries (Rekor v2 takes no Ed25519 entry keys).

use std::fmt;

use ring::signature::{ECDSA_P256_SHA256_ASN1, UnparsedPublicKey};
use siegel_ident::KeyDigest;

use crate::encoding::b64;
use crate::error::ProofError;

/// DER of `SEQUENCE { SEQUENCE { id-ecPublicKey, prime256v1 }, BIT STRING (66) }` up to the point.
const SPKI_PREFIX: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a,
    0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];

/// A P-256 public key: an uncompressed point, spelled in the one DER form that is accepted.
///
/// That the point lies on the curve is checked by the signature verification, not here.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SpkiKey([u8; 65]);

impl SpkiKey {
    /// Length of an uncompressed point in bytes.
    pub const POINT_LEN: usize = 65;
    /// Length of the DER form in bytes.
    pub const DER_LEN: usize = 91;

    /// Reads SubjectPublicKeyInfo DER.
    ///
    /// # Errors
    /// [`ProofError::Key`] unless it is exactly the 91-byte form of an uncompressed P-256 point.
    pub fn from_spki_der(der: &[u8]) -> Result<Self, ProofError> {
        match der.strip_prefix(&SPKI_PREFIX) {
            Some(point) => Self::from_point(point),
            None => Err(ProofError::Key(
                "expected id-ecPublicKey with curve prime256v1",
            )),
        }
    }

    /// Takes an uncompressed point (0x04 ‖ x ‖ y).
    ///
    /// # Errors
    /// [`ProofError::Key`] unless it has 65 bytes and starts with 4.
    pub fn from_point(point: &[u8]) -> Result<Self, ProofError> {
        let point: [u8; 65] = point
            .try_into()
            .map_err(|_| ProofError::Key("expected a point of 65 bytes"))?;
        match point.first() {
            Some(4) => Ok(Self(point)),
            _ => Err(ProofError::Key(
                "expected an uncompressed point (first byte 4)",
            )),
        }
    }

    /// The uncompressed point, 65 bytes.
    pub const fn point(&self) -> &[u8; 65] {
        &self.0
    }

    /// SubjectPublicKeyInfo DER, 91 bytes.
    pub fn spki_der(&self) -> Vec<u8> {
        [&SPKI_PREFIX[..], &self.0[..]].concat()
    }

    /// The bundle's `publicKey.hint`: base64(SHA-256(SPKI DER)).
    pub fn hint(&self) -> String {
        b64(self.digest().as_bytes())
    }

    /// SHA-256 of the SPKI DER: how policies and anchors name a key.
    pub fn digest(&self) -> KeyDigest {
        KeyDigest::of(&self.spki_der())
    }

    /// Checks an ASN.1 DER ECDSA signature over SHA-256 of `message`.
    ///
    /// # Errors
    /// [`ProofError::Signature`] if it does not verify.
    pub fn verify(&self, message: &[u8], signature: &[u8]) -> Result<(), ProofError> {
        UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, &self.0[..])
            .verify(message, signature)
            .map_err(|_| ProofError::Signature { hint: self.hint() })
    }
}

impl fmt::Debug for SpkiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SpkiKey({})", self.hint())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_der_form_is_read() {
        let mut point = [7u8; 65];
        point[0] = 4;
        let key = SpkiKey::from_point(&point).unwrap();
        let der = key.spki_der();
        assert_eq!(der.len(), SpkiKey::DER_LEN);
        assert_eq!(SpkiKey::from_spki_der(&der).unwrap(), key);
        assert!(SpkiKey::from_spki_der(&der[..90]).is_err());
        assert!(SpkiKey::from_spki_der(&[&der[..], &[0]].concat()).is_err());
        for at in 0..27 {
            let mut other = der.clone();
            other[at] ^= 1;
            assert!(SpkiKey::from_spki_der(&other).is_err(), "byte {at}");
        }
    }
}
