//! P-256 signatures over a digest or a message.

use p256::ecdsa::signature::hazmat::PrehashVerifier as _;
use p256::ecdsa::{Signature, VerifyingKey};

/// True if `signature` (ASN.1 DER) over a 32-byte `digest` verifies under `key`, a SEC 1 point.
/// Anything malformed is false.
pub(crate) fn p256_over_digest(key: &[u8], digest: &[u8], signature: &[u8]) -> bool {
    let (Ok(key), Ok(signature)) = (
        VerifyingKey::from_sec1_bytes(key),
        Signature::from_der(signature),
    ) else {
        return false;
    };
    digest.len() == 32 && key.verify_prehash(digest, &signature).is_ok()
}
