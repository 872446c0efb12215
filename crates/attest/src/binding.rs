//! What evidence binds: the keys, the role, the configuration and what makes it fresh.

use std::fmt;

use siegel_ident::{ClusterId, ConfigDigest, Digest, Transcript};

use crate::Refusal;

/// Length of report data in bytes: what SNP, TDX and the simulator carry.
pub const REPORT_DATA_LEN: usize = 64;
/// Length of a challenge in bytes.
pub const CHALLENGE_LEN: usize = 32;
/// Most bytes of a KEM key with its suite (X-Wing has 1,218).
pub const KEM_KEY_MAX: usize = 4096;

/// What a piece of evidence is presented as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// A KMS node on a session.
    KmsPeer,
    /// A KMS node vouching, offline, for the cluster key and one epoch key.
    KmsBundle,
    /// The root of runs.
    Root,
    /// A worker.
    Worker,
}

impl Role {
    /// Every role.
    pub const ALL: [Self; 4] = [Self::KmsPeer, Self::KmsBundle, Self::Root, Self::Worker];

    /// The word that is hashed.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::KmsPeer => "kms-peer",
            Self::KmsBundle => "kms-bundle",
            Self::Root => "root",
            Self::Worker => "worker",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The fields that report data commits to. Every field has one meaning per role:
///
/// | role | signing key | deployment | challenge | checkpoint |
/// |---|---|---|---|---|
/// | `kms-peer` | per boot, Ed25519 (32) | cluster, empty before founding | peer's (32) | empty |
/// | `kms-bundle` | cluster key, P-256 point (65) | cluster | empty | log checkpoint |
/// | `root`, `worker` | per boot, Ed25519 (32) | cluster | the KMS's (32) | empty |
///
/// The KEM key is never empty: per boot on sessions, the epoch's in a bundle. A binding that
/// breaks the table has no report data, so it can be neither quoted nor appraised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// What the holder claims to be.
    pub role: Role,
    /// The cluster it belongs to or asks.
    pub deployment: Option<ClusterId>,
    /// Public signing key.
    pub signing_key: Vec<u8>,
    /// Public KEM key: suite (u16 big-endian) ‖ key.
    pub kem_key: Vec<u8>,
    /// The configuration it was started with. The evidence states it a second time where the
    /// platform has a field for it; the two must agree.
    pub config: ConfigDigest,
    /// Drawn by the other side, used once.
    pub challenge: Vec<u8>,
    /// SHA-256 of a log checkpoint, which dates evidence that is read offline.
    pub checkpoint: Option<Digest>,
}

impl Binding {
    /// SHA-512 over label and length-prefixed fields: what the platform is asked to quote.
    ///
    /// # Errors
    /// [`Refusal::Binding`] if the per-role table does not allow these fields.
    pub fn report_data(&self) -> Result<[u8; REPORT_DATA_LEN], Refusal> {
        self.check_table()?;
        let hashed = ring::digest::digest(&ring::digest::SHA512, &self.transcript());
        let mut out = [0u8; REPORT_DATA_LEN];
        out.copy_from_slice(hashed.as_ref());
        Ok(out)
    }

    fn transcript(&self) -> Vec<u8> {
        Transcript::new("siegel/report-data/v1")
            .field(self.role.as_str().as_bytes())
            .field(
                self.deployment
                    .as_ref()
                    .map_or(&[], |d| d.as_bytes().as_slice()),
            )
            .field(&self.signing_key)
            .field(&self.kem_key)
            .field(self.config.as_bytes())
            .field(&self.challenge)
            .field(
                self.checkpoint
                    .as_ref()
                    .map_or(&[], |c| c.as_bytes().as_slice()),
            )
            .into_bytes()
    }

    fn check_table(&self) -> Result<(), Refusal> {
        let bundle = self.role == Role::KmsBundle;
        let (key_len, challenge_len) = if bundle {
            (crate::CLUSTER_KEY_LEN, 0)
        } else {
            (32, CHALLENGE_LEN)
        };
        self.require(self.signing_key.len() == key_len, "signing_key")?;
        self.require((3..=KEM_KEY_MAX).contains(&self.kem_key.len()), "kem_key")?;
        self.require(
            self.deployment.is_some() || self.role == Role::KmsPeer,
            "deployment",
        )?;
        self.require(self.challenge.len() == challenge_len, "challenge")?;
        self.require(self.checkpoint.is_some() == bundle, "checkpoint")
    }

    fn require(&self, good: bool, field: &'static str) -> Result<(), Refusal> {
        if good {
            Ok(())
        } else {
            Err(Refusal::Binding {
                role: self.role,
                field,
            })
        }
    }
}

#[cfg(test)]
mod tests;
