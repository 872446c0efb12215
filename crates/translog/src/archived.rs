//! What a mirror says: these bytes can be read at my place, and have been since then.
//!
//! A log holds digests. That something was published means little to whoever cannot read it, so a
//! device may ask that mirrors of distinct operators keep the bytes, and have done so for a while (I1).
//!
//! ```text
//! archived/v1\n
//! log.example.test\n                 the log that names these bytes
//! time 1800000000\n                  when the mirror first had them, seconds since 1970
//! sha256 5994471abb…\n               which bytes
//! \n
//! — mirror.example.test 8tLbpQ…\n    name, base64(key id[4] ‖ Ed25519 signature[64] over the text)
//! ```

use std::collections::BTreeSet;

use ring::signature::{ED25519, UnparsedPublicKey};
use serde::{Deserialize, Serialize};
use siegel_ident::{Digest, NamedKey, QuorumError, Seconds, Timestamp, WitnessQuorum};

use crate::encoding::from_decimal;
use crate::error::ProofError;
use crate::note::{Note, signature_line};
use crate::verify::LogAnchors;

/// Most notes that a verifier looks at (I14).
pub const MAX_NOTES: usize = 16;
const HEADER: &str = "archived/v1";
/// Signature type without an assigned number (C2SP signed-note), so it carries a name.
const KIND: &[u8] = b"\n\xffsiegel/archived/v1";

/// The text of a mirror's note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Archived {
    /// The log.
    pub origin: String,
    /// When the mirror first had the bytes, by its clock.
    pub time: Timestamp,
    /// SHA-256 of the bytes.
    pub sha256: Digest,
}

/// How many mirrors of distinct operators must keep some bytes, and for how long already.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MirrorQuorum {
    /// Distinct operators. 0: nobody is asked.
    pub required: u32,
    /// So long each of them must have had the bytes, by the verifier's clock.
    pub min_age: Seconds,
    /// The mirrors that count, strictly ascending by name.
    pub mirrors: Vec<NamedKey>,
}

/// Why mirrors do not vouch for some bytes.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArchivedError {
    /// A quorum that nobody could enforce.
    #[error("mirrors: {0}")]
    Quorum(#[from] QuorumError),
    /// A mirror that is the log itself, or an age beyond a year.
    #[error("mirrors: {0}")]
    Anchors(&'static str),
    /// Not a note of a mirror.
    #[error("a mirror's note: {0}")]
    Form(#[from] ProofError),
    /// Not about these bytes, or not in this log.
    #[error("a mirror's note says {at} {found}, expected {expected}")]
    Other {
        /// `log` or `sha256`.
        at: &'static str,
        /// In the note.
        found: String,
        /// What was asked about.
        expected: String,
    },
    /// A pinned mirror's line that does not verify.
    #[error("the signature of mirror {name:?} does not verify under its pinned key (I1)")]
    Signature {
        /// The mirror's name.
        name: String,
    },
    /// More notes than are looked at.
    #[error("{found} notes of mirrors, at most {MAX_NOTES} are looked at (I14)")]
    TooMany {
        /// How many came.
        found: usize,
    },
    /// Too few, or not for long enough.
    #[error(
        "{found} mirrors of distinct operators have had these bytes for {min_age}, {required} are required; \
         {young} have them since a shorter time: wait, or ask other mirrors (I1)"
    )]
    TooFew {
        /// As configured.
        required: u32,
        /// That count.
        found: u32,
        /// Operators that would count later.
        young: u32,
        /// As configured.
        min_age: Seconds,
    },
}

impl Archived {
    /// What is signed.
    pub fn text(&self) -> String {
        let Self {
            origin,
            time,
            sha256,
        } = self;
        format!("{HEADER}\n{origin}\ntime {time}\nsha256 {sha256}\n")
    }

    /// The signed note, given the mirror's signature over [`Self::text`].
    pub fn to_note(&self, mirror: &NamedKey, signature: &[u8; 64]) -> String {
        let line = signature_line(&mirror.name, &key_id(&mirror.name, &mirror.key), signature);
        format!("{}\n{line}", self.text())
    }

