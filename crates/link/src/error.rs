//! What can go wrong between two processes.

use std::time::Duration;

use siegel_ident::Digest;
use siegel_platform::PlatformError;
use siegel_session::SessionError;
use tonic::{Code, Status};

use crate::{Endpoint, Refusal, status_to_refusal};

/// A call or a session that did not go.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LinkError {
    /// The address cannot be listened on.
    #[error("cannot listen on {endpoint}: {source}; is the port taken?")]
    Listen {
        /// The address.
        endpoint: Endpoint,
        /// The cause.
        source: std::io::Error,
    },
    /// The transport or the peer's server failed.
    #[error("rpc failed: {}: {}", .0.code(), .0.message())]
    Rpc(Box<Status>),
    /// The peer refused, and said why.
    #[error("refused: {} ({}): {}", .0.code, .0.r#where, .0.message)]
    Refused(Box<Refusal>),
    /// The channel is not what it should be; dial again, or stop.
    #[error("session: {0}")]
    Session(#[from] SessionError),
    /// The platform gave no evidence.
    #[error("no quote for the handshake: {0}")]
    Quote(#[from] PlatformError),
    /// The stream ended without the sealed goodbye.
    #[error("the stream was cut before the peer closed it")]
    Cut,
    /// Nothing came in time.
    #[error("no answer to {what} within {after:?}")]
    Timeout {
        /// What was waited for.
        what: &'static str,
        /// How long.
        after: Duration,
    },
    /// The peer names a purpose with a field that is absent or has no valid value, or names one too
    /// late.
    #[error("the purpose in the clear: field {field:?} is absent or has no valid value")]
    Purpose {
        /// Which field.
        field: &'static str,
    },
    /// The depot served other bytes than were asked for (I2).
    #[error("the depot served bytes with digest {found}, asked for {asked}")]
    OtherBytes {
        /// The digest asked for.
        asked: Digest,
        /// The digest of what came.
        found: Digest,
    },
    /// The depot served more than the caller allows (I14).
    #[error("the depot served more than the {max} {unit} allowed")]
    TooMuch {
        /// The bound.
        max: usize,
        /// "bytes" or "digests".
        unit: &'static str,
    },
    /// The depot's list is not strictly ascending SHA-256 digests.
    #[error("the depot's list is not in strictly ascending order of digests, at position {at}")]
    List {
        /// Position in the list, from 0.
        at: usize,
    },
}

impl LinkError {
    /// True if the same call may go on a new connection: the peer was away, not unwilling.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Cut | Self::Timeout { .. } => true,
            Self::Session(
                SessionError::NotFounded
                | SessionError::Exhausted { .. }
                | SessionError::Expired { .. },
            ) => true,
            Self::Rpc(status) => matches!(
                status.code(),
                Code::Unavailable | Code::Unknown | Code::Cancelled | Code::DeadlineExceeded
            ),
            _ => false,
        }
    }

    /// The same, or a connection that broke half-way: that comes as INTERNAL or ABORTED from the
    /// HTTP/2 layer. Whoever refuses with such a code says so in a typed refusal.
    pub fn is_away(&self) -> bool {
        let torn = |code| matches!(code, Code::Internal | Code::Aborted);
        self.is_transient() || matches!(self, Self::Rpc(status) if torn(status.code()))
    }
}

impl From<Status> for LinkError {
    fn from(status: Status) -> Self {
        match status_to_refusal(&status) {
            Some(refusal) => Self::Refused(Box::new(refusal)),
            None => Self::Rpc(Box::new(status)),
        }
    }
}
