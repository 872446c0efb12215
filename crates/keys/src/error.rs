//! Why the key service gave nothing.

use std::time::Duration;

use siegel_ident::NodeId;
use siegel_link::{EndpointParseError, LinkError, Refusal};
use siegel_policy::{NotAllowed, PolicyError, RunParametersError};
use siegel_seal::OpenError;
use siegel_session::SessionError;

/// A request that was not answered, was refused, or was answered with something unusable.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeysError {
    /// No node acted as leader in time. Without a quorum the service gives nothing (I9). Retry
    /// later under the same request id; if the quorum is lost for good, so are its keys (I10).
    #[error(
        "no quorum of the key service answered within {} s: asked nodes {}; last: {last}",
        waited.as_secs(),
        asked.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    )]
    NoQuorum {
        /// The nodes that were asked, in order, each once.
        asked: Vec<NodeId>,
        /// How long in all.
        waited: Duration,
        /// What the last of them said, or why it said nothing.
        last: String,
    },
    /// A replaced node is not a full member yet.
    #[error("place {place} of the key service has not caught up after {} s: {missing}", waited.as_secs())]
    NotCaughtUp {
        /// The place.
        place: NodeId,
        /// How long.
        waited: Duration,
        /// What was missing last.
        missing: String,
    },
    /// The leader refused; asking again will not help.
    #[error("the key service refused: {} ({}): {}", .0.code, .0.r#where, .0.message)]
    Refused(Box<Refusal>),
    /// No node is what this process must talk to: other measurement, configuration or cluster.
    #[error("node {node} of the key service is not trusted: {source}")]
    NotTrusted {
        /// The last node that was dialled.
        node: NodeId,
        /// Why it was not believed.
        source: LinkError,
    },
    /// The session or call failed in a way that another node will not heal.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// An answer of another kind, or with a field that has no valid value.
    #[error("the key service answered with an unusable {what}")]
    BadReply {
        /// Which field or message.
        what: &'static str,
    },
    /// A sealed grant that does not open with this process's key, run and role.
    #[error("the sealed grant does not open: {0}")]
    Grant(#[from] OpenError),
    /// The policy in a grant does not parse.
    #[error("policy in the grant: {0}")]
    Policy(#[from] PolicyError),
    /// The parameters in a grant do not parse.
    #[error("parameters in the grant: {0}")]
    Parameters(#[from] RunParametersError),
    /// The policy in a grant is not for this cluster, program or suite (I3).
    #[error("the grant's policy does not allow this run: {0}")]
    NotAllowed(#[from] NotAllowed),
    /// A node that was authenticated without naming a cluster.
    #[error("the key service node belongs to no cluster")]
    NoCluster,
    /// No node is configured, or one number stands twice.
    #[error("the list of key service nodes is empty or names a node twice")]
    Nodes,
    /// The address of a node does not parse.
    #[error(transparent)]
    Endpoint(#[from] EndpointParseError),
    /// The per-boot keys could not be made, or the own configuration is not valid.
    #[error("per-boot keys: {0}")]
    Boot(#[from] SessionError),
}
