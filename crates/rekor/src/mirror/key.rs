//! A mirror's own key.

use std::path::Path;

use ring::signature::{Ed25519KeyPair, KeyPair as _};
use siegel_ident::{NamedKey, Secret};
use siegel_translog::Archived;

use crate::error::RekorError;
use crate::pem;

/// Name and key. No `Debug`: it holds the private key.
pub(super) struct MirrorKey {
    name: String,
    pair: Ed25519KeyPair,
    public: [u8; 32],
}

impl MirrorKey {
    /// What stands in the key file.
    pub(super) const LABEL: &'static str = "SIEGEL MIRROR SEED";

    pub(super) fn new(name: &str, path: &Path, seed: &Secret<32>) -> Result<Self, RekorError> {
        let bad = || pem::wrong(path, "not an Ed25519 seed");
        let pair = Ed25519KeyPair::from_seed_unchecked(seed.expose()).map_err(|_| bad())?;
        let public = pair.public_key().as_ref().try_into().map_err(|_| bad())?;
        let name = name.to_owned();
        Ok(Self { name, pair, public })
    }

    /// The public key under its name.
    pub(super) fn named(&self, operator: &str) -> NamedKey {
        NamedKey {
            name: self.name.clone(),
            operator: operator.to_owned(),
            key: self.public,
        }
    }

    /// The signed note.
    pub(super) fn sign(&self, said: &Archived) -> String {
        let mut signature = [0; 64];
        signature.copy_from_slice(self.pair.sign(said.text().as_bytes()).as_ref());
        said.to_note(&self.named(""), &signature)
    }
}
