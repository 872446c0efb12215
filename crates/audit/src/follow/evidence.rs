//! Two notes that one log has signed and that cannot both be true.

use serde::{Deserialize, Serialize};
use siegel_ident::Digest;

use super::Seen;

/// A contradiction that anyone can check with the log's key alone. It cannot be denied, so it is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// Id of the finding.
    pub finding: String,
    /// What the two notes contradict each other in.
    pub message: String,
    /// What the log shows now; where two observers contradict each other, what one of them sees.
    pub shown: SignedNote,
    /// What it has signed besides.
    pub other: SignedNote,
}

/// A signed note, and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignedNote {
    /// The log, an observer, or the state of an earlier audit.
    pub from: String,
    /// The exact signed note.
    pub note: String,
}

impl Evidence {
    pub(crate) fn new(finding: &str, message: &str, shown: &Seen, other: (&str, &Seen)) -> Self {
        Self::between(finding, message, ("the log", shown), other)
    }

    /// The same of any two.
    pub(crate) fn between(
        finding: &str,
        message: &str,
        shown: (&str, &Seen),
        other: (&str, &Seen),
    ) -> Self {
        let signed = |(from, seen): (&str, &Seen)| SignedNote {
            from: from.to_owned(),
            note: seen.note().to_owned(),
        };
        Self {
            finding: finding.to_owned(),
            message: message.to_owned(),
            shown: signed(shown),
            other: signed(other),
        }
    }

    /// Names the contradiction: the same two notes have the same name, so it is kept once.
    pub fn name(&self) -> String {
        let both = format!("{}\0{}", self.shown.note, self.other.note);
        let digest = Digest::of(both.as_bytes()).to_string();
        let short: String = digest.chars().take(16).collect();
        format!("{}-{short}", self.finding)
    }
}
