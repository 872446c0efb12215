//! The keys of one boot.

use std::sync::Arc;

use rand_core::CryptoRng;
use siegel_attest::Role;
use siegel_ident::ConfigDigest;
use siegel_seal::{KemPrivate, Suite, generate_kem};
use siegel_session::Identity;

use crate::KeysError;

/// A process's identity on sessions, and the private half of its KEM key (X-Wing). Made at start,
/// in memory only (I10).
pub struct BootKeys {
    identity: Arc<Identity>,
    kem: KemPrivate,
}

impl BootKeys {
    /// Draws both keys. `config` is the digest that the platform puts into the evidence.
    pub fn generate(
        rng: &mut impl CryptoRng,
        role: Role,
        config: ConfigDigest,
    ) -> Result<Self, KeysError> {
        let (kem, public) = generate_kem(Suite::XWing, rng);
        let identity = Identity::new(rng, role, public.to_bytes(), config)?;
        Ok(Self {
            identity: Arc::new(identity),
            kem,
        })
    }

    /// For sessions.
    pub fn identity(&self) -> &Arc<Identity> {
        &self.identity
    }

    /// Opens what is sealed to this process.
    pub fn kem(&self) -> &KemPrivate {
        &self.kem
    }
}
