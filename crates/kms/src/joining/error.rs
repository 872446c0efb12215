//! Why nobody let a process in.

use std::time::Duration;

use siegel_attest::DocumentError;
use siegel_ident::ClusterId;
use siegel_ident::lp::LpError;
use siegel_seal::OpenError;

/// Why a process did not become a member.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JoinError {
    /// The genesis does not parse.
    #[error("genesis: {0}")]
    Document(#[from] DocumentError),
    /// The genesis holds another configuration than this process was started with.
    #[error("the cluster has another configuration than this process was started with (I10)")]
    OtherConfig,
    /// Longer than any genesis.
    #[error("genesis of {0} bytes is too long")]
    TooLong(usize),
    /// Two nodes belong to two clusters, or a node and its own genesis do.
    #[error(
        "there is cluster {found} beside cluster {expected} at the places of one configuration; \
         this process joins neither (I10)"
    )]
    OtherCluster {
        /// The second one.
        found: ClusterId,
        /// The first one.
        expected: ClusterId,
    },
    /// Nobody let it in, in time.
    #[error("no cluster let this process in within {} s; last: {last}", waited.as_secs())]
    NoAnswer {
        /// How long.
        waited: Duration,
        /// What the last node said, or why it said nothing.
        last: String,
    },
    /// The leader refused for good.
    #[error("the leader refused: {code}: {message}")]
    Refused {
        /// Stable code.
        code: String,
        /// For people.
        message: String,
    },
    /// The sealed secrets do not open.
    #[error("the leader's secrets do not open: {0}")]
    Open(#[from] OpenError),
    /// The secrets are not what a leader sends.
    #[error("the leader's secrets are malformed: {0}")]
    Shape(#[from] LpError),
    /// A version of the message that this build does not know.
    #[error("the leader's secrets have version {0}")]
    Version(u8),
    /// Cluster key and genesis do not fit.
    #[error("the leader's secrets are of no cluster: {0}")]
    Cluster(String),
    /// The list of members does not have this process where it is.
    #[error("members: {0}")]
    Members(String),
}