    /// Reads the text of a note. Nothing is verified.
    ///
    /// # Errors
    /// [`ProofError::CheckpointForm`] for anything but the one spelling.
    pub fn parse_text(text: &str) -> Result<Self, ProofError> {
        let form = ProofError::CheckpointForm;
        let lines: Vec<&str> = text.split('\n').take(6).collect();
        let [HEADER, origin, time, sha256, ""] = lines[..] else {
            return Err(form("not the four lines of archived/v1"));
        };
        let time = time.strip_prefix("time ").and_then(from_decimal);
        let sha256 = sha256
            .strip_prefix("sha256 ")
            .and_then(|hex| hex.parse().ok());
        let archived = Self {
            origin: origin.to_owned(),
            time: Timestamp(time.ok_or(form("no time in seconds"))?),
            sha256: sha256.ok_or(form("no SHA-256 in hex"))?,
        };
        match archived.text() == text {
            true => Ok(archived),
            false => Err(form("another spelling than archived/v1 has")),
        }
    }
}

impl MirrorQuorum {
    const MAX_AGE: Seconds = Seconds(366 * 86_400);

    /// No mirrors: the log's own archive is enough.
    pub const fn none() -> Self {
        Self {
            required: 0,
            min_age: Seconds(0),
            mirrors: Vec::new(),
        }
    }

    /// Checks that the quorum can be enforced against this log.
    ///
    /// # Errors
    /// [`ArchivedError::Quorum`], [`ArchivedError::Anchors`].
    pub fn check(&self, log: &LogAnchors) -> Result<(), ArchivedError> {
        // The rules of names, keys and operators are those of witnesses.
        let quorum = WitnessQuorum {
            required: self.required,
            max_age: Seconds(1),
            witnesses: self.mirrors.clone(),
        };
        quorum.check()?;
        if self.min_age > Self::MAX_AGE {
            return Err(ArchivedError::Anchors(
                "the least age is longer than a year",
            ));
        }
        let own = |mirror: &NamedKey| mirror.name == log.origin || mirror.key == log.key;
        match self.mirrors.iter().any(own) {
            true => Err(ArchivedError::Anchors("a log is no mirror of itself (I1)")),
            false => Ok(()),
        }
    }

    /// Checks that enough mirrors have had the bytes with this digest for long enough (I1). Lines of
    /// others are ignored; every note must be about these bytes.
    ///
    /// # Errors
    /// [`ArchivedError`].
    pub fn verify(
        &self,
        notes: &[String],
        sha256: &Digest,
        log: &LogAnchors,
        now: Timestamp,
    ) -> Result<(), ArchivedError> {
        self.check(log)?;
        if notes.len() > MAX_NOTES {
            return Err(ArchivedError::TooMany { found: notes.len() });
        }
        let (mut old, mut young) = (BTreeSet::new(), BTreeSet::new());
        for note in notes {
            let note = Note::parse(note)?;
            let said = Archived::parse_text(note.text)?;
            same("log", said.origin.clone(), log.origin.clone())?;
            same("sha256", said.sha256.to_string(), sha256.to_string())?;
            for mirror in self
                .mirrors
                .iter()
                .filter_map(|mirror| signed(&note, mirror))
            {
                let operator = mirror?.operator.as_str();
                match said.time.plus(self.min_age) <= now {
                    true => old.insert(operator),
                    false => young.insert(operator),
                };
            }
        }
        let (found, required) = (old.len() as u32, self.required);
        match found >= required {
            true => Ok(()),
            false => Err(ArchivedError::TooFew {
                required,
                found,
                young: young.difference(&old).count() as u32,
                min_age: self.min_age,
            }),
        }
    }
}

/// First four bytes of SHA-256(name ‖ 0x0A ‖ 0xFF ‖ `siegel/archived/v1` ‖ key).
pub fn key_id(name: &str, key: &[u8; 32]) -> [u8; 4] {
    let id = Digest::of(&[name.as_bytes(), KIND, key].concat());
    let [a, b, c, d, ..] = *id.as_bytes();
    [a, b, c, d]
}

/// The mirror, if it has a line in the note; an error if that does not verify.
fn signed<'a>(
    note: &Note<'_>,
    mirror: &'a NamedKey,
) -> Option<Result<&'a NamedKey, ArchivedError>> {
    let id = key_id(&mirror.name, &mirror.key);
    let mut lines = note.signatures.iter();
    let line = lines.find(|line| line.name == mirror.name && line.key_id == id)?;
    let key = UnparsedPublicKey::new(&ED25519, &mirror.key);
    let verified = key.verify(note.text.as_bytes(), &line.signature);
    Some(verified.map(|()| mirror).map_err(|_| {
        let name = mirror.name.clone();
        ArchivedError::Signature { name }
    }))
}

fn same(at: &'static str, found: String, expected: String) -> Result<(), ArchivedError> {
    match found == expected {
        true => Ok(()),
        false => Err(ArchivedError::Other {
            at,
            found,
            expected,
        }),
    }
}

#[cfg(test)]
mod tests;
