//! A finished handshake.

use siegel_ident::Digest;

use crate::{Opened, Opener, Peer, Sealer, SessionError};

/// An authenticated channel: two halves and the peer.
pub struct Session {
    pub(crate) sealer: Sealer,
    pub(crate) opener: Opener,
    pub(crate) peer: Peer,
    pub(crate) channel: Digest,
}

impl Session {
    /// Seals one message into frames, to be sent in this order; see [`Sealer::seal`].
    ///
    /// # Errors
    /// As [`Sealer::seal`].
    pub fn seal(&mut self, message: &[u8]) -> Result<Vec<Vec<u8>>, SessionError> {
        self.sealer.seal(message)
    }

    /// Opens the next frame; see [`Opener::open`].
    ///
    /// # Errors
    /// As [`Opener::open`].
    pub fn open(&mut self, frame: &[u8]) -> Result<Opened, SessionError> {
        self.opener.open(frame)
    }

    /// Who is at the other end.
    pub fn peer(&self) -> &Peer {
        &self.peer
    }

    /// The Noise handshake hash: a public name that no other channel has.
    pub fn channel(&self) -> Digest {
        self.channel
    }

    /// The parts, so that sending and receiving need not wait for each other.
    pub fn split(self) -> (Sealer, Opener, Peer) {
        (self.sealer, self.opener, self.peer)
    }
}
