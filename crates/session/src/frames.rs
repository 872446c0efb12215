//! Messages as frames: cut, sealed in order, opened in order, put together again.
//!
//! A frame's plaintext is one tag byte and a chunk. All chunks of a message but the last are full,
//! so a message has one encoding, and small parts cannot be used to tie up the receiver.

use std::sync::Arc;

use snow::StatelessTransportState;

use crate::SessionError;
use crate::hello::PROOF_MAX;

/// Most bytes of a frame: one Noise message.
pub const FRAME_MAX: usize = 65_535;
/// Most bytes of a message (I14).
pub const MESSAGE_MAX: usize = 16 * 1024 * 1024;
/// Most frames per direction, then the session is over. With 64 KiB frames this keeps AES-GCM
/// within the bound that TLS 1.3 uses (RFC 8446, section 5.5), and the nonce never wraps.
pub const FRAMES_MAX: u64 = 1 << 24;

const TAG_LEN: usize = 16;
const CHUNK: usize = FRAME_MAX - TAG_LEN - 1;

const PART: u8 = 0;
const LAST: u8 = 1;
const CLOSE: u8 = 2;

/// The sending half of a session.
pub struct Sealer {
    transport: Arc<StatelessTransportState>,
    next: u64,
    over: bool,
}

/// The receiving half of a session.
pub struct Opener {
    transport: Arc<StatelessTransportState>,
    next: u64,
    over: bool,
    /// Most bytes of a message: a proof's, until the peer is authenticated.
    max: usize,
    partial: Vec<u8>,
}

/// What a frame brought.
#[derive(PartialEq, Eq)]
pub enum Opened {
    /// Part of a message: more frames follow.
    Part,
    /// A whole message.
    Message(Vec<u8>),
    /// The peer has said that it sends no more. A stream that ends without this was cut.
    Closed,
}

/// Both halves of a channel whose other end is not authenticated yet: it is heard for one proof.
pub(crate) fn halves(transport: StatelessTransportState) -> (Sealer, Opener) {
    let transport = Arc::new(transport);
    (
        Sealer {
            transport: transport.clone(),
            next: 0,
            over: false,
        },
        Opener {
            transport,
            next: 0,
            over: false,
            max: PROOF_MAX,
            partial: Vec::new(),
        },
    )
}

impl Sealer {
    /// Seals one message into frames, to be sent in this order.
    ///
    /// # Errors
    /// [`SessionError::MessageTooLong`] (the session lives on), [`SessionError::Exhausted`],
    /// [`SessionError::Broken`].
    pub fn seal(&mut self, message: &[u8]) -> Result<Vec<Vec<u8>>, SessionError> {
        if message.len() > MESSAGE_MAX {
            return Err(SessionError::MessageTooLong {
                len: message.len(),
                max: MESSAGE_MAX,
            });
        }
        if message.is_empty() {
            return Ok(vec![self.frame(LAST, &[])?]);
        }
        let last = message.len().div_ceil(CHUNK) - 1;
        let tag = |i| if i == last { LAST } else { PART };
        message
            .chunks(CHUNK)
            .enumerate()
            .map(|(i, chunk)| self.frame(tag(i), chunk))
            .collect()
    }

    /// Seals the end of this direction; nothing can be sent after it.
    ///
    /// # Errors
    /// As [`Sealer::seal`].
    pub fn close(&mut self) -> Result<Vec<u8>, SessionError> {
        let frame = self.frame(CLOSE, &[]);
        self.over = true;
        frame
    }

    fn frame(&mut self, tag: u8, chunk: &[u8]) -> Result<Vec<u8>, SessionError> {
        let nonce = take_nonce(&mut self.next, self.over)?;
        let mut plain = Vec::with_capacity(chunk.len() + 1);
        plain.push(tag);
        plain.extend_from_slice(chunk);
        let mut frame = vec![0; plain.len() + TAG_LEN];
        let written = self
            .transport
            .write_message(nonce, &plain, &mut frame)
            .map_err(|_| {
                self.over = true;
                SessionError::Crypto {
                    what: "sealing a frame",
                }
            })?;
        frame.truncate(written);
        Ok(frame)
    }
}

impl Opener {
    /// The peer has proved itself: from now on it may send whole messages.
    pub(crate) fn authenticated(&mut self) {
        self.max = MESSAGE_MAX;
    }

    /// Opens the next frame. The first error ends the session (fail closed).
    ///
    /// # Errors
    /// [`SessionError::Frame`] for anything but the peer's next frame,
    /// [`SessionError::MessageTooLong`], [`SessionError::Exhausted`], [`SessionError::Broken`].
    pub fn open(&mut self, frame: &[u8]) -> Result<Opened, SessionError> {
        let opened = self.open_next(frame);
        if !matches!(opened, Ok(Opened::Part | Opened::Message(_))) {
            self.over = true;
            self.partial = Vec::new();
        }
        opened
    }

    fn open_next(&mut self, frame: &[u8]) -> Result<Opened, SessionError> {
        let nonce = take_nonce(&mut self.next, self.over)?;
        let refused = |what| SessionError::Frame { frame: nonce, what };
        let mut plain = vec![0; frame.len()];
        let read = self
            .transport
            .read_message(nonce, frame, &mut plain)
            .map_err(|_| refused("does not authenticate"))?;
        plain.truncate(read);
        match plain.split_first() {
            Some((&PART, chunk)) if chunk.len() == CHUNK => {
                self.append(chunk)?;
                Ok(Opened::Part)
            }
            // An empty last chunk after full ones would be a second encoding of a message.
            Some((&LAST, chunk)) if !chunk.is_empty() || self.partial.is_empty() => {
                self.append(chunk)?;
                Ok(Opened::Message(std::mem::take(&mut self.partial)))
            }
            Some((&CLOSE, [])) if self.partial.is_empty() => Ok(Opened::Closed),
            _ => Err(refused("no valid chunk")),
        }
    }

    fn append(&mut self, chunk: &[u8]) -> Result<(), SessionError> {
        let held = self.partial.len();
        let (len, max) = (held + chunk.len(), self.max);
        if len > max {
            return Err(SessionError::MessageTooLong { len, max });
        }
        if len > self.partial.capacity() {
            // Doubled, so that a long message is not copied at each frame; never beyond the bound.
            let room = (2 * self.partial.capacity()).clamp(len, max);
            self.partial.reserve_exact(room - held);
        }
        self.partial.extend_from_slice(chunk);
        Ok(())
    }
}

fn take_nonce(next: &mut u64, over: bool) -> Result<u64, SessionError> {
    if over {
        return Err(SessionError::Broken);
    }
    let nonce = *next;
    if nonce >= FRAMES_MAX {
        return Err(SessionError::Exhausted { frames: FRAMES_MAX });
    }
    *next += 1;
    Ok(nonce)
}

#[cfg(test)]
mod tests;
