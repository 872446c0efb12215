//! Witness cosignatures: C2SP tlog-cosignature, `cosignature/v1` with Ed25519.
//!
//! A witness signs the checkpoint together with the time when it saw it, after it has checked that
//! the log grew from what it saw before. A cosignature is worth what its witness is worth: which ones
//! count, and how many, is the verifier's business ([`WitnessQuorum`]), never the log's.

use std::collections::BTreeMap;

use ring::signature::{ED25519, UnparsedPublicKey};
use siegel_ident::{Digest, NamedKey, Seconds, Timestamp, WitnessQuorum};

use crate::error::ProofError;
use crate::note::{Note, SignatureLine, signature_line};

/// How far a witness' clock may be ahead of the verifier's.
pub const CLOCK_SKEW: Seconds = Seconds(300);
/// Length of a `cosignature/v1` in a signature line: time (u64, big-endian) ‖ Ed25519 signature.
const LEN: usize = 8 + 64;

/// First four bytes of SHA-256(name ‖ 0x0A ‖ 0x04 ‖ key).
pub fn key_id(name: &str, key: &[u8; 32]) -> [u8; 4] {
    let id = Digest::of(&[name.as_bytes(), b"\n\x04", key].concat());
    let [a, b, c, d, ..] = *id.as_bytes();
    [a, b, c, d]
}

/// What a witness signs: a header with the time (seconds since 1970), and the note's text.
pub fn signed_text(note_text: &str, time: Timestamp) -> String {
    format!("cosignature/v1\ntime {time}\n{note_text}")
}

/// The signature line of a witness, with its newline, given its signature over [`signed_text`].
pub fn line(name: &str, key: &[u8; 32], time: Timestamp, signature: &[u8; 64]) -> String {
    let value = [&time.0.to_be_bytes()[..], signature].concat();
    signature_line(name, &key_id(name, key), &value)
}

/// The time of one witness' cosignature in a note; `None` if it has not cosigned.
///
/// # Errors
/// [`ProofError::Cosignature`] if there is a line under its name and key id that does not verify, or
/// more than one.
pub fn verify(note: &Note<'_>, witness: &NamedKey) -> Result<Option<Timestamp>, ProofError> {
    let id = key_id(&witness.name, &witness.key);
    let mine = |line: &&SignatureLine<'_>| line.name == witness.name && line.key_id == id;
    let mut lines = note.signatures.iter().filter(mine);
    let Some(line) = lines.next() else {
        return Ok(None);
    };
    let wrong = |why| ProofError::Cosignature {
        witness: witness.name.clone(),
        why,
    };
    if lines.next().is_some() {
        return Err(wrong("it stands there twice"));
    }
    let exact = (line.signature.len() == LEN).then_some(&line.signature);
    let (time, signature) = exact
        .and_then(|value| value.split_first_chunk())
        .ok_or(wrong("it has not 72 bytes"))?;
    let time = Timestamp(u64::from_be_bytes(*time));
    UnparsedPublicKey::new(&ED25519, &witness.key)
        .verify(signed_text(note.text, time).as_bytes(), signature)
        .map_err(|_| wrong("it does not verify under the pinned key"))?;
    Ok(Some(time))
}

/// Checks that enough witnesses of distinct operators have cosigned recently (I1), and returns the
/// latest time that so many of them vouch for; `None` where no witnesses are required.
///
/// Lines of others are ignored, as C2SP asks; a pinned witness' line must verify even if there are
/// enough without it.
///
/// # Errors
/// [`ProofError::Cosignature`], [`ProofError::Witnesses`].
pub fn check_quorum(
    note: &Note<'_>,
    quorum: &WitnessQuorum,
    now: Timestamp,
) -> Result<Option<Timestamp>, ProofError> {
    let mut latest: BTreeMap<&str, Timestamp> = BTreeMap::new();
    let mut stale = 0;
    for witness in &quorum.witnesses {
        let Some(time) = verify(note, witness)? else {
            continue;
        };
        if time.plus(quorum.max_age) < now || time > now.plus(CLOCK_SKEW) {
            stale += 1;
            continue;
        }
        let best = latest.entry(&witness.operator).or_insert(time);
        *best = time.max(*best);
    }
    if quorum.is_none() {
        return Ok(None);
    }
    let mut times: Vec<_> = latest.into_values().collect();
    times.sort_unstable_by(|a, b| b.cmp(a));
    let needed = quorum.required as usize;
    match times.get(needed.saturating_sub(1)) {
        Some(time) => Ok(Some(*time)),
        None => Err(ProofError::Witnesses {
            required: quorum.required,
            found: times.len() as u32,
            stale,
            max_age: quorum.max_age,
        }),
    }
}

#[cfg(test)]
mod tests;
