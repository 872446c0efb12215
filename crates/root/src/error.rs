//! Why a root process could not start or go on.

use siegel_attest::DocumentError;
use siegel_keys::KeysError;
use siegel_link::{EndpointParseError, LinkError};

/// What ends a root process. What a single run may meet is in its `failed` event.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RootError {
    /// The measured configuration is not a root configuration.
    #[error("configuration: {0}")]
    Config(#[from] DocumentError),
    /// An address in the start message does not parse.
    #[error("placement: {0}")]
    Placement(#[from] EndpointParseError),
    /// No worker is placed: no block could ever be summed.
    #[error("placement names no worker; start at least one")]
    NoWorkers,
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
