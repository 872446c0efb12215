//! The second opinion: `sigstore-verify` on the same bundle, with its arithmetic on ring and p256.
//!
//! It does what ours leaves out: certificate chains, certificate identities, signed certificate
//! timestamps and the CMS signatures of timestamp tokens. It reads this machine's clock, to refuse
//! times in the future; nothing of it can be told another time.

use ring::digest::{Algorithm, Context, SHA256, SHA384, SHA512};
use ring::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P256_SHA384_ASN1, ECDSA_P384_SHA256_ASN1, ECDSA_P384_SHA384_ASN1,
    ED25519, RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512,
    UnparsedPublicKey, VerificationAlgorithm,
};
use sigstore_types::{Bundle, DerPublicKey, HashAlgorithm, Sha256Hash};
use sigstore_verify::crypto::{
    CryptoProvider, Error, HashContext, Result, SigningScheme, install_default_provider,
};
use sigstore_verify::trust_root::TrustedRoot;
use sigstore_verify::{Policy, PublicKeyVerificationPolicy, VerificationPolicy, verify};

use crate::artifact::{Artifact, Signer};

/// What `sigstore-verify` says: nothing, or why it refuses.
///
/// # Errors
/// Its own words, as a text.
pub fn second_opinion(
    bundle: &[u8],
    artifact: &Artifact<'_>,
    signer: &Signer<'_>,
    trusted_root: &str,
) -> std::result::Result<(), String> {
    // An error says that it was installed before: all the same.
    let _ = install_default_provider(&OnRing);
    let text = std::str::from_utf8(bundle).map_err(|why| why.to_string())?;
    let bundle = Bundle::from_json(text).map_err(|why| why.to_string())?;
    let root = TrustedRoot::from_json(trusted_root).map_err(|why| why.to_string())?;
    let policy: Box<dyn Policy> = match signer {
        Signer::Key(key) => Box::new(PublicKeyVerificationPolicy::new(DerPublicKey::new(
            key.spki_der(),
        ))),
        Signer::Certificate { identity, issuer } => {
            Box::new(VerificationPolicy::new(*identity, *issuer))
        }
    };
    let result = match artifact {
        Artifact::Bytes(bytes) => verify(*bytes, &bundle, policy.as_ref(), &root),
        Artifact::Digest(digest) => verify(
            Sha256Hash::new(*digest.as_bytes()),
            &bundle,
            policy.as_ref(),
            &root,
        ),
    };
    match result {
        Ok(result) if result.tlog_verified() => Ok(()),
        Ok(_) => Err("no log entry was verified".to_owned()),
        Err(why) => Err(why.to_string()),
    }
}

/// Hashes and signatures on ring; P-256 over a digest on p256, since ring takes whole messages only.
#[derive(Debug)]
struct OnRing;

struct Hash(Context);

impl HashContext for Hash {
    fn update(&mut self, data: &[u8]) {
        self.0.update(data);
    }

    fn finalize(self: Box<Self>) -> Vec<u8> {
        self.0.finish().as_ref().to_vec()
    }
}

impl CryptoProvider for OnRing {
    fn hash(&self, algorithm: HashAlgorithm) -> Result<Box<dyn HashContext>> {
        let algorithm: &'static Algorithm = match algorithm {
            HashAlgorithm::Sha2256 => &SHA256,
            HashAlgorithm::Sha2384 => &SHA384,
            HashAlgorithm::Sha2512 => &SHA512,
            other => return Err(Error::UnsupportedAlgorithm(other.to_string())),
        };
        Ok(Box::new(Hash(Context::new(algorithm))))
    }

    fn verify_raw(
        &self,
        scheme: SigningScheme,
        key: &[u8],
        data: &[u8],
        signature: &[u8],
    ) -> Result<()> {
        let algorithm: &'static dyn VerificationAlgorithm = match scheme {
            SigningScheme::EcdsaP256Sha256 => &ECDSA_P256_SHA256_ASN1,
            SigningScheme::EcdsaP256Sha384 => &ECDSA_P256_SHA384_ASN1,
            SigningScheme::EcdsaP384Sha256 => &ECDSA_P384_SHA256_ASN1,
            SigningScheme::EcdsaP384Sha384 => &ECDSA_P384_SHA384_ASN1,
            SigningScheme::Ed25519 => &ED25519,
            SigningScheme::RsaPkcs1Sha256 => &RSA_PKCS1_2048_8192_SHA256,
            SigningScheme::RsaPkcs1Sha384 => &RSA_PKCS1_2048_8192_SHA384,
            SigningScheme::RsaPkcs1Sha512 => &RSA_PKCS1_2048_8192_SHA512,
            other => return Err(Error::UnsupportedAlgorithm(other.name().to_owned())),
        };
        UnparsedPublicKey::new(algorithm, key)
            .verify(data, signature)
            .map_err(|_| Error::Verification(format!("{} does not verify", scheme.name())))
    }

    fn verify_prehashed(
        &self,
        scheme: SigningScheme,
        key: &[u8],
        digest: &[u8],
        signature: &[u8],
    ) -> Result<()> {
        if !matches!(scheme, SigningScheme::EcdsaP256Sha256) {
            let what = format!("{} over a digest", scheme.name());
            return Err(Error::UnsupportedAlgorithm(what));
        }
        if crate::signature::p256_over_digest(key, digest, signature) {
            return Ok(());
        }
        Err(Error::Verification(format!(
            "{} does not verify",
            scheme.name()
        )))
    }
}
