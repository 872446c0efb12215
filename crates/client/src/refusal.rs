//! Why a device does not upload.

use siegel_attest::{DocumentError, Refusal};
use siegel_endorse::{EndorseError, NotEndorsed};
use siegel_ident::{Budget, BudgetError, Digest, KeyDigest, PolicyDigest, Seconds, Timestamp};
use siegel_policy::{ColumnKind, NotAllowed, PolicyError};
use siegel_program::ProgramError;
use siegel_seal::{OpenError, SealError};
use siegel_translog::{ArchivedError, ProofError};

/// Why what was offered is not trusted. Nothing has been encrypted yet.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientRefusal {
    /// The policy does not parse.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// The exact policy bytes are not proved to be in the log (I1, I2).
    #[error("the policy is not in the log: {0}")]
    PolicyProof(#[source] ProofError),
    /// The policy is beyond this device's own limits, not in use, or for another log (I1).
    #[error(transparent)]
    Limits(NotAllowed),
    /// This device believes certain endorsers, and the policy asks for nobody's endorsement (I1).
    #[error(
        "this device pins endorsers, and the policy demands no endorsement of its binaries and \
         programs (I1)"
    )]
    EndorsersNotDemanded,
    /// The policy would take the endorsement of a key that this device does not believe (I1).
    #[error("the policy believes endorser {found}, whom this device does not pin (I1)")]
    EndorserNotPinned {
        /// That key.
        found: KeyDigest,
    },
    /// More endorsements than are looked at (I14).
    #[error("{found} endorsements are offered, at most {allowed} are looked at (I14)")]
    TooManyEndorsements {
        /// How many came.
        found: usize,
        /// How many are looked at.
        allowed: usize,
    },
    /// One of the offered endorsements is not in the log, or is none (I1, I2).
    #[error(transparent)]
    Endorsement(EndorseError),
    /// Something that the policy lets in is not endorsed as it demands (I3, I9, I11).
    #[error(transparent)]
    NotEndorsed(NotEndorsed),
    /// The genesis document does not parse.
    #[error("genesis: {0}")]
    Genesis(#[source] DocumentError),
    /// The exact genesis bytes are not proved to be in the log (I1, I2).
    #[error("the genesis is not in the log: {0}")]
    GenesisProof(#[source] ProofError),
    /// The cluster is not the one that the policy names (I1).
    #[error("genesis: {0}")]
    Cluster(#[source] NotAllowed),
    /// The cluster believes another log key than this device: it could be shown another log (I1).
    #[error("the cluster checks proofs under another log key than this device pins (I1)")]
    ClusterLogKey,
    /// It would open releases of a log that fewer witnesses have seen, or long ago (I17).
    #[error(
        "the cluster asks for fewer or older cosignatures of witnesses than this device: it could be \
         shown a log of its own (I17)"
    )]
    ClusterQuorum,
    /// It believes a witness that this device does not (I17).
    #[error("the cluster believes witness {name:?}, which is not pinned here (I17)")]
    ClusterWitness {
        /// The witness' name.
        name: String,
    },
    /// The cluster believes another vendor root than this device: it could release keys to what
    /// this device does not trust (I1).
    #[error("the cluster trusts a simulation root that this device does not (I1)")]
    ClusterTrust,
    /// The key bundle is not signed by the cluster key, or does not parse, or is of another
    /// cluster.
    #[error("key bundle: {0}")]
    KeyBundle(#[source] DocumentError),
    /// The key is for another policy.
    #[error("the key is for policy {found}, not for {expected} (I3)")]
    KeyPolicy {
        /// What the bundle names.
        found: PolicyDigest,
        /// The policy at hand.
        expected: PolicyDigest,
    },
    /// The key's suite is not one that the policy lists.
    #[error("key bundle: {0}")]
    KeySuite(#[source] NotAllowed),
    /// The key is not one of its suite.
    #[error("key bundle: {0}")]
    Key(#[source] OpenError),
    /// The key is not in use at this device's clock (I9).
    #[error(
        "the key is in use from {not_before} until {expires}, this device's clock says {now} (I9)"
    )]
    KeyWindow {
        /// First second of use.
        not_before: Timestamp,
        /// First second of no use.
        expires: Timestamp,
        /// The device's clock.
        now: Timestamp,
    },
    /// The key lives longer than the policy allows (I9).
    #[error("the key lives {found}, the policy allows {allowed} (I9)")]
    KeyLifetime {
        /// From `not_before` to `expires`.
        found: Seconds,
        /// The policy's TTL.
        allowed: Seconds,
    },
    /// The checkpoint is not one of the pinned log (I1).
    #[error("checkpoint: {0}")]
    Checkpoint(#[source] ProofError),
    /// The key bundle names another checkpoint (I1).
    #[error("the key bundle names checkpoint {bound}, the one at hand is {found} (I1)")]
    CheckpointNotBound {
        /// SHA-256 in the bundle.
        bound: Digest,
        /// SHA-256 of the note at hand.
        found: Digest,
    },
    /// The checkpoint is older than the policy or an endorsement: the cluster spoke before that was
    /// public.
    #[error("the checkpoint covers {size} entries, the {what} is entry {log_index} (I1)")]
    CheckpointTooOld {
        /// Entries that it covers.
        size: u64,
        /// `policy` or `endorsement`.
        what: &'static str,
        /// Where that stands.
        log_index: u64,
    },
    /// Two checkpoints of one size with different roots: the log shows different things to
    /// different people (I1). Keep both: they prove it.
    #[error("the log has two roots for {size} entries: it equivocates; keep the evidence (I1)")]
    Equivocation {
        /// The size.
        size: u64,
    },
    /// The log has fewer entries than this device has seen (I1).
    #[error(
        "the log shows {found} entries, this device has seen {seen}: fetch the offer again; if that \
         does not help, the log went back (I1)"
    )]
    Rollback {
        /// Entries of the last checkpoint seen.
        seen: u64,
        /// Entries of this one.
        found: u64,
    },
    /// Too few mirrors vouch that the policy can be read (I1).
    #[error("the policy's bytes: {0}")]
    NotArchived(#[source] ArchivedError),
    /// The evidence does not bind this key to a KMS that the policy names (I1, I3, I11).
    #[error("evidence of the key service: {0}")]
    Evidence(#[source] Refusal),
    /// Nothing says when the evidence was made (I1).
    #[error(
        "the evidence does not say when it was made, and no witness dates the checkpoint in it (I1): name the log's witnesses in this configuration"
    )]
    EvidenceUndated,
    /// The evidence is older than any key of this policy may be (I1).
    #[error("the evidence is {age} old, at most {allowed} is allowed (I1)")]
    EvidenceTooOld {
        /// Its age at this device's clock.
        age: Seconds,
        /// The policy's key TTL.
        allowed: Seconds,
    },
}

