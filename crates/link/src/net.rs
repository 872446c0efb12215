//! Channels to endpoints, and listening on them.

use std::time::Duration;

use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tonic::transport::{Channel, Server};

use crate::incoming::Listener;
use crate::{Endpoint, Incoming, Io, LinkError, Pipes};

/// How long a connection may take to be made.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// How often a silent connection is probed, and how long the probe may take.
const KEEPALIVE: Duration = Duration::from_secs(5);
/// HTTP/2 flow control windows.
const STREAM_WINDOW: u32 = 1 << 20;
const CONNECTION_WINDOW: u32 = 4 << 20;
/// Streams per connection.
const STREAMS_MAX: u32 = 1024;

/// The network as a node sees it: TCP, and the pipes of its own process.
#[derive(Clone, Default)]
pub struct Net {
    /// Shared by all nodes of an in-process run; empty otherwise.
    pub pipes: Pipes,
}

impl Net {
    /// TCP, and pipes that nobody else knows.
    pub fn new() -> Self {
        Self::default()
    }

    /// TCP, and these pipes.
    pub fn with_pipes(pipes: Pipes) -> Self {
        Self { pipes }
    }

    /// A channel that connects at its first call and again after each failure. A peer that dies
    /// or hangs is noticed within twice the keepalive of 5 s.
    pub fn channel(&self, endpoint: &Endpoint) -> Channel {
        let (pipes, to) = (self.pipes.clone(), endpoint.clone());
        let connector = tower::service_fn(move |_| {
            let (pipes, to) = (pipes.clone(), to.clone());
            async move { connect(&pipes, &to).await.map(TokioIo::new) }
        });
        // The URI only fills HTTP/2's authority; the connector knows where to go.
        Channel::from_static("http://siegel.invalid")
            .connect_timeout(CONNECT_TIMEOUT)
            .http2_keep_alive_interval(KEEPALIVE)
            .keep_alive_timeout(KEEPALIVE)
            .keep_alive_while_idle(true)
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .connect_with_connector_lazy(connector)
    }

    /// Listens. Returns the endpoint that others can connect to (the port filled in), and the
    /// connections for `server().add_service(…).serve_with_incoming(…)`.
    ///
    /// # Errors
    /// [`LinkError::Listen`], with the endpoint, when it is taken.
    pub async fn listen(&self, endpoint: &Endpoint) -> Result<(Endpoint, Incoming), LinkError> {
        let failed = |source| LinkError::Listen {
            endpoint: endpoint.clone(),
            source,
        };
        match endpoint {
            Endpoint::Tcp(address) => {
                let listener = TcpListener::bind(address).await.map_err(failed)?;
                let actual = listener.local_addr().map_err(failed)?;
                Ok((Endpoint::Tcp(actual), Incoming(Listener::Tcp(listener))))
            }
            Endpoint::Pipe(name) => {
                let pipe = self.pipes.listen(name).map_err(failed)?;
                Ok((endpoint.clone(), Incoming(Listener::Pipe(pipe))))
            }
        }
    }
}

/// A server with the same keepalive and windows as the channels.
pub fn server() -> Server {
    Server::builder()
        .http2_keepalive_interval(Some(KEEPALIVE))
        .http2_keepalive_timeout(Some(KEEPALIVE))
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_concurrent_streams(STREAMS_MAX)
}

async fn connect(pipes: &Pipes, endpoint: &Endpoint) -> std::io::Result<Io> {
    match endpoint {
        Endpoint::Tcp(address) => Io::tcp(TcpStream::connect(address).await?),
        Endpoint::Pipe(name) => pipes.connect(name).await.map(Io::Pipe),
    }
}
