//! Checkpoints: C2SP tlog-checkpoint inside a C2SP signed note, under one Ed25519 log key.
//!
//! ```text
//! log.example.test\n          origin
//! 7\n                         number of entries
//! PjLRwPqS…=\n                base64 root
//! \n
//! — log.example.test dFpqvg…=\n    name, base64(key id[4] ‖ signature[64])
//! — witness.example.test …\n       any number of cosignatures
//! ```

use ring::signature::{ED25519, UnparsedPublicKey};
use siegel_ident::Digest;

use crate::encoding::{b64, from_b64, from_decimal};
use crate::error::ProofError;
use crate::note::{Note, signature_line};

pub use crate::note::MAX_NOTE;
/// Longest origin, in bytes.
pub const MAX_ORIGIN: usize = 255;

/// What a log says about itself: so many entries under this root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// Name of the log, a scheme-less URL.
    pub origin: String,
    /// Number of entries.
    pub size: u64,
    /// RFC 6962 root over them.
    pub root: Digest,
}

impl Checkpoint {
    /// The unsigned note text: what the log signs.
    pub fn note_text(&self) -> String {
        format!(
            "{}\n{}\n{}\n",
            self.origin,
            self.size,
            b64(self.root.as_bytes())
        )
    }

    /// The signed note, given the log's Ed25519 signature over [`Self::note_text`].
    pub fn to_note(&self, log_key: &[u8; 32], signature: &[u8; 64]) -> String {
        let id = log_id(&self.origin, log_key);
        let key_id = id.as_bytes().get(..4).unwrap_or_default();
        let line = signature_line(&self.origin, key_id, signature);
        format!("{}\n{line}", self.note_text())
    }

    /// Reads a signed note and verifies it under one pinned log key.
    ///
    /// Exactly one signature line has the origin as its name. Lines of other names are witnesses'
    /// and are left to [`crate::cosignature`]. Extension lines are refused.
    ///
    /// # Errors
    /// [`ProofError`]: form, other origin, other key, or a signature that does not verify.
    pub fn verify_note(note: &str, origin: &str, log_key: &[u8; 32]) -> Result<Self, ProofError> {
        Self::verify_parsed(&Note::parse(note)?, origin, log_key)
    }

    /// As [`Self::verify_note`], for a note that was parsed already.
    ///
    /// # Errors
    /// The same.
    pub fn verify_parsed(
        note: &Note<'_>,
        origin: &str,
        log_key: &[u8; 32],
    ) -> Result<Self, ProofError> {
        let checkpoint = Self::parse_text(note.text)?;
        if checkpoint.origin != origin {
            return Err(ProofError::field(
                "checkpoint.origin",
                origin,
                &checkpoint.origin,
            ));
        }
        let mut own = note.signatures.iter().filter(|line| line.name == origin);
        let (Some(line), None) = (own.next(), own.next()) else {
            let at = "checkpoint.signature.name";
            let found = note.signatures.iter().filter(|line| line.name == origin);
            return Err(match note.signatures.first() {
                Some(other) if found.count() == 0 => ProofError::field(at, origin, other.name),
                _ => ProofError::CheckpointForm("expected exactly one signature of the log"),
            });
        };
        let wrong_key = || ProofError::CheckpointSignature {
            origin: origin.to_owned(),
        };
        if Some(&line.key_id[..]) != log_id(origin, log_key).as_bytes().get(..4) {
            return Err(wrong_key());
        }
        UnparsedPublicKey::new(&ED25519, log_key)
            .verify(note.text.as_bytes(), &line.signature)
            .map_err(|_| wrong_key())?;
        Ok(checkpoint)
    }

    /// Reads the three lines of an unsigned note. Nothing is verified.
    ///
    /// # Errors
    /// [`ProofError::CheckpointForm`] for anything but the one spelling of these lines.
    pub fn parse_text(text: &str) -> Result<Self, ProofError> {
        let mut lines = text.split('\n');
        let mut line = |what| lines.next().ok_or(ProofError::CheckpointForm(what));
        let origin = line("no origin line")?.to_owned();
        check_origin(&origin)?;
        let size = from_decimal(line("no size line")?).ok_or(ProofError::CheckpointForm(
            "the size is not a plain decimal number",
        ))?;
        let root = from_b64(line("no root line")?)
            .and_then(|bytes| Digest::try_from_slice(&bytes))
            .ok_or(ProofError::CheckpointForm(
                "the root is not 32 bytes in base64",
            ))?;
        let checkpoint = Self { origin, size, root };
        if checkpoint.note_text() != text {
            return Err(ProofError::CheckpointForm(
                "more than origin, size and root",
            ));
        }
        Ok(checkpoint)
    }
}

/// The log's id: SHA-256(origin ‖ 0x0A ‖ 0x01 ‖ key). Its first four bytes are the note key id.
pub fn log_id(origin: &str, log_key: &[u8; 32]) -> Digest {
    Digest::of(&[origin.as_bytes(), b"\n\x01", log_key].concat())
}

