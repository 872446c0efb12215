//! A checkpoint that the log has signed.

use siegel_translog::{Checkpoint, LogAnchors, ProofError, Tree};

/// A signed note of the log, and what it says. Only the log's own signature was checked: whoever
/// cosigned it, the log stands by it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    note: String,
    checkpoint: Checkpoint,
}

impl Seen {
    /// Verifies a note under the log's name and key.
    ///
    /// # Errors
    /// As [`Checkpoint::verify_note`].
    pub fn verify(note: String, log: &LogAnchors) -> Result<Self, ProofError> {
        let checkpoint = Checkpoint::verify_note(&note, &log.origin, &log.key)?;
        Ok(Self { note, checkpoint })
    }

    /// The exact signed note.
    pub fn note(&self) -> &str {
        &self.note
    }

    /// What it says.
    pub fn checkpoint(&self) -> &Checkpoint {
        &self.checkpoint
    }

    /// Whether the log that is shown as `self`, with its tree, was once as `earlier` says; `None` if
    /// that cannot be told.
    pub(crate) fn holds(&self, earlier: &Self, tree: Option<&Tree>) -> Option<bool> {
        let (now, then) = (&self.checkpoint, &earlier.checkpoint);
        match now.size == then.size {
            true => Some(now.root == then.root),
            false => earlier.is_in(tree?),
        }
    }

    /// Whether a tree holds this state of the log; `None` if it is too short to tell.
    pub(crate) fn is_in(&self, tree: &Tree) -> Option<bool> {
        let root = tree.root_at(self.checkpoint.size)?;
        Some(root == self.checkpoint.root)
    }
}
