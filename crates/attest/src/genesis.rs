//! The birth certificate of a key cluster.

use serde::{Deserialize, Serialize};
use siegel_ident::ClusterId;

use crate::ClusterConfig;
use crate::document::{self, Document, DocumentError, require};

/// Length of the cluster key: an uncompressed P-256 point.
pub const CLUSTER_KEY_LEN: usize = 65;

/// Genesis: a cluster configuration, a random value and the cluster's key. The SHA-256 of its
/// bytes is the cluster id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Genesis {
    /// `siegel/genesis/v1`.
    pub schema: String,
    /// Makes the cluster id unique.
    #[serde(with = "siegel_ident::hex_serde")]
    pub random: [u8; 32],
    /// P-256 public key that signs bundles and receipts: uncompressed point, 65 bytes.
    #[serde(with = "siegel_ident::hex_serde")]
    pub cluster_key: [u8; CLUSTER_KEY_LEN],
    /// What each member was started with.
    pub config: ClusterConfig,
}

impl Genesis {
    /// The value of `schema`.
    pub const SCHEMA: &'static str = "siegel/genesis/v1";

    /// Reads exactly the canonical bytes.
    pub fn parse(bytes: &[u8]) -> Result<Self, DocumentError> {
        document::parse(bytes)
    }

    /// The canonical bytes; refuses a genesis that would not parse.
    pub fn to_bytes(&self) -> Result<Vec<u8>, DocumentError> {
        document::to_bytes(self)
    }

    /// The id of the cluster: SHA-256 of the canonical bytes, which are the only ones that parse
    /// (I2).
    pub fn cluster_id(&self) -> Result<ClusterId, DocumentError> {
        Ok(ClusterId::of(&self.to_bytes()?))
    }
}

impl Document for Genesis {
    const SCHEMA: &'static str = Self::SCHEMA;

    fn schema(&self) -> &str {
        &self.schema
    }

    fn check(&self) -> Result<(), DocumentError> {
        require::<Self>(
            self.cluster_key.first() == Some(&4),
            "cluster_key",
            "must be an uncompressed P-256 point",
        )?;
        self.config.check()
    }
}
