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

/// A certificate in DER (X.509 v1) that says nothing but the key, and is signed by nobody.
pub fn certificate(key: &SpkiKey) -> Vec<u8> {
    let tagged = |tag: u8, parts: &[&[u8]]| {
        let body = parts.concat();
        let length = body.len() as u8;
        let head = match length < 0x80 {
            true => vec![tag, length],
            false => vec![tag, 0x81, length],
        };
        [head, body].concat()
    };
    let ecdsa_with_sha256 = [0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02];
    let algorithm = tagged(0x30, &[&ecdsa_with_sha256]);
    let (name, time) = (tagged(0x30, &[]), tagged(0x17, &[b"230101000000Z"]));
    let validity = tagged(0x30, &[&time, &time]);
    let serial = tagged(0x02, &[&[1]]);
    let spki = key.spki_der();
    let body = tagged(0x30, &[&serial, &algorithm, &name, &validity, &name, &spki]);
    let signature = tagged(0x03, &[&[0]]);
    let certificate = tagged(0x30, &[&body, &algorithm, &signature]);
    assert!(certificate.len() < 0x100);
    certificate
}
