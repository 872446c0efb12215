//! A session on a stream.

use std::sync::Arc;
use std::time::Duration;

use siegel_platform::Platform;
use siegel_session::{Opened, Opener, Peer, Purpose, Sealer, Session, SessionError};
use siegel_wire::v1::Frame;
use tokio::sync::mpsc;
use tonic::{Status, Streaming};

use crate::LinkError;
use crate::life::Life;
use crate::open::HANDSHAKE_TIMEOUT;
use crate::purpose::{to_wire, unnamed};

/// Frames that wait for the network: at most 512 KiB per session.
pub(crate) const QUEUE: usize = 8;

/// Where frames go. `Err` ends the accepting side's stream with a status.
pub(crate) type FrameSink = mpsc::Sender<Result<Frame, Status>>;

/// An authenticated channel to one peer. Ends when dropped; [`SessionStream::close`] says goodbye
/// first, so that the peer can tell the end from a cut. It lives for an hour at most
/// ([`siegel_session::SESSION_LIFETIME`]); then a fresh one must be dialled.
pub struct SessionStream {
    sender: SessionSender,
    receiver: SessionReceiver,
    peer: Arc<Peer>,
    purpose: Option<Purpose>,
}

/// The sending half.
pub struct SessionSender {
    life: Arc<Life>,
    sealer: Sealer,
    sink: FrameSink,
    /// True while frames of a message are on their way: if the future is dropped then, the rest
    /// is lost, and with it the session.
    sending: bool,
}

/// The receiving half.
pub struct SessionReceiver {
    life: Arc<Life>,
    opener: Opener,
    frames: Streaming<Frame>,
    closed: bool,
}

impl SessionStream {
    pub(crate) fn new(
        platform: &Platform,
        session: Session,
        sink: FrameSink,
        frames: Streaming<Frame>,
        purpose: Option<Purpose>,
    ) -> Self {
        let life = Arc::new(Life::of(&session, platform.clock.clone()));
        let (sealer, opener, peer) = session.split();
        Self {
            sender: SessionSender {
                life: life.clone(),
                sealer,
                sink,
                sending: false,
            },
            receiver: SessionReceiver {
                life,
                opener,
                frames,
                closed: false,
            },
            peer: Arc::new(peer),
            purpose,
        }
    }

    /// Who is at the other end.
    pub fn peer(&self) -> &Arc<Peer> {
        &self.peer
    }

    /// The purpose that the dialling side named; bound into the channel.
    pub fn purpose(&self) -> Option<Purpose> {
        self.purpose
    }

    /// True if the session lives for so long at both ends. The other end's hour began earlier, by a
    /// handshake at most. Who is about to ask something dials anew rather than lose the answer.
    pub fn lasts(&self, time: Duration) -> bool {
        self.sender.life.left() > time.saturating_add(HANDSHAKE_TIMEOUT)
    }

    /// Sends one message; see [`SessionSender::send`].
    pub async fn send(&mut self, message: &[u8]) -> Result<(), LinkError> {
        self.sender.send(message).await
    }

    /// The next message; see [`SessionReceiver::recv`].
    pub async fn recv(&mut self) -> Result<Option<Vec<u8>>, LinkError> {
        self.receiver.recv().await
    }

    /// Sends a request and waits for the reply. After any error, a timeout included, the session
    /// is out of step: drop it and dial again.
    pub async fn call(&mut self, request: &[u8], timeout: Duration) -> Result<Vec<u8>, LinkError> {
        let exchange = async {
            self.sender.send(request).await?;
            self.receiver.recv().await?.ok_or(LinkError::Cut)
        };
        let result =
            tokio::time::timeout(timeout, exchange)
                .await
                .unwrap_or(Err(LinkError::Timeout {
                    what: "a session call",
                    after: timeout,
                }));
        if result.is_err() {
            // A late reply must never be taken for the answer to the next request.
            self.sender.sending = true;
            self.receiver.closed = true;
        }
        result
    }

    /// Says goodbye and ends the session.
    pub async fn close(mut self) -> Result<(), LinkError> {
        self.sender.close().await
    }

    /// Two halves that do not wait for each other.
    pub fn split(self) -> (SessionSender, SessionReceiver, Arc<Peer>) {
        (self.sender, self.receiver, self.peer)
    }
}

impl SessionSender {
    /// Sends one message (at most 16 MiB); waits while the queue of 8 frames is full. If this
    /// future is dropped half-way the session is broken.
    ///
    /// # Errors
    /// [`SessionError::Expired`] when the session has ended, [`LinkError::Cut`] if nobody is there.
    pub async fn send(&mut self, message: &[u8]) -> Result<(), LinkError> {
        self.life.check()?;
        let frames = self.ready()?.seal(message)?;
        self.put(frames).await
    }

    /// Says goodbye; nothing can be sent after it.
    pub async fn close(&mut self) -> Result<(), LinkError> {
        let frame = self.ready()?.close()?;
        self.put(vec![frame]).await
    }

    fn ready(&mut self) -> Result<&mut Sealer, LinkError> {
        if self.sending {
            Err(SessionError::Broken.into())
        } else {
            Ok(&mut self.sealer)
        }
    }

    async fn put(&mut self, frames: Vec<Vec<u8>>) -> Result<(), LinkError> {
        self.sending = true;
        for data in frames {
            put_frame(&self.sink, data, None).await?;
        }
        self.sending = false;
        Ok(())
    }
}

impl SessionReceiver {
    /// The next message; `None` after the peer's goodbye. Safe to drop and call again.
    ///
    /// # Errors
    /// [`LinkError::Cut`] if the stream ends without a goodbye, the peer's refusal, or what the
    /// session refuses: [`SessionError::Expired`] as soon as it has ended.
    pub async fn recv(&mut self) -> Result<Option<Vec<u8>>, LinkError> {
        while !self.closed {
            self.life.check()?;
            let frame = tokio::select! {
                frame = self.frames.message() => frame?.ok_or(LinkError::Cut)?,
                () = self.life.until_over() => return Err(self.life.over().into()),
            };
            // The clock may have been moved while this waited.
            self.life.check()?;
            match self.opener.open(&unnamed(frame)?)? {
                Opened::Part => {}
                Opened::Message(message) => return Ok(Some(message)),
                Opened::Closed => self.closed = true,
            }
        }
        Ok(None)
    }
}

pub(crate) async fn put_frame(
    sink: &FrameSink,
    data: Vec<u8>,
    purpose: Option<&Purpose>,
) -> Result<(), LinkError> {
    let purpose = purpose.map(to_wire);
    sink.send(Ok(Frame { data, purpose }))
        .await
        .map_err(|_| LinkError::Cut)
}
