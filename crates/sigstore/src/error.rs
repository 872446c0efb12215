//! Why a bundle was refused.

use siegel_ident::{Digest, Timestamp};
use siegel_translog::ProofError;
use siegel_translog::merkle::MerkleError;

/// A refused bundle. Each variant is one check; none of them is ever a warning.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BundleError {
    /// A part is longer than its bound (I14).
    #[error("{what} has {len} bytes or items, more than the {max} allowed")]
    TooLong {
        /// Which part.
        what: &'static str,
        /// Its length.
        len: usize,
        /// The bound.
        max: usize,
    },
    /// A part is not JSON of the expected shape: an unknown, missing, doubled or mistyped field.
    #[error("{what}: {source}")]
    Json {
        /// Which document.
        what: &'static str,
        /// What was wrong in it.
        source: serde_json::Error,
    },
    /// A field has another value than the only one that is allowed here.
    #[error("{at} is {found:?}, expected {expected}")]
    Field {
        /// Path of the field.
        at: &'static str,
        /// What it must be.
        expected: String,
        /// What it was (cut to 200 characters).
        found: String,
    },
    /// A list has not exactly one item.
    #[error("{at} has {found} items, expected exactly one")]
    NotOne {
        /// Path of the list.
        at: &'static str,
        /// How many items it has.
        found: usize,
    },
    /// Something that must be there is not.
    #[error("{0} is missing")]
    Missing(&'static str),
    /// The trusted root is unusable. This says nothing about the bundle.
    #[error("trusted root: {0}")]
    TrustedRoot(String),
    /// The signed thing is about other bytes than the artifact (I2).
    #[error("the bundle is about {stated}, but the artifact's SHA-256 is {artifact}")]
    OtherArtifact {
        /// What the bundle is about.
        stated: String,
        /// SHA-256 of the artifact.
        artifact: Digest,
    },
    /// A key or certificate that is no P-256 key, or is not the expected one.
    #[error("signer: {0}")]
    Signer(&'static str),
    /// The signature does not verify.
    #[error("the signature over the {0} does not verify under the signer's key")]
    Signature(&'static str),
    /// The log entry is not the one that follows from digest, signature and signer.
    #[error("the logged entry differs from the one rebuilt from the bundle at byte {at}")]
    OtherEntry {
        /// Offset of the first differing byte.
        at: usize,
    },
    /// The entry names a log that is not in the trusted root.
    #[error("the log with id {0} is not in the trusted root")]
    UnknownLog(Digest),
    /// The checkpoint is not a signed note of the expected form.
    #[error("checkpoint: {0}")]
    CheckpointForm(&'static str),
    /// The checkpoint is not signed, exactly once, by the log's key under the log's name.
    #[error("the checkpoint is not signed by the key of the log {log:?}: {why}")]
    CheckpointSignature {
        /// The log's name.
        log: String,
        /// What was found.
        why: &'static str,
    },
    /// The inclusion proof does not hold.
    #[error("inclusion proof: {0}")]
    Inclusion(MerkleError),
    /// The log's promise (signed entry timestamp) does not verify.
    #[error("the signed entry timestamp does not verify under the key of the log {log:?}")]
    Promise {
        /// The log's name.
        log: String,
    },
    /// A time is outside of a validity.
    #[error("{what}, {time}, is outside of {validity}")]
    Time {
        /// Which time.
        what: &'static str,
        /// The time, in unix seconds.
        time: Timestamp,
        /// Whose validity.
        validity: &'static str,
    },
    /// A certificate needs a time that somebody vouches for, and there is none.
    #[error(
        "no time that anybody vouches for: a bundle with a certificate needs a timestamp token or a \
         signed entry timestamp"
    )]
    NoTime,
    /// A timestamp token is malformed.
    #[error("timestamp token: {0}")]
    Token(&'static str),
    /// A timestamp token is about other bytes than the signature.
    #[error("the timestamp token is not about this signature")]
    Imprint,
    /// A certificate is malformed.
    #[error("certificate: {0}")]
    Certificate(&'static str),
    /// The strict verifier of policy proofs refuses.
    #[error(transparent)]
    Proof(ProofError),
    /// Ours accepts, the second opinion refuses.
    #[error("the second verifier (sigstore-verify) refuses: {0}")]
    SecondOpinion(String),
    /// The two verifiers of a policy proof do not agree. Refused whichever of them is right.
    #[error("the verifiers disagree on this proof: ours {ours}; sigstore-verify {theirs}")]
    Disagreement {
        /// What ours says.
        ours: String,
        /// What the other says.
        theirs: String,
    },
}

impl BundleError {
    /// The check that failed: stable, kebab-case.
    pub fn check(&self) -> &'static str {
        match self {
            Self::TooLong { .. } => "too-long",
            Self::Json { .. } => "malformed",
            Self::Field { .. } => "field",
            Self::NotOne { .. } => "not-one",
            Self::Missing(_) => "missing",
            Self::TrustedRoot(_) => "trusted-root",
            Self::OtherArtifact { .. } => "other-artifact",
            Self::Signer(_) => "signer",
            Self::Signature(_) => "signature",
            Self::OtherEntry { .. } => "other-entry",
            Self::UnknownLog(_) => "unknown-log",
            Self::CheckpointForm(_) => "checkpoint-form",
            Self::CheckpointSignature { .. } => "checkpoint-signature",
            Self::Inclusion(_) => "inclusion-proof",
            Self::Promise { .. } => "entry-timestamp",
            Self::Time { .. } => "time",
            Self::NoTime => "no-time",
            Self::Token(_) => "timestamp-token",
            Self::Imprint => "timestamp-imprint",
            Self::Certificate(_) => "certificate",
            Self::Proof(_) => "policy-proof",
            Self::SecondOpinion(_) => "second-opinion",
            Self::Disagreement { .. } => "verifiers-disagree",
        }
    }

    pub(crate) fn json(what: &'static str) -> impl Fn(serde_json::Error) -> Self {
        move |source| Self::Json { what, source }
    }

    pub(crate) fn field(at: &'static str, expected: &str, found: &str) -> Self {
        Self::Field {
            at,
            expected: format!("{expected:?}"),
            found: found.chars().take(200).collect(),
        }
    }
}

/// Refuses more than `max` bytes or items.
pub(crate) fn bounded(what: &'static str, len: usize, max: usize) -> Result<(), BundleError> {
    if len > max {
        return Err(BundleError::TooLong { what, len, max });
    }
    Ok(())
}
