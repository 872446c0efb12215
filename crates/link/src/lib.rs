//! Sessions over tonic streams, endpoints, and the thin client of the depot.
//!
//! The shell around crate `session`: it moves frames, asks the platform for quotes and keeps
//! deadlines. It decides nothing about trust.

pub mod depot;
mod endpoint;
mod error;
mod incoming;
mod life;
mod net;
mod open;
mod pipes;
mod purpose;
mod refusal;
mod serve;
mod stream;
#[cfg(test)]
mod tests;

pub use endpoint::{Endpoint, EndpointParseError, PipeName};
pub use error::LinkError;
pub use incoming::{Incoming, Io};
pub use net::{CONNECT_TIMEOUT, Net, server};
pub use open::{HANDSHAKE_TIMEOUT, dial};
pub use pipes::Pipes;
pub use refusal::{Refusal, refusal, refusal_to_status, status_to_refusal};
pub use serve::{Acceptor, HANDSHAKES_MAX, LinkService};
pub use stream::{SessionReceiver, SessionSender, SessionStream};
