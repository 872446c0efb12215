//! What a body encrypts: `length u64 ‖ plaintext ‖ zeros` (I12). One plaintext has one frame.

use siegel_ident::SecretBytes;
use siegel_ident::secret::Wiped;

use crate::OpenError;

/// Length of the prefix that says how long the plaintext is.
pub(crate) const PREFIX: usize = 8;

/// The frame of a plaintext, never laid out as a whole: its parts go straight to where they are
/// encrypted, so that there is no second copy to zeroise.
pub(crate) struct Frame<'a> {
    prefix: [u8; PREFIX],
    plaintext: &'a [u8],
    padded: usize,
}

impl<'a> Frame<'a> {
    /// A frame of exactly `padded` bytes, at least [`PREFIX`] more than the plaintext has.
    pub(crate) const fn new(plaintext: &'a [u8], padded: usize) -> Self {
        Self {
            prefix: (plaintext.len() as u64).to_be_bytes(),
            plaintext,
            padded,
        }
    }

    /// How many bytes.
    pub(crate) const fn len(&self) -> usize {
        self.padded
    }

    /// Appends bytes `from` to `to` (exclusive) of the frame.
    pub(crate) fn append(&self, from: usize, to: usize, out: &mut Vec<u8>) {
        let end = out.len() + (to - from);
        // What of `bytes`, which stand at `at` in the frame, is asked for.
        let part = |bytes: &'a [u8], at: usize| {
            let start = from.saturating_sub(at).min(bytes.len());
            let stop = to.saturating_sub(at).min(bytes.len());
            bytes.get(start..stop).unwrap_or_default()
        };
        out.extend_from_slice(
            self.prefix
                .get(from.min(PREFIX)..to.min(PREFIX))
                .unwrap_or_default(),
        );
        out.extend_from_slice(part(self.plaintext, PREFIX));
        out.resize(end, 0);
    }
}

/// The plaintext in a frame. `fits` says whether a plaintext of that length is padded to this
/// frame; another frame is refused.
pub(crate) fn unframe(
    mut framed: Wiped<u8>,
    fits: impl FnOnce(u64) -> bool,
) -> Result<SecretBytes, OpenError> {
    let (prefix, rest) = framed
        .split_first_chunk::<PREFIX>()
        .ok_or(OpenError::Framing)?;
    let len = u64::from_be_bytes(*prefix);
    let at = usize::try_from(len).map_err(|_| OpenError::Framing)?;
    let (_, padding) = rest.split_at_checked(at).ok_or(OpenError::Framing)?;
    // Every byte is looked at: no early end, and the compiler can take many at once.
    let dirty = padding.iter().fold(0, |seen, byte| seen | byte) != 0;
    if !fits(len) || dirty {
        return Err(OpenError::Framing);
    }
    framed.copy_within(PREFIX.., 0);
    framed.truncate(at);
    Ok(SecretBytes::new(std::mem::take(&mut *framed)))
}

#[cfg(test)]
mod tests {
    use super::*;

    // Catches a border between prefix, plaintext and padding that is off by one: every window of a
    // small frame, against the frame written out.
    #[test]
    fn any_part_of_a_frame_is_that_part() {
        for plaintext in [&b""[..], b"a", b"abcdef"] {
            let whole = [
                &(plaintext.len() as u64).to_be_bytes()[..],
                plaintext,
                &[0; 5],
            ]
            .concat();
            let frame = Frame::new(plaintext, whole.len());
            assert_eq!(frame.len(), whole.len());
            for from in 0..=whole.len() {
                for to in from..=whole.len() {
                    let mut out = vec![0xff];
                    frame.append(from, to, &mut out);
                    assert_eq!(out[1..], whole[from..to], "{from} {to}");
                }
            }
        }
    }
}