/// Checks that a name can be the origin of a log: 1 to 255 bytes, no spaces, controls or `+`.
///
/// # Errors
/// [`ProofError::CheckpointForm`] says which rule is broken.
pub fn check_origin(origin: &str) -> Result<(), ProofError> {
    if origin.is_empty() || origin.len() > MAX_ORIGIN {
        return Err(ProofError::CheckpointForm(
            "the origin must have 1 to 255 bytes",
        ));
    }
    if origin
        .chars()
        .any(|c| c.is_whitespace() || c.is_control() || c == '+')
    {
        return Err(ProofError::CheckpointForm(
            "the origin has a space, control or '+'",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TestLog;

    fn note() -> (TestLog, String) {
        let log = TestLog::new("log.example.test", [3; 32]);
        let note = log.checkpoint();
        (log, note)
    }

    #[test]
    fn an_empty_log_has_a_checkpoint() {
        let (log, note) = note();
        let checkpoint = Checkpoint::verify_note(&note, log.origin(), &log.key()).unwrap();
        assert_eq!(
            (checkpoint.size, checkpoint.root),
            (0, crate::merkle::empty_root())
        );
    }

    /// Catches: a name or key that is not compared, lines that are skipped (facts, table 1 and 2).
    #[test]
    fn one_pinned_key_one_spelling() {
        let (log, note) = note();
        let refuse = |note: &str, why: &str| {
            assert!(
                Checkpoint::verify_note(note, log.origin(), &log.key()).is_err(),
                "{why}"
            );
        };
        let line = note.lines().last().unwrap();
        refuse(
            &note.replacen("log.example.test\n", "log.example.tes7\n", 1),
            "origin line",
        );
        refuse(
            &note.replace("\u{2014} log.example.test", "\u{2014} log.example.tes7"),
            "name",
        );
        refuse(
            &note.replace("log.example.test", "log.example.tes7"),
            "both",
        );
        refuse(&format!("{note}{line}\n"), "two signature lines");
        refuse(
            &note.replacen("\n\n", "\nextension\n\n", 1),
            "extension line",
        );
        refuse(&note.replacen("\n0\n", "\n00\n", 1), "size spelling");
        refuse(&note.replacen("\n0\n", "\n1\n", 1), "size");
        refuse(note.trim_end(), "no final newline");
        refuse(&note.replace('\u{2014}', "-"), "ascii dash");
        refuse("", "nothing");
        let other = TestLog::new("log.example.test", [4; 32]);
        refuse(&other.checkpoint(), "another log's key");
        assert!(Checkpoint::verify_note(&note, "log.example.tes7", &log.key()).is_err());
    }

    /// Catches each comparison alone: everything else in these notes is right, the signature too.
    #[test]
    fn each_line_is_compared_by_itself() {
        let (log, _) = note();
        let root = b64(crate::merkle::empty_root().as_bytes());
        let assemble = |text: &str, name: &str, key_id: &[u8]| {
            let line = [key_id, &log.sign(text)[..]].concat();
            format!("{text}\n\u{2014} {name} {}\n", b64(&line))
        };
        let id = log_id(log.origin(), &log.key());
        let (name, right) = (log.origin(), &id.as_bytes()[..4]);
        let verify = |note: &str| Checkpoint::verify_note(note, name, &log.key());
        let text = format!("{name}\n0\n{root}\n");
        assert!(verify(&assemble(&text, name, right)).is_ok());
        assert!(verify(&assemble(&text, "other.example", right)).is_err());
        assert!(verify(&assemble(&text, name, &id.as_bytes()[4..8])).is_err());
        for other in [
            format!("other.example\n0\n{root}\n"),
            format!("{name}\n00\n{root}\n"),
            format!("{name}\n0\n{root}\nextension\n"),
            format!("{name}\n0\n"),
        ] {
            assert!(verify(&assemble(&other, name, right)).is_err(), "{other}");
        }
    }

    #[test]
    fn origins_have_rules() {
        let long = "x".repeat(MAX_ORIGIN + 1);
        for bad in ["", "two words", "a+b", "a\tb", "a\u{7}b", long.as_str()] {
            assert!(check_origin(bad).is_err(), "{bad:?}");
        }
        assert!(check_origin(&long[1..]).is_ok());
    }

    #[test]
    fn every_flipped_bit_is_refused() {
        let (log, note) = note();
        for at in 0..note.len() {
            for bit in 0..8 {
                let mut bytes = note.clone().into_bytes();
                bytes[at] ^= 1 << bit;
                let Ok(flipped) = String::from_utf8(bytes) else {
                    continue;
                };
                let read = Checkpoint::verify_note(&flipped, log.origin(), &log.key());
                assert!(read.is_err(), "byte {at} bit {bit}");
            }
        }
    }
}
