//! Which questions both verifiers of a policy proof answer.
//!
//! | ours refuses for | `sigstore-verify` |
//! |---|---|
//! | the signature over the statement; another signer than the pinned one | judges it too |
//! | other bytes than the artifact's (I2) | judges it too |
//! | an entry that does not follow from signature, key and statement | judges it too |
//! | the log's signature under the checkpoint; the inclusion proof | judges it too |
//! | length, unknown, doubled or misspelled fields, more than one entry | is not asked |
//! | a field with another value: predicate type, hint, log id, origin, indices | is not asked |
//! | the form of checkpoint, key or pre-authentication encoding | is not asked |
//! | witnesses: too few, too old, or a line that is no cosignature (I1) | is not asked |
//! | the anchors themselves | is not asked |
//!
//! Only where both judge can they disagree. What ours asks alone is an ordinary refusal, whatever the
//! other says of the rest.

use siegel_translog::ProofError;

/// Whose question a check is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// Both verifiers answer it: if one accepts, one of them is wrong.
    OfBoth,
    /// Only ours does.
    OfOurs,
}

/// Whose question the check is that failed. `spelled` says that the body of the log entry has the one
/// allowed spelling: one with another is a matter of form, as for every other document.
pub(crate) fn asked(why: &ProofError, spelled: bool) -> Asked {
    match why {
        ProofError::Signature { .. }
        | ProofError::WrongSigner { .. }
        | ProofError::OtherBytes { .. }
        | ProofError::CheckpointSignature { .. }
        | ProofError::Merkle { .. } => Asked::OfBoth,
        ProofError::OtherEntry { .. } if spelled => Asked::OfBoth,
        ProofError::OtherEntry { .. }
        | ProofError::TooLong { .. }
        | ProofError::Json { .. }
        | ProofError::Field { .. }
        | ProofError::NotOne { .. }
        | ProofError::Key(_)
        | ProofError::Pae(_)
        | ProofError::CheckpointForm(_)
        | ProofError::Cosignature { .. }
        | ProofError::Witnesses { .. }
        | ProofError::Quorum(_)
        | ProofError::Anchors(_) => Asked::OfOurs,
    }
}
