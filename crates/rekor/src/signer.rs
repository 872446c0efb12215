//! The P-256 key that signs statements about policies and programs.

use std::path::Path;

use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _};
use siegel_translog::{Envelope, SpkiKey, Statement, dsse};

use crate::error::RekorError;
use crate::pem;

/// PEM label of a PKCS#8 key.
pub(crate) const LABEL: &str = "PRIVATE KEY";
const PUBLIC_LABEL: &str = "PUBLIC KEY";

/// A publisher's key. No `Debug`: it holds the private key.
pub struct PolicySigner {
    pair: EcdsaKeyPair,
    key: SpkiKey,
}

impl PolicySigner {
    /// A fresh key that is written nowhere.
    ///
    /// # Errors
    /// [`RekorError::Key`] if the system has no randomness.
    pub fn generate() -> Result<Self, RekorError> {
        Self::from_pkcs8(new_pkcs8()?.as_ref(), Path::new("(new)"))
    }

    /// Reads a PKCS#8 PEM file (`openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256`).
    ///
    /// # Errors
    /// [`RekorError::Key`] if there is no such file or no P-256 key in it.
    pub fn load(path: &Path) -> Result<Self, RekorError> {
        let pkcs8 = pem::read(path, LABEL)?.ok_or_else(|| pem::wrong(path, "no such file"))?;
        Self::from_pkcs8(pkcs8.expose(), path)
    }

    /// Reads the key from a file, or makes one there (readable by its owner only).
    ///
    /// # Errors
    /// As [`Self::load`], and [`RekorError::Io`].
    pub fn load_or_create(path: &Path) -> Result<Self, RekorError> {
        if let Some(pkcs8) = pem::read(path, LABEL)? {
            return Self::from_pkcs8(pkcs8.expose(), path);
        }
        let pkcs8 = new_pkcs8()?;
        pem::create(path, LABEL, pkcs8.as_ref())?;
        Self::from_pkcs8(pkcs8.as_ref(), path)
    }

    /// The public key.
    pub fn key(&self) -> SpkiKey {
        self.key
    }

    /// Signs a statement. Signing twice gives two signatures: ECDSA here is randomised.
    ///
    /// # Errors
    /// [`RekorError::Proof`] for a statement that no reader would take; [`RekorError::Key`] if
    /// the system has no randomness.
    pub fn sign(&self, statement: &Statement) -> Result<Envelope, RekorError> {
        let payload = statement.to_bytes()?;
        let signature = self.sign_bytes(&dsse::pae(&payload))?;
        Ok(Envelope { payload, signature })
    }

    /// The ASN.1 DER ECDSA signature over SHA-256 of `bytes`.
    pub(crate) fn sign_bytes(&self, bytes: &[u8]) -> Result<Vec<u8>, RekorError> {
        let signed = self.pair.sign(&SystemRandom::new(), bytes);
        Ok(signed.map_err(|_| no_randomness())?.as_ref().to_vec())
    }

    pub(crate) fn from_pkcs8(pkcs8: &[u8], path: &Path) -> Result<Self, RekorError> {
        let rng = SystemRandom::new();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, pkcs8, &rng)
            .map_err(|_| pem::wrong(path, "not a P-256 key in PKCS#8"))?;
        let key = SpkiKey::from_point(pair.public_key().as_ref())?;
        Ok(Self { pair, key })
    }
}

/// The public key in a PEM file (SPKI, as `openssl pkey -pubout` writes it). A private key is refused:
/// who only verifies should not have it.
///
/// # Errors
/// As [`PolicySigner::load`].
pub fn read_public_key(path: &Path) -> Result<SpkiKey, RekorError> {
    if PolicySigner::load(path).is_ok() {
        let why = "this is a private key, which has no place here: give the public one (openssl pkey -pubout)";
        return Err(pem::wrong(path, why));
    }
    let der = pem::read(path, PUBLIC_LABEL)?.ok_or_else(|| pem::wrong(path, "no such file"))?;
    SpkiKey::from_spki_der(der.expose())
        .map_err(|_| pem::wrong(path, "not a P-256 key in SPKI form"))
}

/// The public key of either: of a private key (PKCS#8), or a public one. For whoever names keys of
/// their own.
///
/// # Errors
/// As [`PolicySigner::load`].
pub fn public_key_of(path: &Path) -> Result<SpkiKey, RekorError> {
    PolicySigner::load(path)
        .map(|signer| signer.key())
        .or_else(|_| read_public_key(path))
}

pub(crate) fn new_pkcs8() -> Result<ring::pkcs8::Document, RekorError> {
    EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &SystemRandom::new())
        .map_err(|_| no_randomness())
}

pub(crate) fn no_randomness() -> RekorError {
    RekorError::Key {
        path: "(new)".into(),
        why: "the system has no randomness",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use siegel_translog::predicate;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn a_key_file_is_private_and_reads_back() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("publisher.pem");
        let made = PolicySigner::load_or_create(&path).unwrap();
        assert_eq!(
            std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
        assert_eq!(
            PolicySigner::load_or_create(&path).unwrap().key(),
            made.key()
        );
        assert_eq!(PolicySigner::load(&path).unwrap().key(), made.key());
        let statement = Statement::about("policy/demo", b"x", predicate::POLICY);
        made.sign(&statement).unwrap().verify(&made.key()).unwrap();
    }

    // Catches a public key that is read as another, or a file that is taken for one.
    #[test]
    fn a_public_key_is_read_and_a_private_one_only_by_its_owner() {
        use base64::Engine as _;
        let dir = tempfile::tempdir().unwrap();
        let (private, public) = (dir.path().join("private"), dir.path().join("public"));
        let key = PolicySigner::load_or_create(&private).unwrap().key();
        let der = base64::engine::general_purpose::STANDARD.encode(key.spki_der());
        let write = |body: &str| {
            let text = format!("-----BEGIN PUBLIC KEY-----\n{body}\n-----END PUBLIC KEY-----\n");
            std::fs::write(&public, text).unwrap();
        };
        write(&der);
        assert_eq!(public_key_of(&private).unwrap(), key);
        assert_eq!(public_key_of(&public).unwrap(), key);
        assert_eq!(read_public_key(&public).unwrap(), key);
        let refused = read_public_key(&private).unwrap_err().to_string();
        assert!(refused.contains("private key"), "{refused}");
        write(&der[4..]);
        assert!(read_public_key(&public).is_err());
        std::fs::write(&public, "hello").unwrap();
        assert!(read_public_key(&public).is_err());
        assert!(read_public_key(&dir.path().join("absent")).is_err());
        // I14: not a file at all, one without an end, and one without a beginning.
        for (path, why) in [
            (dir.path(), "directory"),
            (Path::new("/dev/zero"), "too long"),
            (Path::new("/dev/null"), "empty"),
        ] {
            let refused = read_public_key(path).unwrap_err().to_string();
            assert!(refused.contains(why), "{refused}");
        }
    }

    #[test]
    fn a_file_that_is_no_key_is_refused_and_kept() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("publisher.pem");
        std::fs::write(&path, "hello").unwrap();
        assert!(matches!(
            PolicySigner::load_or_create(&path),
            Err(RekorError::Key { .. })
        ));
        assert_eq!(std::fs::read(&path).unwrap(), b"hello");
        assert!(PolicySigner::load(&dir.path().join("absent")).is_err());
    }
}
