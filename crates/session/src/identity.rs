//! Who this process is, from boot to death.

use rand_core::CryptoRng;
use ring::signature::{Ed25519KeyPair, KeyPair};
use siegel_attest::{KEM_KEY_MAX, Role};
use siegel_ident::{ConfigDigest, Secret};

use crate::SessionError;

/// The public keys of a process, as a run record of the KMS names them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PeerKeys {
    /// Ed25519.
    pub signing_key: [u8; 32],
    /// KEM suite ‖ key.
    pub kem_key: Vec<u8>,
}

/// A process's per-boot keys, role and configuration. It lives in memory only and is made anew at
/// each start (I10). `ring` does not zeroise its key on drop (I13).
pub struct Identity {
    role: Role,
    signing: Ed25519KeyPair,
    signing_key: [u8; 32],
    kem_key: Vec<u8>,
    config: ConfigDigest,
}

impl Identity {
    /// Draws a signing key. `kem_key` is the public half (suite ‖ key) of the per-boot KEM key,
    /// whose private half stays with the caller; `config` is the digest that the platform put
    /// into the evidence.
    ///
    /// # Errors
    /// [`SessionError::Field`] for a role that has no sessions or a KEM key of impossible length.
    pub fn new(
        rng: &mut impl CryptoRng,
        role: Role,
        kem_key: Vec<u8>,
        config: ConfigDigest,
    ) -> Result<Self, SessionError> {
        if role == Role::KmsBundle {
            return Err(SessionError::Field { field: "role" });
        }
        if !(3..=KEM_KEY_MAX).contains(&kem_key.len()) {
            return Err(SessionError::Field { field: "kem_key" });
        }
        let mut seed = [0u8; 32];
        rng.fill_bytes(&mut seed);
        let seed = Secret::new(seed);
        let signing = Ed25519KeyPair::from_seed_unchecked(seed.expose()).map_err(|_| {
            SessionError::Crypto {
                what: "Ed25519 seed",
            }
        })?;
        let mut signing_key = [0u8; 32];
        signing_key.copy_from_slice(signing.public_key().as_ref());
        Ok(Self {
            role,
            signing,
            signing_key,
            kem_key,
            config,
        })
    }

    /// Its role.
    pub fn role(&self) -> Role {
        self.role
    }
    /// Its public signing key (Ed25519).
    pub fn signing_key(&self) -> &[u8; 32] {
        &self.signing_key
    }
    /// Its public KEM key: suite ‖ key.
    pub fn kem_key(&self) -> &[u8] {
        &self.kem_key
    }
    /// The digest of the configuration it was started with.
    pub fn config(&self) -> ConfigDigest {
        self.config
    }
    /// Both public keys.
    pub fn keys(&self) -> PeerKeys {
        PeerKeys {
            signing_key: self.signing_key,
            kem_key: self.kem_key.clone(),
        }
    }

    pub(crate) fn sign(&self, message: &[u8]) -> [u8; 64] {
        let mut out = [0u8; 64];
        out.copy_from_slice(self.signing.sign(message).as_ref());
        out
    }
}
