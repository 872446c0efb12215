//! The independent verifier `sigstore-verify` over what this crate writes.

use ring::digest::{Context, SHA256, SHA384, SHA512};
use ring::signature::{ECDSA_P256_SHA256_ASN1, ED25519, UnparsedPublicKey, VerificationAlgorithm};
use siegel_translog::SpkiKey;
use sigstore_types::{Bundle, DerPublicKey, HashAlgorithm};
use sigstore_verify::crypto::{
    CryptoProvider, Error, HashContext, Result as TheirResult, SigningScheme,
    install_default_provider,
};
use sigstore_verify::trust_root::TrustedRoot;
use sigstore_verify::{PublicKeyVerificationPolicy, verify};

/// Its arithmetic on ring, so that the tests need no second C library.
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
    fn hash(&self, algorithm: HashAlgorithm) -> TheirResult<Box<dyn HashContext>> {
        let algorithm = match algorithm {
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
    ) -> TheirResult<()> {
        let algorithm: &'static dyn VerificationAlgorithm = match scheme {
            SigningScheme::EcdsaP256Sha256 => &ECDSA_P256_SHA256_ASN1,
            SigningScheme::Ed25519 => &ED25519,
            other => return Err(Error::UnsupportedAlgorithm(format!("{other:?}"))),
        };
        UnparsedPublicKey::new(algorithm, key)
            .verify(data, signature)
            .map_err(|_| Error::Verification("does not verify".into()))
    }

    fn verify_prehashed(
        &self,
        scheme: SigningScheme,
        _key: &[u8],
        _digest: &[u8],
        _signature: &[u8],
    ) -> TheirResult<()> {
        Err(Error::UnsupportedAlgorithm(format!(
            "{scheme:?} over a digest"
        )))
    }
}

/// Their verdict on a bundle with a managed key; the error is theirs.
pub(super) fn judge(
    bundle: &[u8],
    artifact: &[u8],
    key: &SpkiKey,
    trusted_root: &[u8],
) -> Result<(), String> {
    let _ = install_default_provider(&OnRing);
    let text = |bytes| std::str::from_utf8(bytes).unwrap().to_owned();
    let bundle = Bundle::from_json(&text(bundle)).map_err(|e| e.to_string())?;
    let root = TrustedRoot::from_json(&text(trusted_root)).map_err(|e| e.to_string())?;
    let policy = PublicKeyVerificationPolicy::new(DerPublicKey::new(key.spki_der()));
    match verify(artifact, &bundle, &policy, &root) {
        Ok(verified) if verified.tlog_verified() => Ok(()),
        Ok(_) => Err("not in the log".into()),
        Err(e) => Err(e.to_string()),
    }
}
