//! A finished handshake.

use siegel_ident::{Digest, Seconds, Timestamp};

use crate::{Authenticated, Opened, Opener, Peer, Sealer, SessionError};

/// How old the challenge of a session may get. Then a fresh handshake has to show fresh evidence.
pub const SESSION_LIFETIME: Seconds = Seconds(3600);

/// An authenticated channel: two halves and the peer.
pub struct Session {
    pub(crate) sealer: Sealer,
    pub(crate) opener: Opener,
    pub(crate) peer: Peer,
    pub(crate) channel: Digest,
    pub(crate) challenged: Timestamp,
    pub(crate) begun: Timestamp,
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

    /// When the handshake was done: the latest time that it saw.
    pub fn begun(&self) -> Timestamp {
        self.begun
    }

    /// From when on nothing may be sent or taken any more. There is no clock here: whoever moves the
    /// frames keeps to it, and takes no earlier time than [`Session::begun`] or one it has seen.
    pub fn ends(&self) -> Timestamp {
        let end = self.challenged.plus(SESSION_LIFETIME);
        // The one place that says how long what was learned about the peer holds.
        match self.peer.authenticated {
            Authenticated::Appraised(_) | Authenticated::Pending(_) | Authenticated::Vouched => end,
        }
    }

    /// The parts, so that sending and receiving need not wait for each other.
    pub fn split(self) -> (Sealer, Opener, Peer) {
        (self.sealer, self.opener, self.peer)
    }
}
