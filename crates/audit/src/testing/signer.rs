//! A P-256 key that signs anything.

use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _};
use siegel_attest::KeyBundle;
use siegel_translog::{Envelope, SpkiKey, Statement, dsse};

/// A key of a cluster, publisher or endorser.
pub struct Signer {
    pair: EcdsaKeyPair,
    key: SpkiKey,
}

impl Signer {
    /// A fresh key.
    pub fn generate() -> Self {
        let (rng, algorithm) = (SystemRandom::new(), &ECDSA_P256_SHA256_ASN1_SIGNING);
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(algorithm, &rng).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(algorithm, pkcs8.as_ref(), &rng).unwrap();
        let key = SpkiKey::from_point(pair.public_key().as_ref()).unwrap();
        Self { pair, key }
    }

    /// The public key.
    pub fn key(&self) -> SpkiKey {
        self.key
    }

    /// Signs a statement for the log.
    pub fn sign(&self, statement: &Statement) -> Envelope {
        let payload = statement.to_bytes().unwrap();
        let signature = self.raw(&dsse::pae(&payload));
        Envelope { payload, signature }
    }

    /// Signs the exact bytes of a key bundle.
    pub fn sign_bundle(&self, bundle: &[u8]) -> Vec<u8> {
        self.raw(&KeyBundle::signing_bytes(bundle))
    }

    fn raw(&self, message: &[u8]) -> Vec<u8> {
        let signature = self.pair.sign(&SystemRandom::new(), message).unwrap();
        signature.as_ref().to_vec()
    }
}
