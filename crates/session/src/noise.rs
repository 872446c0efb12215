//! Noise XX by `snow`, with its randomness passed in (I15).

use std::sync::Mutex;

use rand_core::CryptoRng;
use siegel_ident::Secret;
use snow::params::{CipherChoice, DHChoice, HashChoice};
use snow::resolvers::{CryptoResolver, DefaultResolver, RingResolver};
use snow::types::{Cipher, Dh, Hash, Random};
use snow::{Builder, HandshakeState};

use crate::expect::Side;
use crate::purpose::prologue;
use crate::{Purpose, SessionError};

const PATTERN: &str = "Noise_XX_25519_AESGCM_SHA256";

/// Starts a handshake with fresh static and ephemeral keys from `rng`. The prologue binds the
/// protocol version and the purpose, if the dialling side named one in the clear: a network that
/// changes it gets no channel.
pub(crate) fn start(
    side: Side,
    purpose: Option<&Purpose>,
    rng: &mut impl CryptoRng,
) -> Result<HandshakeState, SessionError> {
    let mut draw = || {
        let mut bytes = [0u8; 32];
        rng.fill_bytes(&mut bytes);
        Secret::new(bytes)
    };
    let (static_key, ephemeral) = (draw(), draw());
    let resolver = OneKey(Mutex::new(Some(ephemeral)));
    let prologue = prologue(purpose);
    let params = PATTERN.parse().map_err(|e| broken("pattern", e))?;
    let builder = Builder::with_resolver(params, Box::new(resolver))
        .prologue(prologue.as_bytes())
        .and_then(|b| b.local_private_key(static_key.expose()))
        .map_err(|e| broken("builder", e))?;
    match side {
        Side::Initiator => builder.build_initiator(),
        Side::Responder => builder.build_responder(),
    }
    .map_err(|e| broken("start", e))
}

fn broken(what: &'static str, _: snow::Error) -> SessionError {
    SessionError::Crypto { what }
}

/// AES-GCM and SHA-256 are `ring`'s, X25519 is `curve25519-dalek`'s (`ring` keeps its private keys
/// to itself). Noise XX draws exactly one ephemeral key, so the "RNG" that `snow` gets holds exactly one.
struct OneKey(Mutex<Option<Secret<32>>>);

impl CryptoResolver for OneKey {
    fn resolve_rng(&self) -> Option<Box<dyn Random>> {
        let key = self.0.lock().ok()?.take()?;
        Some(Box::new(Once(Some(key))))
    }
    fn resolve_dh(&self, choice: &DHChoice) -> Option<Box<dyn Dh>> {
        DefaultResolver.resolve_dh(choice)
    }
    fn resolve_hash(&self, choice: &HashChoice) -> Option<Box<dyn Hash>> {
        RingResolver.resolve_hash(choice)
    }
    fn resolve_cipher(&self, choice: &CipherChoice) -> Option<Box<dyn Cipher>> {
        RingResolver.resolve_cipher(choice)
    }
}

struct Once(Option<Secret<32>>);

impl Random for Once {
    fn try_fill_bytes(&mut self, dest: &mut [u8]) -> Result<(), snow::Error> {
        let key = self.0.take().ok_or(snow::Error::Rng)?;
        match <&mut [u8; 32]>::try_from(dest) {
            Ok(dest) => {
                dest.copy_from_slice(key.expose());
                Ok(())
            }
            Err(_) => Err(snow::Error::Rng),
        }
    }
}
