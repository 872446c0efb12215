//! Accepted connections, TCP or pipe, as tonic wants them.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures::Stream;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tonic::transport::server::Connected;

/// Connections, for `serve_with_incoming`. Dropping it stops listening.
pub struct Incoming(pub(crate) Listener);

pub(crate) enum Listener {
    Tcp(TcpListener),
    Pipe(mpsc::Receiver<DuplexStream>),
}

/// One connection.
pub enum Io {
    /// Over TCP.
    Tcp(TcpStream),
    /// Inside the process.
    Pipe(DuplexStream),
}

impl Stream for Incoming {
    type Item = io::Result<Io>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(match &mut self.0 {
            Listener::Tcp(listener) => {
                let accepted = ready!(listener.poll_accept(cx));
                Some(accepted.and_then(|(stream, _)| Io::tcp(stream)))
            }
            Listener::Pipe(pipe) => ready!(pipe.poll_recv(cx)).map(|pipe| Ok(Io::Pipe(pipe))),
        })
    }
}

impl Io {
    /// Small frames go out at once.
    pub(crate) fn tcp(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        Ok(Self::Tcp(stream))
    }
}

impl Connected for Io {
    type ConnectInfo = ();
    fn connect_info(&self) {}
}

impl AsyncRead for Io {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(io) => Pin::new(io).poll_read(cx, buf),
            Self::Pipe(io) => Pin::new(io).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Io {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(io) => Pin::new(io).poll_write(cx, buf),
            Self::Pipe(io) => Pin::new(io).poll_write(cx, buf),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(io) => Pin::new(io).poll_flush(cx),
            Self::Pipe(io) => Pin::new(io).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(io) => Pin::new(io).poll_shutdown(cx),
            Self::Pipe(io) => Pin::new(io).poll_shutdown(cx),
        }
    }
}
