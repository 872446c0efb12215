//! Why evidence of hardware was refused.

use super::{Check, Outcome, Status};

/// Evidence that does not convince. Names the first check that failed; where the evidence was authentic and
/// only a policy refused it, `outcomes` has every check.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{check}: {detail}")]
pub struct Rejection {
    /// The first check that failed.
    pub check: Check,
    /// What was found and what was wanted.
    pub detail: String,
    /// What was asked before, and where all are asked, also after.
    pub outcomes: Vec<Outcome>,
}

impl Rejection {
    /// The one check that failed before anything else could be asked.
    pub(crate) fn new(check: Check, detail: impl Into<String>) -> Self {
        let detail = detail.into();
        Self {
            check,
            outcomes: vec![Outcome {
                check,
                status: Status::Failed,
                detail: detail.clone(),
            }],
            detail,
        }
    }
}
