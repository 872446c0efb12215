//! From Noise messages to a session.

use siegel_ident::{ClusterId, Digest, Timestamp};
use snow::HandshakeState;

use super::{Next, Step};
use crate::frames::{FRAME_MAX, Opener, Sealer, halves};
use crate::hello::Hello;
use crate::{Peer, Session, SessionError};

/// A Noise channel whose other end has yet to prove itself, or has just done so.
pub(super) struct Channel {
    pub(super) sealer: Sealer,
    pub(super) opener: Opener,
    pub(super) hash: Digest,
    pub(super) peer: Hello,
    pub(super) cluster: Option<ClusterId>,
}

impl Channel {
    pub(super) fn new(
        noise: HandshakeState,
        peer: Hello,
        cluster: Option<ClusterId>,
    ) -> Result<Self, SessionError> {
        let hash =
            Digest::try_from_slice(noise.get_handshake_hash()).ok_or(SessionError::Crypto {
                what: "handshake hash",
            })?;
        let transport =
            noise
                .into_stateless_transport_mode()
                .map_err(|_| SessionError::Crypto {
                    what: "transport mode",
                })?;
        let (sealer, opener) = halves(transport);
        Ok(Self {
            sealer,
            opener,
            hash,
            peer,
            cluster,
        })
    }
}

/// The peer has proved itself. `challenged` is when our Hello went, `begun` is now.
pub(super) fn done(
    send: Vec<Vec<u8>>,
    channel: Channel,
    peer: Peer,
    challenged: Timestamp,
    begun: Timestamp,
) -> Step {
    let Channel {
        sealer,
        mut opener,
        hash,
        ..
    } = channel;
    opener.authenticated();
    let session = Session {
        sealer,
        opener,
        peer,
        channel: hash,
        challenged,
        begun,
    };
    Step {
        send,
        next: Next::Done(Box::new(session)),
    }
}

pub(super) fn write(
    noise: &mut HandshakeState,
    message: u64,
    payload: &[u8],
) -> Result<Vec<u8>, SessionError> {
    let mut frame = vec![0; FRAME_MAX];
    let written = noise
        .write_message(payload, &mut frame)
        .map_err(|_| SessionError::Frame {
            frame: message,
            what: "cannot be written",
        })?;
    frame.truncate(written);
    Ok(frame)
}

pub(super) fn read(
    noise: &mut HandshakeState,
    message: u64,
    frame: &[u8],
) -> Result<Vec<u8>, SessionError> {
    let mut payload = vec![0; FRAME_MAX];
    let read = noise
        .read_message(frame, &mut payload)
        .map_err(|_| SessionError::Frame {
            frame: message,
            what: "not this handshake's",
        })?;
    payload.truncate(read);
    Ok(payload)
}
