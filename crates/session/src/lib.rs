//! The attested channel, without I/O.
//!
//! A Noise XX handshake makes a channel; then each side shows who it is *on that channel*: with
//! evidence, or with a key that the KMS's run record vouches for. The result is a [`Session`]
//! that seals and opens messages, and a [`Peer`] that says who is at the other end.
//!
//! See `OVERVIEW.md` for the picture, and for what stops replay, relay and reflection (I3).

mod error;
mod expect;
mod frames;
mod handshake;
mod hello;
#[cfg(any(test, feature = "test-util"))]
pub mod hostile;
mod identity;
mod noise;
mod padding;
mod peer;
mod proof;
mod purpose;
mod session;
#[cfg(test)]
mod testing;

pub use error::SessionError;
pub use expect::Expect;
pub use frames::{FRAME_MAX, FRAMES_MAX, MESSAGE_MAX, Opened, Opener, Sealer};
pub use handshake::{CHALLENGE_LIFETIME, Handshake, Next, Setup, Step};
pub use identity::{Identity, PeerKeys};
pub use padding::padded_len;
pub use peer::{Authenticated, Peer, Pending};
pub use purpose::Purpose;
pub use session::{SESSION_LIFETIME, Session};
