//! An endorsement together with who said it.

use siegel_ident::{KeyDigest, Timestamp};
use siegel_translog::{LogAnchors, LoggedEntry, predicate, verify_logged};

use crate::{EndorseError, Endorsement};

/// Most endorsements that are looked at for one policy (I14).
pub const VOICES_MAX: usize = 64;

/// An endorsement in the log, and its endorser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Voice {
    /// What is said.
    pub endorsement: Endorsement,
    /// The key that signed it.
    pub endorser: KeyDigest,
    /// Zero-based index in the log.
    pub log_index: u64,
}

impl Voice {
    /// Of a document with the proof that exactly these bytes are in the log of `anchors`, at the verifier's clock `now` (I1, I2).
    ///
    /// # Errors
    /// [`EndorseError::NotLogged`], or what is wrong with the document.
    pub fn proved(
        document: &[u8],
        bundle: &[u8],
        anchors: &LogAnchors,
        now: Timestamp,
    ) -> Result<Self, EndorseError> {
        Self::with_entry(document, bundle, anchors, now).map(|(voice, _)| voice)
    }

    /// The same, with the entry: for who compares the log's checkpoints.
    ///
    /// # Errors
    /// As [`Self::proved`].
    pub fn with_entry(
        document: &[u8],
        bundle: &[u8],
        anchors: &LogAnchors,
        now: Timestamp,
    ) -> Result<(Self, LoggedEntry), EndorseError> {
        let entry = verify_logged(bundle, document, predicate::ENDORSEMENT, None, anchors, now)?;
        let voice = Self {
            endorsement: Endorsement::parse(document)?,
            endorser: entry.signer.digest(),
            log_index: entry.log_index,
        };
        Ok((voice, entry))
    }
}
