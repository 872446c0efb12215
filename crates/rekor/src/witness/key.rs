//! A witness' own key.

use std::path::Path;

use ring::signature::{Ed25519KeyPair, KeyPair as _};
use siegel_ident::{NamedKey, Secret, Timestamp};
use siegel_translog::cosignature;

use crate::error::RekorError;
use crate::pem;

/// Name and key. No `Debug`: it holds the private key.
pub(crate) struct WitnessKey {
    name: String,
    pair: Ed25519KeyPair,
    public: [u8; 32],
}

impl WitnessKey {
    /// What stands in the key file.
    pub(crate) const LABEL: &'static str = "SIEGEL WITNESS SEED";

    pub(crate) fn new(name: &str, path: &Path, seed: &Secret<32>) -> Result<Self, RekorError> {
        let bad = || pem::wrong(path, "not an Ed25519 seed");
        let pair = Ed25519KeyPair::from_seed_unchecked(seed.expose()).map_err(|_| bad())?;
        let public = pair.public_key().as_ref().try_into().map_err(|_| bad())?;
        let name = name.to_owned();
        Ok(Self { name, pair, public })
    }

    /// The public key under its name.
    pub(crate) fn named(&self, operator: &str) -> NamedKey {
        NamedKey {
            name: self.name.clone(),
            operator: operator.to_owned(),
            key: self.public,
        }
    }

    /// The signature line over a note's text.
    pub(crate) fn cosign(&self, note_text: &str, now: Timestamp) -> String {
        let signed = cosignature::signed_text(note_text, now);
        let mut signature = [0; 64];
        signature.copy_from_slice(self.pair.sign(signed.as_bytes()).as_ref());
        cosignature::line(&self.name, &self.public, now, &signature)
    }
}
