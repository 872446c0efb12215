//! Whether a checkpoint is cosigned: a function of what was seen, the request, and the time.

use siegel_ident::Timestamp;
use siegel_translog::merkle::{self, MerkleError};
use siegel_translog::note::Note;
use siegel_translog::{Checkpoint, cosignature};

use super::evidence::{Evidence, Kind};
use super::key::WitnessKey;
use super::request::AddCheckpoint;
use super::seen::Seen;
use super::{Refused, WitnessLog};

/// What to do with a request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// Remember the note, durably; then answer with the line.
    Cosign {
        origin: String,
        note: String,
        line: String,
    },
    /// The log believes something else of what was seen here, or has two roots for one size.
    Conflict {
        size: u64,
        evidence: Option<Evidence>,
    },
    /// The proof does not lead from what was seen to this.
    NotProven {
        why: String,
        evidence: Option<Evidence>,
    },
    /// Not looked at further.
    Refuse(Refused, String),
}

pub(crate) fn decide(
    key: &WitnessKey,
    logs: &[WitnessLog],
    seen: &Seen,
    body: &[u8],
    now: Timestamp,
) -> Decision {
    let offered = match verified(logs, body) {
        Ok(offered) => offered,
        Err((kind, why)) => return Decision::Refuse(kind, why),
    };
    let (request, checkpoint) = (&offered.request, &offered.checkpoint);
    let origin = &checkpoint.origin;
    let last = seen.checkpoint(origin);
    let (size, root) = last
        .as_ref()
        .map_or((0, merkle::empty_root()), |last| (last.size, last.root));
    let evidence = |kind| {
        let before = seen.note(origin)?.to_owned();
        let (origin, other) = (origin.clone(), offered.note.clone());
        Some(Evidence {
            kind,
            origin,
            before,
            other,
        })
    };
    // Whatever the log says that we have seen: two roots for one size are two logs.
    if checkpoint.size == size && checkpoint.root != root {
        let evidence = evidence(Kind::Fork);
        return Decision::Conflict { size, evidence };
    }
    if request.old > checkpoint.size {
        let why = "the old size is larger than the checkpoint's".to_owned();
        return Decision::Refuse(Refused::Malformed, why);
    }
    if request.old != size {
        let evidence = None;
        return Decision::Conflict { size, evidence };
    }
    let proof = &request.proof;
    match merkle::verify_consistency(size, &root, checkpoint.size, &checkpoint.root, proof) {
        Ok(()) => {
            let line = key.cosign(&checkpoint.note_text(), now);
            let note = format!("{}{line}", offered.note);
            let origin = origin.clone();
            Decision::Cosign { origin, note, line }
        }
        Err(error) => {
            // A proof of another length may be the sender's mistake as well; both are kept, since
            // only the two notes together can tell.
            let grew = checkpoint.size > size && !matches!(error, MerkleError::Shrank { .. });
            let evidence = grew.then(|| evidence(Kind::Unproven)).flatten();
            let why = error.to_string();
            Decision::NotProven { why, evidence }
        }
    }
}

/// A request whose note is signed by a log that is watched.
struct Offered {
    request: AddCheckpoint,
    checkpoint: Checkpoint,
    /// The note with the log's own line alone: others' lines are not ours to keep.
    note: String,
}

fn verified(logs: &[WitnessLog], body: &[u8]) -> Result<Offered, (Refused, String)> {
    let malformed = |why: &dyn std::fmt::Display| (Refused::Malformed, why.to_string());
    let request = AddCheckpoint::parse(body).map_err(|why| malformed(&why))?;
    let (checkpoint, note) = {
        let note = Note::parse(&request.note).map_err(|why| malformed(&why))?;
        let stated = Checkpoint::parse_text(note.text).map_err(|why| malformed(&why))?;
        let mut known = logs.iter().filter(|log| log.origin == stated.origin);
        // A log may have a second key while it changes its key.
        let mut refused = (
            Refused::UnknownLog,
            "this log is not watched here".to_owned(),
        );
        let signed =
            known.find_map(
                |log| match Checkpoint::verify_parsed(&note, &log.origin, &log.key) {
                    Ok(checkpoint) => Some((checkpoint, log)),
                    Err(why) => {
                        refused = (Refused::UnknownKey, why.to_string());
                        None
                    }
                },
            );
        let (checkpoint, log) = signed.ok_or(refused)?;
        let own = note.signatures.iter().find(|line| line.name == log.origin);
        let signature = own.and_then(|line| line.signature.as_slice().try_into().ok());
        let signature: &[u8; 64] = signature.ok_or((
            Refused::UnknownKey,
            "the log's signature has not 64 bytes".to_owned(),
        ))?;
        let note = checkpoint.to_note(&log.key, signature);
        (checkpoint, note)
    };
    Ok(Offered {
        request,
        checkpoint,
        note,
    })
}

/// The checkpoint of a note that this witness has cosigned; `None` for any other note.
pub(crate) fn own(note: &str, key: &WitnessKey) -> Option<Checkpoint> {
    let note = Note::parse(note).ok()?;
    cosignature::verify(&note, &key.named("self")).ok()??;
    Checkpoint::parse_text(note.text).ok()
}