impl ClientRefusal {
    /// A stable kebab-case code.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Policy(_) => "policy-malformed",
            Self::PolicyProof(_) => "policy-not-logged",
            Self::Limits(error) | Self::Cluster(error) | Self::KeySuite(error) => error.code(),
            Self::EndorsersNotDemanded => "endorsers-not-demanded",
            Self::EndorserNotPinned { .. } => "endorser-not-pinned",
            Self::TooManyEndorsements { .. } => "endorsements-too-many",
            Self::Endorsement(EndorseError::NotLogged(_)) => "endorsement-not-logged",
            Self::Endorsement(_) => "endorsement-malformed",
            Self::NotEndorsed(error) => error.code(),
            Self::Genesis(_) => "genesis-malformed",
            Self::GenesisProof(_) => "genesis-not-logged",
            Self::ClusterLogKey => "cluster-log-key",
            Self::ClusterQuorum => "cluster-quorum",
            Self::ClusterWitness { .. } => "cluster-witness",
            Self::ClusterTrust => "cluster-trust",
            Self::KeyBundle(_) => "key-bundle",
            Self::KeyPolicy { .. } => "key-policy",
            Self::Key(_) => "key-malformed",
            Self::KeyWindow { .. } => "key-window",
            Self::KeyLifetime { .. } => "key-lifetime",
            Self::Checkpoint(_) => "checkpoint",
            Self::CheckpointNotBound { .. } => "checkpoint-not-bound",
            Self::CheckpointTooOld { .. } => "checkpoint-too-old",
            Self::Equivocation { .. } => "log-equivocates",
            Self::Rollback { .. } => "log-rollback",
            Self::NotArchived(_) => "policy-not-archived",
            Self::Evidence(error) => error.code(),
            Self::EvidenceUndated => "evidence-undated",
            Self::EvidenceTooOld { .. } => "evidence-too-old",
        }
    }

    /// The invariant that it upholds; empty if none.
    pub const fn invariant(&self) -> &'static str {
        match self {
            Self::Policy(error) => error.invariant(),
            Self::Limits(error) | Self::Cluster(error) | Self::KeySuite(error) => error.invariant(),
            Self::Endorsement(EndorseError::NotLogged(_)) => "I1",
            Self::Endorsement(_) | Self::Genesis(_) => "I2",
            Self::NotEndorsed(error) => error.invariant(),
            Self::KeyPolicy { .. } => "I3",
            Self::Key(_) | Self::TooManyEndorsements { .. } => "I14",
            Self::KeyWindow { .. } | Self::KeyLifetime { .. } => "I9",
            Self::Evidence(error) => error.invariant(),
            _ => "I1",
        }
    }
}

/// Why a verified policy got no upload from this device.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceRefusal {
    /// The key's time is over since the verification (I9).
    #[error("the key was in use until {expires}, now is {now}: fetch a new key bundle (I9)")]
    Expired {
        /// First second of no use.
        expires: Timestamp,
        /// The device's clock.
        now: Timestamp,
    },
    /// The device's own total would be passed.
    #[error(
        "this device has spent {spent:?} of its {cap:?}; the pipeline's total would add {charge:?}"
    )]
    Cap {
        /// Spent over all pipelines.
        spent: Budget,
        /// What this pipeline would add.
        charge: Budget,
        /// The device's cap.
        cap: Budget,
    },
    /// The sum does not fit its integer.
    #[error("odometer: {0}")]
    Budget(#[from] BudgetError),
    /// The record's columns are not those of the policy.
    #[error("the record has columns {found:?}, the policy wants {expected:?}")]
    Columns {
        /// Names in the record.
        found: Vec<(String, ColumnKind)>,
        /// Names in the policy.
        expected: Vec<(String, ColumnKind)>,
    },
    /// The record cannot be encoded. Says which bound, never the content (I12).
    #[error("record: {0}")]
    Record(#[source] ProgramError),
    /// The record cannot be sealed.
    #[error("seal: {0}")]
    Seal(#[from] SealError),
    /// What is stored of seen logs is not that.
    #[error("seen logs: {0}")]
    SeenLogs(String),
    /// The stored odometer is not one.
    #[error("odometer: {0}")]
    Odometer(String),
}
