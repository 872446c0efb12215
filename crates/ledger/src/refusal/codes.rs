//! What a caller can act on without reading the message.

use crate::{Refusal, RunPhase};

impl Refusal {
    /// Stable code in kebab-case; the same word as in the replicated state.
    pub fn code(&self) -> &'static str {
        self.facts().0
    }

    /// The invariant it upholds; empty if it is plain checking.
    pub fn invariant(&self) -> &'static str {
        self.facts().1
    }

    /// Which part of the request it is about.
    pub fn place(&self) -> &'static str {
        self.facts().2
    }

    fn facts(&self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::OutOfBounds { .. } => ("out-of-bounds", "I14", "request"),
            Self::Full { .. } => ("full", "I14", "cluster"),
            Self::RequestIdReused {} => ("request-id-reused", "I6", "request_id"),
            Self::NoReceipt { .. } => ("no-receipt", "I17", "receipt"),
            Self::BadPolicy { .. } => ("bad-policy", "I2", "policy"),
            Self::BadProof { .. } => ("bad-proof", "I1", "bundle"),
            Self::ProfileMismatch { .. } => ("profile-mismatch", "I11", "policy.profile"),
            Self::PolicyMismatch { .. } => ("policy-mismatch", "I3", "policy"),
            Self::OutsideWindow { .. } => ("outside-window", "I9", "policy"),
            Self::WrongPredecessor { .. } => ("wrong-predecessor", "I6", "policy.predecessor"),
            Self::BudgetRaised { .. } => ("budget-raised", "I6", "policy.privacy.total"),
            Self::BadEndorsement { .. } => ("bad-endorsement", "I1", "endorsements"),
            Self::EndorsementsNotDemanded {} => ("endorsements-not-demanded", "I3", "endorsements"),
            Self::BinaryNotEndorsed { .. } => ("binary-not-endorsed", "I3", "endorsements"),
            Self::ProgramNotEndorsed { .. } => ("program-not-endorsed", "I3", "endorsements"),
            Self::EndorsedOtherFlavour { .. } => ("endorsed-other-flavour", "I11", "endorsements"),
            Self::EndorsementExpired { .. } => ("endorsement-expired", "I9", "endorsements"),
            Self::UnknownPolicy { .. } => ("unknown-policy", "I3", "policy"),
            Self::PolicySuperseded { .. } => ("policy-superseded", "I3", "policy"),
            Self::UnknownEpoch { .. } => ("unknown-epoch", "I9", "epochs"),
            Self::EpochExpired { .. } => ("epoch-expired", "I9", "epochs"),
            Self::ForeignEpoch { .. } => ("foreign-epoch", "I3", "epochs"),
            Self::BadEpochs { .. } => ("bad-epochs", "I14", "epochs"),
            Self::RolledBack { .. } => ("tcb-rolled-back", "I3", "evidence"),
            Self::WorkloadNotAllowed { .. } => ("workload-not-allowed", "I3", "evidence"),
            Self::ProgramNotAllowed { .. } => ("program-not-allowed", "I3", "program"),
            Self::BadParameters { .. } => ("bad-parameters", "I2", "parameters"),
            Self::BadDeadline { .. } => ("bad-deadline", "I9", "deadline"),
            Self::TooFewBlobs { .. } => ("too-few-blobs", "I3", "blob_count"),
            Self::BudgetExhausted { .. } => ("budget-exhausted", "I6", "parameters.total"),
            Self::FreshValues {} => ("fresh-values", "I7", "fresh"),
            Self::RunExists { .. } => ("run-exists", "I6", "run"),
            Self::UnknownRun { .. } => ("unknown-run", "I3", "run"),
            Self::RunOver {
                phase: RunPhase::Expired,
                ..
            } => ("run-over", "I9", "run"),
            Self::RunOver { .. } => ("run-over", "I3", "run"),
            Self::RunErased { .. } => ("run-erased", "I9", "run"),
            Self::RunNotTaken { .. } => ("run-not-taken", "I3", "run"),
            Self::RunHasKeys { .. } => ("run-has-keys", "I6", "run"),
            Self::StaleFencing { .. } => ("stale-fencing", "I6", "fencing"),
            Self::NotTheHolder { .. } => ("not-the-holder", "I3", "session"),
            Self::WrongStep { .. } => ("wrong-step", "I6", "step"),
            Self::WrongPrevious { .. } => ("wrong-previous", "I6", "previous"),
            Self::WrongCost { .. } => ("wrong-cost", "I6", "cost"),
            Self::RunUnfinished { .. } => ("run-unfinished", "I6", "run"),
            Self::NoRelease { .. } => ("no-release", "I17", "step"),
            Self::NotPublic { .. } => ("not-public", "I3", "policy.recipients"),
            Self::ReceiptNotLogged { .. } => ("receipt-not-logged", "I17", "bundle"),
            Self::ReceiptForgotten { .. } => ("receipt-forgotten", "I17", "receipt"),
            Self::PeerNotAllowed { .. } => ("peer-not-allowed", "I10", "evidence"),
            Self::UnknownPlace { .. } => ("unknown-place", "I10", "place"),
            Self::AdmissionPending { .. } => ("admission-pending", "I10", "place"),
            Self::MemberChanged { .. } => ("member-changed", "I10", "place"),
            Self::NoAdmission { .. } => ("no-admission", "I10", "member"),
        }
    }
}
