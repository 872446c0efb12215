//! Why a KMS process could not start, or had to end.

use siegel_attest::DocumentError;
use siegel_ident::{NodeId, Timestamp};

use crate::founding::FoundingError;
use crate::node::NodeError;

/// The end of a KMS process. There is no way back: its keys are gone, and a new process is a new
/// member (I10).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KmsError {
    /// The configuration that the launcher gave does not parse.
    #[error("configuration of the KMS: {0}")]
    Config(#[from] DocumentError),
    /// Placement that makes no cluster.
    #[error("placement of the KMS: {0}")]
    Placement(String),
    /// The cluster could not be founded.
    #[error("founding: {0}")]
    Founding(#[from] FoundingError),
    /// The endpoint could not be opened, or broke.
    #[error("endpoint {endpoint}: {cause}")]
    Endpoint {
        /// Where.
        endpoint: String,
        /// What the system said.
        cause: String,
    },
    /// Own keys could not be made.
    #[error("per-boot keys: {0}")]
    Keys(String),
    /// The replica could not be started.
    #[error("replica: {0}")]
    Node(#[from] NodeError),
    /// The replica stopped: raft-rs found its own state inconsistent, and a node that doubts its
    /// state does not go on.
    #[error("node {0}: the replica stopped; its keys are gone, the others go on without it")]
    ReplicaStopped(NodeId),
    /// Keys expired, but no quorum agreed to erase them: the process ends, and they with it (I9).
    #[error(
        "node {node}: keys expired at {expired} and no quorum could erase them since; \
         the process ends, and its keys with it (I9)"
    )]
    ExpiredWithoutQuorum {
        /// This node.
        node: NodeId,
        /// When.
        expired: Timestamp,
    },
}
