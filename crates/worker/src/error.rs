//! Why a worker could not start or go on.

use siegel_attest::DocumentError;
use siegel_keys::KeysError;
use siegel_link::{EndpointParseError, LinkError};

/// What ends a worker process. What a single request may run into is in the refusal that it gets.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkerError {
    /// The measured configuration is not a cluster configuration.
    #[error("configuration: {0}")]
    Config(#[from] DocumentError),
    /// An address in the start message does not parse.
    #[error("placement: {0}")]
    Placement(#[from] EndpointParseError),
    /// The client of the key service could not be made.
    #[error(transparent)]
    Keys(#[from] KeysError),
    /// The address cannot be listened on.
    #[error(transparent)]
    Listen(#[from] LinkError),
    /// The server stopped.
    #[error("the server stopped: {0}")]
    Server(String),
}
