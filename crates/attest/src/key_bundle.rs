//! The public key that clients encrypt to, and what it is for.

use ring::signature::{ECDSA_P256_SHA256_ASN1, UnparsedPublicKey};
use serde::{Deserialize, Serialize};
use siegel_ident::{ClusterId, Digest, EpochId, PolicyDigest, Timestamp, Transcript};

use crate::binding::{Binding, KEM_KEY_MAX, Role};
use crate::document::{self, Document, DocumentError, NUMBER_MAX, require};
use crate::genesis::{CLUSTER_KEY_LEN, Genesis};

/// One epoch's KEM key, signed by the cluster key; the evidence beside it binds both keys and the
/// log checkpoint ([`KeyBundle::binding`]).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyBundle {
    /// `siegel/key-bundle/v1`.
    pub schema: String,
    /// The cluster that holds the private half.
    pub cluster_id: ClusterId,
    /// The policy under which alone it is used.
    pub policy: PolicyDigest,
    /// The epoch.
    pub epoch: EpochId,
    /// KEM suite.
    pub suite: u16,
    /// KEM public key without its suite, of the length that the suite fixes.
    #[serde(with = "siegel_ident::hex_serde::vec")]
    pub kem_key: Vec<u8>,
    /// First second of use.
    pub not_before: Timestamp,
    /// First second of no use.
    pub expires: Timestamp,
    /// SHA-256 of the log checkpoint (signed note) that the evidence binds.
    pub checkpoint: Digest,
}

impl KeyBundle {
    /// The value of `schema`.
    pub const SCHEMA: &'static str = "siegel/key-bundle/v1";

    /// Reads exactly the canonical bytes. Says nothing about the signature: see
    /// [`KeyBundle::verify`].
    pub fn parse(bytes: &[u8]) -> Result<Self, DocumentError> {
        document::parse(bytes)
    }

    /// The canonical bytes; refuses a bundle that would not parse.
    pub fn to_bytes(&self) -> Result<Vec<u8>, DocumentError> {
        document::to_bytes(self)
    }

    /// What the cluster key signs (ECDSA P-256, SHA-256, DER) for these exact bundle bytes (I2).
    pub fn signing_bytes(bytes: &[u8]) -> Vec<u8> {
        Transcript::new(Self::SCHEMA).field(bytes).into_bytes()
    }

    /// Checks the cluster key's signature over these exact bundle bytes.
    pub fn verify_signature(
        bytes: &[u8],
        signature: &[u8],
        cluster_key: &[u8; CLUSTER_KEY_LEN],
    ) -> Result<(), DocumentError> {
        UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, cluster_key)
            .verify(&Self::signing_bytes(bytes), signature)
            .map_err(|_| DocumentError::Signature {
                document: Self::SCHEMA,
            })
    }

    /// Signature first, then shape, then that it names this very cluster. The client still checks
    /// policy, window and evidence (I1).
    pub fn verify(
        bytes: &[u8],
        signature: &[u8],
        genesis: &Genesis,
    ) -> Result<Self, DocumentError> {
        Self::verify_signature(bytes, signature, &genesis.cluster_key)?;
        let bundle = Self::parse(bytes)?;
        require::<Self>(
            bundle.cluster_id == genesis.cluster_id()?,
            "cluster_id",
            "names another cluster than this genesis",
        )?;
        Ok(bundle)
    }

    /// What the evidence beside this bundle must bind: role `kms-bundle`, the cluster key as
    /// signing key, this KEM key with its suite, the cluster's configuration, this checkpoint.
    /// Both the quoting KMS and the appraising client use this one function.
    pub fn binding(&self, genesis: &Genesis) -> Result<Binding, DocumentError> {
        let mut kem_key = self.suite.to_be_bytes().to_vec();
        kem_key.extend_from_slice(&self.kem_key);
        Ok(Binding {
            role: Role::KmsBundle,
            deployment: Some(self.cluster_id),
            signing_key: genesis.cluster_key.to_vec(),
            kem_key,
            config: genesis.config.digest()?,
            challenge: Vec::new(),
            checkpoint: Some(self.checkpoint),
        })
    }

    /// True while the key may be encrypted to: `not_before ≤ now < expires` (I9).
    pub fn in_use(&self, now: Timestamp) -> bool {
        self.not_before <= now && now < self.expires
    }
}

impl Document for KeyBundle {
    const SCHEMA: &'static str = Self::SCHEMA;

    fn schema(&self) -> &str {
        &self.schema
    }

    fn check(&self) -> Result<(), DocumentError> {
        require::<Self>(
            (1..=KEM_KEY_MAX - 2).contains(&self.kem_key.len()),
            "kem_key",
            "must have 1 to 4094 bytes",
        )?;
        require::<Self>(
            (1..=NUMBER_MAX).contains(&self.epoch.0),
            "epoch",
            "must be counted from 1 and stay below 2^53",
        )?;
        require::<Self>(
            self.not_before < self.expires && self.expires.0 <= NUMBER_MAX,
            "expires",
            "must lie after not_before and below 2^53",
        )
    }
}
