//! The log's own Ed25519 key: it signs checkpoints.

use std::path::Path;

use ring::rand::{SecureRandom as _, SystemRandom};
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use siegel_ident::{Digest, Secret};
use siegel_translog::checkpoint::check_origin;
use siegel_translog::{Checkpoint, LogAnchors};

use crate::error::RekorError;
use crate::pem;

/// Name and key of a log. No `Debug`: it holds the private key.
pub struct LogKey {
    origin: String,
    pair: Ed25519KeyPair,
    public: [u8; 32],
}

impl LogKey {
    /// The key of a seed. `origin` is the log's name in its checkpoints: a scheme-less URL.
    ///
    /// # Errors
    /// [`RekorError::Proof`] for a name that no log can have.
    pub fn from_seed(origin: &str, seed: &Secret<32>) -> Result<Self, RekorError> {
        check_origin(origin)?;
        let bad = || RekorError::Key {
            path: origin.to_owned(),
            why: "not an Ed25519 seed",
        };
        let pair = Ed25519KeyPair::from_seed_unchecked(seed.expose()).map_err(|_| bad())?;
        let public = pair.public_key().as_ref().try_into().map_err(|_| bad())?;
        Ok(Self {
            origin: origin.to_owned(),
            pair,
            public,
        })
    }

    /// A fresh key that is written nowhere.
    ///
    /// # Errors
    /// As [`Self::from_seed`], and if the system has no randomness.
    pub fn generate(origin: &str) -> Result<Self, RekorError> {
        Self::from_seed(origin, &fresh_seed(origin)?)
    }

    /// Reads the key from a file, or makes one there (readable by its owner only).
    ///
    /// # Errors
    /// [`RekorError::Key`] for a file that holds no such key, [`RekorError::Io`].
    pub fn load_or_create(origin: &str, path: &Path) -> Result<Self, RekorError> {
        const LABEL: &str = "SIEGEL LOG SEED";
        if let Some(bytes) = pem::read(path, LABEL)? {
            let seed = Secret::try_from_slice(bytes.expose())
                .ok_or_else(|| pem::wrong(path, "expected a seed of 32 bytes"))?;
            return Self::from_seed(origin, &seed);
        }
        let seed = fresh_seed(origin)?;
        pem::create(path, LABEL, seed.expose())?;
        Self::from_seed(origin, &seed)
    }

    /// The log's name.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// The public key.
    pub fn public_key(&self) -> [u8; 32] {
        self.public
    }

    /// What a verifier would pin of the log alone: its key. Witnesses are for the verifier to add.
    pub fn anchors(&self) -> LogAnchors {
        LogAnchors::unwitnessed(&self.origin, self.public)
    }

    /// The signed note of a checkpoint.
    pub(crate) fn sign(&self, size: u64, root: Digest) -> String {
        let checkpoint = Checkpoint {
            origin: self.origin.clone(),
            size,
            root,
        };
        let signed = self.pair.sign(checkpoint.note_text().as_bytes());
        let mut signature = [0; 64];
        signature.copy_from_slice(signed.as_ref());
        checkpoint.to_note(&self.public, &signature)
    }
}

fn fresh_seed(origin: &str) -> Result<Secret<32>, RekorError> {
    let mut seed = [0; 32];
    SystemRandom::new()
        .fill(&mut seed)
        .map_err(|_| RekorError::Key {
            path: origin.to_owned(),
            why: "the system has no randomness",
        })?;
    Ok(Secret::new(seed))
}
