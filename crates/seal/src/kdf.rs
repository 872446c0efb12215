//! The one key derivation: HKDF-SHA256 with length-prefixed labels.

use ring::hmac;
use siegel_ident::{ClusterId, EpochId, PolicyDigest, Secret, Step, Transcript};
use zeroize::Zeroizing;

use crate::Suite;

/// Derives 32 bytes from a secret; `info` names what for.
///
/// HKDF-SHA256 (RFC 5869) with the salt "siegel/hkdf/v1", one block of output, written with HMAC
/// so that it cannot fail.
pub fn derive(secret: &Secret<32>, info: &Transcript) -> Secret<32> {
    let salt = hmac::Key::new(hmac::HMAC_SHA256, b"siegel/hkdf/v1");
    let extracted = hmac::sign(&salt, secret.expose());
    let mut expand =
        hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA256, extracted.as_ref()));
    expand.update(info.as_bytes());
    expand.update(&[1]);
    let mut out = Zeroizing::new([0u8; 32]);
    out.copy_from_slice(expand.sign().as_ref());
    Secret::new(*out)
}

/// What a key of an epoch is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EpochPurpose {
    /// The KEM key that clients seal uploads to.
    Upload,
}

impl EpochPurpose {
    /// The name in labels.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Upload => "upload",
        }
    }
}

/// Everything that a key of an epoch depends on besides the epoch's secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EpochLabel<'a> {
    /// "production" or "simulation": a simulated key is never a production key (I11).
    pub profile: &'a str,
    /// Whose epoch.
    pub cluster: ClusterId,
    /// Which epoch.
    pub epoch: EpochId,
    /// The policy that the key serves, and no other (I3).
    pub policy: PolicyDigest,
    /// What for.
    pub purpose: EpochPurpose,
    /// For which KEM.
    pub suite: Suite,
}

/// The input of [`crate::derive_kem`] for one (epoch, policy, purpose, suite).
pub fn epoch_key(secret: &Secret<32>, label: &EpochLabel<'_>) -> Secret<32> {
    let info = Transcript::new("siegel/kdf/epoch/v1")
        .field(label.profile.as_bytes())
        .field(label.cluster.as_bytes())
        .u64(label.epoch.0)
        .field(label.policy.as_bytes())
        .field(label.purpose.as_str().as_bytes())
        .u64(label.suite.number().into());
    derive(secret, &info)
}

/// What a key of a run is for, and which role holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunPurpose {
    /// Root: the noise of mechanisms.
    Noise,
    /// Root: the key that wraps checkpoints.
    Checkpoint,
    /// Worker: the keyed hash of privacy ids.
    Index,
    /// KMS only: the KEM key of sealed releases.
    Release,
}

impl RunPurpose {
    const fn role_and_name(self) -> (&'static str, &'static str) {
        match self {
            Self::Noise => ("root", "noise"),
            Self::Checkpoint => ("root", "checkpoint"),
            Self::Index => ("worker", "index"),
            Self::Release => ("kms", "release"),
        }
    }
}

/// A key of a run as a whole, from the run secret (in the KMS). It depends on nothing random but
/// the secret, so that the same secret gives the same bytes (I7).
pub fn run_key(secret: &Secret<32>, purpose: RunPurpose) -> Secret<32> {
    chunk_key(secret, purpose, Step(0), 0, 0)
}

/// A key of one chunk of one tensor of one step, from a key of the run (in the root).
pub fn chunk_key(
    secret: &Secret<32>,
    purpose: RunPurpose,
    step: Step,
    tensor: u64,
    chunk: u64,
) -> Secret<32> {
    let (role, name) = purpose.role_and_name();
    let info = Transcript::new("siegel/kdf/run/v1")
        .field(role.as_bytes())
        .field(name.as_bytes())
        .u64(step.0)
        .u64(tensor)
        .u64(chunk);
    derive(secret, &info)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn label() -> EpochLabel<'static> {
        EpochLabel {
            profile: "simulation",
            cluster: ClusterId::from_bytes([1; 32]),
            epoch: EpochId(7),
            policy: PolicyDigest::from_bytes([2; 32]),
            purpose: EpochPurpose::Upload,
            suite: Suite::X25519,
        }
    }

    fn hex(key: &Secret<32>) -> String {
        hex::encode(key.expose())
    }

    // Computed apart from this code (HMAC of Python's standard library). Catches any change of
    // salt, label, order or encoding, which would make every stored upload unreadable (I7).
    #[test]
    fn golden_vectors() {
        let secret = Secret::new([3; 32]);
        assert_eq!(
            hex(&derive(&secret, &Transcript::new("siegel/test/v1"))),
            "9e73ad2424e1188f524c327072fe02b5f5248b11e156b73a5dd5f9aa83d8c61a"
        );
        assert_eq!(
            hex(&epoch_key(&secret, &label())),
            "64d75d87f7071e6bff9a5e44e0ddd16990b9bc5855d882457fcea81064188cc4"
        );
        assert_eq!(
            hex(&run_key(&secret, RunPurpose::Noise)),
            "ebe88b314ad9459f31527db7752cf5a83f066ff8e434a45c457e29b7794c4df6"
        );
        assert_eq!(
            hex(&chunk_key(&secret, RunPurpose::Noise, Step(1), 2, 3)),
            "4a0aafdfd4c72fd903cabaf5f547a21ef4d0633088ffa5d841f4849523e5fb65"
        );
    }

    // I3, I11: catches a field that is left out of the label.
    #[test]
    fn every_field_of_an_epoch_label_matters() {
        let secret = Secret::new([3; 32]);
        let base = label();
        let others = [
            EpochLabel {
                profile: "production",
                ..base
            },
            EpochLabel {
                cluster: ClusterId::from_bytes([9; 32]),
                ..base
            },
            EpochLabel {
                epoch: EpochId(8),
                ..base
            },
            EpochLabel {
                policy: PolicyDigest::from_bytes([9; 32]),
                ..base
            },
            EpochLabel {
                suite: Suite::XWing,
                ..base
            },
        ];
        let key = epoch_key(&secret, &base);
        for other in others {
            assert!(!epoch_key(&secret, &other).same(&key), "{other:?}");
        }
        assert!(!epoch_key(&Secret::new([4; 32]), &base).same(&key));
    }

    // Catches two purposes, steps, tensors or chunks that share a key: noise would repeat.
    #[test]
    fn keys_of_a_run_are_all_different() {
        let secret = Secret::new([3; 32]);
        let mut seen = std::collections::BTreeSet::new();
        let purposes = [
            RunPurpose::Noise,
            RunPurpose::Checkpoint,
            RunPurpose::Index,
            RunPurpose::Release,
        ];
        for purpose in purposes {
            for (step, tensor, chunk) in [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1)] {
                let key = chunk_key(&secret, purpose, Step(step), tensor, chunk);
                assert!(
                    seen.insert(*key.expose()),
                    "{purpose:?} {step} {tensor} {chunk}"
                );
            }
        }
    }
}
