//! Why a KMS process could not start, or had to end.

use siegel_attest::DocumentError;
use siegel_ident::{NodeId, Timestamp};

use crate::founding::FoundingError;
use crate::joining::JoinError;
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
    /// No cluster let this process in.
    #[error("joining: {0}")]
    Joining(#[from] JoinError),
    /// The place of this process was given to another one (I10).
    #[error(
        "member {member} at place {place} was replaced while it was away or joining; \
         it is no member any more, and its keys end with it (I10)"
    )]
    Removed {
        /// Its id.
        member: NodeId,
        /// Its place.
        place: NodeId,
    },
    /// It was admitted, but the leader never brought it up to date.
    #[error(
        "member {member} was admitted, but heard nothing for {seconds} s and has no vote; start a new process to join again"
    )]
    LeftBehind {
        /// Its id.
        member: NodeId,
        /// How long.
        seconds: u64,
    },
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
