//! Statements of vendors never get older: a number that rose once is the least from then on (46).
//!
//! A platform whose patch level was found wanting, and a key that was revoked, would pass again with the vendor's
//! statements of before. Each host brings its own; the cluster remembers the newest that any has shown, through
//! snapshots and changes of members.

use std::collections::BTreeMap;

use siegel_attest::hardware::Mark;

use crate::limits::{MAX_INTEGER, MAX_MARKS, MAX_MARKS_EACH};
use crate::refusal::bounded;
use crate::{Ledger, Refusal};

/// Longest name of a mark, in bytes.
const NAME_MAX: usize = 64;

impl Ledger {
    /// The newest statements of vendors that any evidence has rested on, by name.
    pub fn marks(&self) -> &BTreeMap<String, u64> {
        &self.state.marks
    }

    /// The marks as they are once this evidence is accepted. Nothing is kept yet: the caller may have more to refuse.
    ///
    /// # Errors
    /// [`Refusal::RolledBack`] if the evidence rests on an older statement than one that was shown before.
    pub(crate) fn newer(&self, shown: &[Mark]) -> Result<BTreeMap<String, u64>, Refusal> {
        bounded("marks", shown.len(), MAX_MARKS_EACH)?;
        let mut marks = self.state.marks.clone();
        for Mark { what, value } in shown {
            bounded("marks.what", what.len(), NAME_MAX)?;
            if *value > MAX_INTEGER {
                return Err(Refusal::OutOfBounds {
                    field: "marks.value".to_owned(),
                    value: *value,
                    max: MAX_INTEGER,
                });
            }
            let least = marks.get(what).copied();
            if let Some(least) = least.filter(|least| value < least) {
                return Err(Refusal::RolledBack {
                    what: what.clone(),
                    found: *value,
                    least,
                });
            }
            // Vendors sign these names; there are as many as models of theirs.
            if least.is_none() && marks.len() >= MAX_MARKS {
                return Err(Refusal::Full {
                    what: "statements of vendors".to_owned(),
                    max: MAX_MARKS as u64,
                });
            }
            marks.insert(what.clone(), *value);
        }
        Ok(marks)
    }
}
