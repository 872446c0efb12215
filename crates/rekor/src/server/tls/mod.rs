//! Connections over TLS. Handshakes go on beside each other: who connects and is silent holds up nobody
//! (I14).

mod identity;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConfig;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

pub(super) use identity::LOOK;
pub use identity::{TlsFileError, TlsIdentity};

/// Bounds on handshakes that are not done.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    /// How long one may take.
    time: Duration,
    /// How many there may be. One more, and the oldest ends: to keep others out, somebody must be faster
    /// than a handshake, not only silent.
    most: usize,
}

impl Bounds {
    const OURS: Self = Self {
        time: Duration::from_secs(10),
        most: 256,
    };
}

/// The first byte of every TLS connection: a handshake record.
const HANDSHAKE: u8 = 0x16;
/// Told to who speaks HTTP here: they would see a broken connection otherwise.
const WRONG_SCHEME: &str = "{\"code\":3,\"message\":\"this port speaks TLS: use https://\"}\n";
/// How much of a plain request is taken in, so that its sender comes to read the answer.
const MAX_PLAIN: u64 = 64 * 1024;

/// Accepts connections whose handshake is done.
pub(super) struct TlsListener {
    tcp: TcpListener,
    acceptor: TlsAcceptor,
    bounds: Bounds,
    pending: JoinSet<Option<(TlsStream<TcpStream>, SocketAddr)>>,
    by_age: VecDeque<AbortHandle>,
}

impl TlsListener {
    pub(super) fn new(tcp: TcpListener, config: Arc<ServerConfig>) -> Self {
        Self::bounded(tcp, config, Bounds::OURS)
    }

    fn bounded(tcp: TcpListener, config: Arc<ServerConfig>, bounds: Bounds) -> Self {
        Self {
            tcp,
            acceptor: TlsAcceptor::from(config),
            bounds,
            pending: JoinSet::new(),
            by_age: VecDeque::new(),
        }
    }

    fn begin(&mut self, stream: TcpStream, from: SocketAddr) {
        self.by_age.retain(|handshake| !handshake.is_finished());
        if self.by_age.len() >= self.bounds.most
            && let Some(oldest) = self.by_age.pop_front()
        {
            oldest.abort();
        }
        let handshake = handshake(self.acceptor.clone(), stream);
        let limit = self.bounds.time;
        let begun = self.pending.spawn(async move {
            // Who breaks off, is too slow, or does not believe the certificate, is no failure of ours.
            let stream = tokio::time::timeout(limit, handshake).await.ok()?.ok()??;
            Some((stream, from))
        });
        self.by_age.push_back(begun);
    }
}

impl axum::serve::Listener for TlsListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            tokio::select! {
                Some(done) = self.pending.join_next() => if let Ok(Some(done)) = done {
                    return done;
                },
                (stream, from) = axum::serve::Listener::accept(&mut self.tcp) => self.begin(stream, from),
            }
        }
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.tcp.local_addr()
    }
}

/// The connection, or nothing if it was not TLS.
async fn handshake(
    acceptor: TlsAcceptor,
    stream: TcpStream,
) -> io::Result<Option<TlsStream<TcpStream>>> {
    let mut first = [0; 1];
    if stream.peek(&mut first).await? == 0 {
        return Ok(None);
    }
    let [first] = first;
    if first.is_ascii_uppercase() {
        answer_plain(stream).await?;
        return Ok(None);
    }
    if first != HANDSHAKE {
        return Ok(None);
    }
    stream.set_nodelay(true)?;
    acceptor.accept(stream).await.map(Some)
}

/// A method begins with a capital letter: whatever was asked, the answer is where to ask it.
async fn answer_plain(mut stream: TcpStream) -> io::Result<()> {
    let length = WRONG_SCHEME.len();
    let answer = format!(
        "HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\
         connection: close\r\n\r\n{WRONG_SCHEME}"
    );
    stream.write_all(answer.as_bytes()).await?;
    stream.shutdown().await?;
    tokio::io::copy(&mut stream.take(MAX_PLAIN), &mut tokio::io::sink()).await?;
    Ok(())
}
