//! Messages as frames: cut, sealed in order, opened in order, put together again.
//!
//! A frame's plaintext is one tag byte and a chunk. All chunks of a padded message but the last are
//! full, so a message has one encoding, and small parts cannot be used to tie up the receiver. The
//! length stands in front: what is too long is refused at its first frame.

use std::sync::Arc;

use snow::StatelessTransportState;

use crate::SessionError;
use crate::hello::PROOF_MAX;
use crate::padding::{PADDED_MIN, PREFIX, claimed, pad, padded_len, unpad};

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
    partial: Option<Partial>,
}

/// A message under way.
struct Partial {
    /// Its length as it said.
    len: usize,
    /// Message and zeros so far, without the length in front.
    body: Vec<u8>,
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
            partial: None,
        },
    )
}

impl Sealer {
    /// Seals one message into frames, to be sent in this order. Their sizes depend on nothing but
    /// [`crate::padded_len`] (I12).
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
        let padded = pad(message);
        let last = padded.len().div_ceil(CHUNK) - 1;
        let tag = |i| if i == last { LAST } else { PART };
        padded
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
        // As long as the shortest message.
        let frame = self.frame(CLOSE, &[0; PADDED_MIN]);
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
            self.partial = None;
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
                self.partial = Some(self.append(nonce, chunk)?);
                Ok(Opened::Part)
            }
            Some((&LAST, chunk)) if !chunk.is_empty() => {
                let partial = self.append(nonce, chunk)?;
                if partial.missing() > 0 {
                    return Err(refused("the message is shorter than its class"));
                }
                unpad(partial.body, partial.len)
                    .map(Opened::Message)
                    .ok_or(refused("the padding is not zero"))
            }
            Some((&CLOSE, zeros)) if self.partial.is_none() && *zeros == [0; PADDED_MIN] => {
                Ok(Opened::Closed)
            }
            _ => Err(refused("no valid chunk")),
        }
    }

    /// The message under way with one more chunk. Refuses what says that it is too long, before any
    /// of it is kept, and what is longer than it said.
    fn append(&mut self, frame: u64, chunk: &[u8]) -> Result<Partial, SessionError> {
        let refused = |what| SessionError::Frame { frame, what };
        let (mut partial, chunk) = match self.partial.take() {
            Some(partial) => (partial, chunk),
            None => {
                let (len, chunk) = claimed(chunk).ok_or(refused("no length in front"))?;
                let max = self.max;
                if len > max {
                    return Err(SessionError::MessageTooLong { len, max });
                }
                let body = Vec::new();
                (Partial { len, body }, chunk)
            }
        };
        if chunk.len() > partial.missing() {
            return Err(refused("the message is longer than its class"));
        }
        partial.extend(chunk);
        Ok(partial)
    }
}

impl Partial {
    /// How many bytes are still to come.
    fn missing(&self) -> usize {
        (padded_len(self.len) - PREFIX).saturating_sub(self.body.len())
    }

    fn extend(&mut self, chunk: &[u8]) {
        let (held, whole) = (self.body.len(), self.body.len() + self.missing());
        let len = held + chunk.len();
        if len > self.body.capacity() {
            // Doubled, so that a long message is not copied at each frame; never beyond the whole.
            let room = (2 * self.body.capacity()).clamp(len, whole);
            self.body.reserve_exact(room - held);
        }
        self.body.extend_from_slice(chunk);
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
