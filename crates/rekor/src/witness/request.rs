//! The body of `POST /add-checkpoint`: written by the log, read by the witness.
//!
//! ```text
//! old 20852014\n                     size that the witness has cosigned, as the log believes
//! PlRNCrwHpqhGrupue0L7gxbjbMiKA9…=\n consistency proof, at most 63 lines
//! \n
//! log.example.test\n                 the signed note
//! 20852163\n
//! …
//! ```

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use siegel_ident::Digest;

/// Most hashes of a proof.
const MAX_HASHES: usize = 63;

/// A checkpoint that is offered to a witness.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AddCheckpoint {
    /// The size that the proof begins at.
    pub(crate) old: u64,
    /// From there to the note's size.
    pub(crate) proof: Vec<Digest>,
    /// The signed note.
    pub(crate) note: String,
}

impl AddCheckpoint {
    /// Reads a body; says what is wrong with it.
    pub(crate) fn parse(body: &[u8]) -> Result<Self, &'static str> {
        let text = std::str::from_utf8(body).map_err(|_| "the request is not text")?;
        let (head, note) = text
            .split_once("\n\n")
            .ok_or("no empty line before the checkpoint")?;
        let mut lines = head.split('\n');
        let old = lines
            .next()
            .and_then(|line| line.strip_prefix("old "))
            .ok_or("the first line is not 'old SIZE'")?;
        let old = decimal(old).ok_or("the old size is not a plain decimal number")?;
        let hashes = lines
            .take(MAX_HASHES + 1)
            .map(|line| {
                let bytes = STANDARD.decode(line).ok()?;
                Digest::try_from_slice(&bytes)
            })
            .collect::<Option<Vec<_>>>()
            .ok_or("a line of the proof is not a hash in base64")?;
        if hashes.len() > MAX_HASHES {
            return Err("more than 63 hashes in the proof");
        }
        Ok(Self {
            old,
            proof: hashes,
            note: note.to_owned(),
        })
    }

    /// Writes the body.
    pub(crate) fn to_body(&self) -> String {
        let hashes: String = self
            .proof
            .iter()
            .map(|hash| format!("{}\n", STANDARD.encode(hash.as_bytes())))
            .collect();
        format!("old {}\n{hashes}\n{}", self.old, self.note)
    }
}

/// A plain decimal number without sign or leading zeros.
pub(crate) fn decimal(text: &str) -> Option<u64> {
    text.parse::<u64>().ok().filter(|n| n.to_string() == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_one_spelling() {
        let request = AddCheckpoint {
            old: 7,
            proof: vec![Digest::of(b"a"), Digest::of(b"b")],
            note: "log\n8\nroot\n\n\u{2014} log x\n".into(),
        };
        let body = request.to_body();
        assert_eq!(AddCheckpoint::parse(body.as_bytes()).unwrap(), request);
        let plain = AddCheckpoint {
            proof: Vec::new(),
            ..request.clone()
        };
        assert_eq!(
            AddCheckpoint::parse(plain.to_body().as_bytes()).unwrap(),
            plain
        );
    }

    // I14: catches each rule that is not enforced.
    #[test]
    fn i14_other_bodies_are_refused() {
        let hash = STANDARD.encode([1; 32]);
        let short = STANDARD.encode([1; 31]);
        let many = format!("old 1\n{}\nnote", format!("{hash}\n").repeat(64));
        for body in [
            "",
            "old 1",
            "old 1\n",
            "old 01\n\nnote",
            "old +1\n\nnote",
            "old -1\n\nnote",
            "old 18446744073709551616\n\nnote",
            "new 1\n\nnote",
            "old 1 \n\nnote",
            &format!("old 1\n{short}\n\nnote"),
            &format!("old 1\n{hash}=\n\nnote"),
            &format!("old 1\r\n{hash}\n\nnote"),
            &many,
        ] {
            assert!(AddCheckpoint::parse(body.as_bytes()).is_err(), "{body:?}");
        }
        let most = format!("old 1\n{}\nnote", format!("{hash}\n").repeat(63));
        assert_eq!(
            AddCheckpoint::parse(most.as_bytes()).unwrap().proof.len(),
            63
        );
        assert!(AddCheckpoint::parse(b"old 1\n\n\xff").is_err());
    }
}
