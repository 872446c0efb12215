//! Why a proof was refused.

use siegel_ident::json::JsonError;
use siegel_ident::{Digest, QuorumError, Seconds};

use crate::merkle::MerkleError;

/// A refused proof. Each variant names the part that was wrong; none of them is ever a warning.
///
/// Exhaustive on purpose: who adds a variant also says whether another verifier judges it too
/// (`siegel_sigstore`).
#[derive(Debug, thiserror::Error)]
pub enum ProofError {
    /// A part is longer than its bound (I14).
    #[error("{what} has {len} bytes, more than the {max} allowed")]
    TooLong {
        /// Which part.
        what: &'static str,
        /// Its length in bytes.
        len: usize,
        /// The bound in bytes.
        max: usize,
    },
    /// A part is not JSON of the expected shape: an unknown, missing or mistyped field, or not
    /// the canonical spelling.
    #[error("{what}: {source}")]
    Json {
        /// Which document.
        what: &'static str,
        /// What was wrong in it.
        source: JsonError,
    },
    /// A field has another value than the only one that is allowed here.
    #[error("{at} is {found:?}, expected {expected:?}")]
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
    /// A public key that is not a P-256 SubjectPublicKeyInfo.
    #[error("not a P-256 public key in SPKI DER: {0}")]
    Key(&'static str),
    /// The bytes that were signed are not a DSSE pre-authentication encoding.
    #[error("not a DSSE pre-authentication encoding: {0}")]
    Pae(&'static str),
    /// The DSSE signature does not verify under the signer's key.
    #[error("the signature over the statement does not verify under the key with hint {hint}")]
    Signature {
        /// base64(SHA-256(SPKI)) of the key that was tried.
        hint: String,
    },
    /// The entry was signed by another key than the pinned one.
    #[error("signed by the key with hint {found}, but {expected} is pinned")]
    WrongSigner {
        /// Hint of the pinned key.
        expected: String,
        /// Hint of the key in the entry.
        found: String,
    },
    /// The statement is about other bytes than the artifact (I2).
    #[error("the statement is about {stated}, but the artifact's SHA-256 is {artifact}")]
    OtherBytes {
        /// Digest in the statement.
        stated: Digest,
        /// Digest of the bytes that were given.
        artifact: Digest,
    },
    /// The log entry is not the one that follows from signature, key and statement.
    #[error("the logged entry differs from the one rebuilt from the envelope at byte {at}")]
    OtherEntry {
        /// Offset of the first differing byte.
        at: usize,
    },
    /// The checkpoint is not a signed note of the expected form.
    #[error("checkpoint: {0}")]
    CheckpointForm(&'static str),
    /// The checkpoint's signature does not verify under the pinned log key.
    #[error("the checkpoint of {origin:?} is not signed by the pinned log key")]
    CheckpointSignature {
        /// The pinned origin.
        origin: String,
    },
    /// The Merkle proof does not hold.
    #[error("{what} proof: {source}")]
    Merkle {
        /// Inclusion or consistency.
        what: &'static str,
        /// What was wrong.
        source: MerkleError,
    },
    /// A pinned witness' line in the checkpoint is not its cosignature.
    #[error("the cosignature of witness {witness:?}: {why}")]
    Cosignature {
        /// Which witness.
        witness: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// Too few witnesses of distinct operators have cosigned recently enough (I1).
    #[error(
        "{found} witnesses of distinct operators have cosigned the checkpoint within {max_age}, \
         {required} are required ({stale} more are too old, or ahead of this clock); get a fresh \
         proof from the log (I1)"
    )]
    Witnesses {
        /// As the anchors ask.
        required: u32,
        /// Distinct operators whose cosignature counts.
        found: u32,
        /// Cosignatures that verify and are too old or too far in the future.
        stale: u32,
        /// Oldest that counts.
        max_age: Seconds,
    },
    /// Anchors whose witness quorum nobody could enforce.
    #[error("log anchors: {0}")]
    Quorum(#[from] QuorumError),
    /// The anchors themselves are unusable.
    #[error("log anchors: {0}")]
    Anchors(&'static str),
}

impl ProofError {
    pub(crate) fn json(what: &'static str) -> impl Fn(JsonError) -> Self {
        move |source| Self::Json { what, source }
    }

    pub(crate) fn field(at: &'static str, expected: &str, found: &str) -> Self {
        let cut = |s: &str| s.chars().take(200).collect();
        Self::Field {
            at,
            expected: cut(expected),
            found: cut(found),
        }
    }
}

/// Refuses bytes longer than `max`.
pub(crate) fn bounded(what: &'static str, bytes: &[u8], max: usize) -> Result<(), ProofError> {
    if bytes.len() > max {
        return Err(ProofError::TooLong {
            what,
            len: bytes.len(),
            max,
        });
    }
    Ok(())
}
