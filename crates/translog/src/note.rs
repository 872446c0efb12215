//! C2SP signed notes: a text, an empty line, and signature lines.

use crate::encoding::{b64, from_b64};
use crate::error::{ProofError, bounded};

/// Longest note that is read, in bytes.
pub const MAX_NOTE: usize = 4096;
/// Most signature lines of a note.
pub const MAX_SIGNATURES: usize = 20;
const DASH: &str = "\u{2014} ";

/// A note, parsed: nothing in it is verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note<'a> {
    /// What was signed: whole lines, the last newline included.
    pub text: &'a str,
    /// The signature lines, in their order.
    pub signatures: Vec<SignatureLine<'a>>,
}

/// `— name base64(key id[4] ‖ signature)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignatureLine<'a> {
    /// Name of the key.
    pub name: &'a str,
    /// Tells keys of one name apart.
    pub key_id: [u8; 4],
    /// The signature's bytes; what they mean depends on the kind of key.
    pub signature: Vec<u8>,
}

impl<'a> Note<'a> {
    /// Reads a note.
    ///
    /// # Errors
    /// [`ProofError::TooLong`], and [`ProofError::CheckpointForm`] for anything but text, one empty
    /// line, and 1 to [`MAX_SIGNATURES`] signature lines in their one spelling.
    pub fn parse(note: &'a str) -> Result<Self, ProofError> {
        bounded("checkpoint", note.as_bytes(), MAX_NOTE)?;
        let form = ProofError::CheckpointForm;
        let (text, block) = note
            .rsplit_once("\n\n")
            .ok_or(form("no empty line before the signature"))?;
        let text = note
            .get(..=text.len())
            .ok_or(form("no empty line before the signature"))?;
        let block = block
            .strip_suffix('\n')
            .ok_or(form("the last line has no newline"))?;
        let signatures = block
            .split('\n')
            .take(MAX_SIGNATURES + 1)
            .map(SignatureLine::parse)
            .collect::<Result<Vec<_>, _>>()?;
        match signatures.len() > MAX_SIGNATURES {
            true => Err(form("more signature lines than a checkpoint may have")),
            false => Ok(Self { text, signatures }),
        }
    }
}

impl<'a> SignatureLine<'a> {
    /// Reads one line, without its newline.
    ///
    /// # Errors
    /// [`ProofError::CheckpointForm`].
    pub fn parse(line: &'a str) -> Result<Self, ProofError> {
        let form = ProofError::CheckpointForm;
        let (name, value) = line
            .strip_prefix(DASH)
            .and_then(|rest| rest.split_once(' '))
            .filter(|(name, _)| !name.is_empty())
            .ok_or(form("the signature line is not '— name base64'"))?;
        let value = from_b64(value).ok_or(form("the signature is not base64"))?;
        let short = form("the signature has no key id");
        let (key_id, signature) = value.split_first_chunk().ok_or(short)?;
        Ok(Self {
            name,
            key_id: *key_id,
            signature: signature.to_vec(),
        })
    }
}

/// Writes one signature line, with its newline.
pub(crate) fn signature_line(name: &str, key_id: &[u8], signature: &[u8]) -> String {
    format!("{DASH}{name} {}\n", b64(&[key_id, signature].concat()))
}
