//! What can go wrong on an errand.

use siegel_ident::{RunId, Step};

/// Why an errand failed. The parts name themselves; this adds which errand it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OperatorError {
    /// The key service refused or did not answer.
    #[error("{errand}: {source}")]
    Kms {
        /// What was being done.
        errand: &'static str,
        /// The cause.
        source: siegel_keys::KeysError,
    },
    /// The log or its archive refused or did not answer.
    #[error("{errand}: {source}")]
    Log {
        /// What was being done.
        errand: &'static str,
        /// The cause.
        source: siegel_rekor::RekorError,
    },
    /// Too few witnesses have cosigned what the log answers, for as long as was waited.
    #[error(
        "{errand}: {source}; waited {waited_s} s for {missing}. Are these witnesses running, and does the \
         log know them?"
    )]
    Unwitnessed {
        /// What was being done.
        errand: &'static str,
        /// What is missing.
        source: Box<siegel_translog::ProofError>,
        /// How long was waited.
        waited_s: u64,
        /// The names of the witnesses that are lacking.
        missing: String,
    },
    /// The depot refused or did not answer.
    #[error("{errand}: {source}")]
    Depot {
        /// What was being done.
        errand: &'static str,
        /// The cause.
        source: siegel_link::LinkError,
    },
    /// What was carried is not what it should be.
    #[error("{what}: {why}")]
    Document {
        /// Which document.
        what: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// The root stopped the run.
    #[error("the root stopped the run: {message} ({code})")]
    Stopped {
        /// Stable code.
        code: String,
        /// The invariant, or empty.
        invariant: String,
        /// Where.
        place: String,
        /// What.
        message: String,
    },
    /// The root cannot be reached, or its stream broke.
    #[error("the root cannot be reached: {0}; its log says why")]
    Root(String),
    /// There is no receipt for a step.
    #[error("no receipt of step {step} of run {run}: the step is not committed")]
    NoReceipt {
        /// The run.
        run: RunId,
        /// The step.
        step: Step,
    },
    /// A sealed release does not open with the key that the KMS gave.
    #[error("the release does not open: {0}")]
    Open(#[from] siegel_seal::OpenError),
}

impl OperatorError {
    pub(crate) fn document(what: &'static str, why: impl ToString) -> Self {
        Self::Document {
            what,
            why: why.to_string(),
        }
    }
}
