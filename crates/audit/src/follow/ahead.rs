//! Notes of the log that are ahead of what it shows here, until it has grown so far (I1).

use serde::{Deserialize, Serialize};
use siegel_translog::{LogAnchors, ProofError};

use super::Seen;

/// So many are kept.
pub(super) const AHEAD_MAX: usize = 64;
/// As much of an observer's name is kept, in characters.
const FROM_MAX: usize = 1024;

/// What an observer was shown and this auditor was not, yet. As soon as the log has so many entries
/// here, its root must have been this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ahead {
    /// Which observer.
    pub(super) from: String,
    /// Its note.
    pub(super) seen: Seen,
    /// What the log showed here then was the beginning of it.
    pub(super) proven: bool,
}

/// The same in a document.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AheadJson {
    from: String,
    note: String,
    proven: bool,
}

impl Ahead {
    pub(super) fn new(from: &str, seen: &Seen, proven: bool) -> Self {
        Self {
            from: from.chars().take(FROM_MAX).collect(),
            seen: seen.clone(),
            proven,
        }
    }

    /// Keeps it, in place of one that is proven if there is no room. False if there is none at all.
    pub(super) fn keep_in(self, list: &mut Vec<Self>) -> bool {
        if list.len() >= AHEAD_MAX {
            match list.iter().position(|old| old.proven) {
                Some(at) => list.remove(at),
                None => return false,
            };
        }
        list.push(self);
        true
    }

    pub(super) fn to_json(&self) -> AheadJson {
        AheadJson {
            from: self.from.clone(),
            note: self.seen.note().to_owned(),
            proven: self.proven,
        }
    }

    /// Verifies the note again.
    pub(super) fn of_json(json: AheadJson, log: &LogAnchors) -> Result<Self, ProofError> {
        Ok(Self {
            from: json.from,
            seen: Seen::verify(json.note, log)?,
            proven: json.proven,
        })
    }
}
