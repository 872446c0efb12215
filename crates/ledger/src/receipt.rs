//! Receipts: one hash chain per cluster, numbered without gaps (I17).

use serde::{Deserialize, Serialize};
use siegel_ident::json::{JsonError, from_canonical, present, to_canonical};
use siegel_ident::{
    Budget, ClusterId, Digest, EpochId, Fencing, InputRoot, ObjectDigest, PolicyDigest,
    ProgramDigest, ReceiptDigest, RunId, Step, Timestamp,
};

use crate::limits::MAX_RECEIPT;

/// `schema` of a receipt.
pub const RECEIPT_SCHEMA: &str = "siegel/receipt/v1";
/// Predicate type of the statement that a receipt is logged under.
pub const RECEIPT_PREDICATE: &str = "https://siegel.dev/receipt/v1";

/// The unsigned body. Chain and comparison are over its exact bytes; the shell signs it after
/// commit, and ECDSA is randomised, so signatures of one body may differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Receipt {
    /// [`RECEIPT_SCHEMA`].
    pub schema: String,
    /// The cluster.
    pub cluster: ClusterId,
    /// Counted from 1, without gaps.
    pub seq: u64,
    /// Digest of the body before; for the first one, the genesis digest.
    pub previous: Digest,
    /// The replicated clock.
    pub at: Timestamp,
    /// What happened.
    pub fact: Fact,
}

/// What a receipt states. `spent` is the pipeline's running total after it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Fact {
    /// A policy became the current one of its pipeline.
    PolicyRegistered {
        /// The policy.
        policy: PolicyDigest,
        /// The pipeline.
        pipeline: String,
        /// The one it replaces.
        predecessor: Option<PolicyDigest>,
        /// Where it stands in the log.
        log_index: u64,
        /// The pipeline's total from now on.
        total: Budget,
        /// What earlier versions spent of it.
        spent: Budget,
        /// First second in which something that it lets in is endorsed no more: from then on nothing
        /// starts under it (I9). `null` if it demands no endorsements.
        #[serde(deserialize_with = "present")]
        endorsed_until: Option<Timestamp>,
    },
    /// A key epoch opened.
    EpochOpened {
        /// The epoch.
        epoch: EpochId,
        /// Its policy.
        policy: PolicyDigest,
        /// When its keys are erased.
        expires: Timestamp,
    },
    /// A run was registered and its whole cost debited.
    RunRegistered {
        /// The run.
        run: RunId,
        /// Its policy.
        policy: PolicyDigest,
        /// The program.
        program: ProgramDigest,
        /// The pipeline that pays.
        pipeline: String,
        /// SHA-256 of the exact parameter bytes.
        parameters: Digest,
        /// The epochs whose uploads are read.
        epochs: Vec<EpochId>,
        /// No key after this.
        deadline: Timestamp,
        /// Merkle root over the sorted blob digests.
        input_root: InputRoot,
        /// How many blobs.
        blob_count: u64,
        /// How many steps are planned.
        steps: u64,
        /// What was debited.
        cost: Budget,
        /// The pipeline's running total.
        spent: Budget,
    },
    /// A root incarnation got the run's keys: from here on there is no refund (I6).
    RunTaken {
        /// The run.
        run: RunId,
        /// The incarnation's number.
        fencing: Fencing,
    },
    /// A step has its one result.
    StepCommitted {
        /// The run.
        run: RunId,
        /// Its policy.
        policy: PolicyDigest,
        /// The step.
        step: Step,
        /// The incarnation that committed it.
        fencing: Fencing,
        /// What the step before left.
        previous_state: Digest,
        /// The sealed checkpoint.
        checkpoint: ObjectDigest,
        /// The sealed release.
        release: Option<ObjectDigest>,
        /// What the step costs, from the allotment.
        cost: Budget,
        /// What the run's steps have used of the allotment, this one included.
        used: Budget,
    },
    /// A run that nobody had taken was taken back.
    RunCancelled {
        /// The run.
        run: RunId,
        /// The pipeline that gets its money back.
        pipeline: String,
        /// How much.
        refund: Budget,
        /// The pipeline's running total.
        spent: Budget,
    },
    /// A run ended before its last step; nothing went back.
    RunAbandoned {
        /// The run.
        run: RunId,
        /// Its last committed step.
        step: Step,
    },
    /// A run ended after its last step.
    RunFinished {
        /// The run.
        run: RunId,
        /// Its last committed step.
        step: Step,
    },
    /// A run's deadline passed before it ended; nothing went back.
    RunExpired {
        /// The run.
        run: RunId,
        /// Its last committed step.
        step: Step,
    },
    /// An epoch's keys are erased, and those of the runs over it; nothing of them opens any more.
    EpochExpired {
        /// The epoch.
        epoch: EpochId,
        /// The runs that lost their keys with it.
        runs: Vec<RunId>,
    },
}

/// Why bytes are not a receipt.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReceiptError {
    /// Not canonical JSON of this shape, or too long.
    #[error("receipt: {0}")]
    Json(#[from] JsonError),
    /// Another schema.
    #[error("receipt: schema is {0:?}, expected {RECEIPT_SCHEMA:?}")]
    Schema(String),
}

impl Receipt {
    /// Reads a body; anything but its canonical bytes is refused (I2).
    pub fn parse(bytes: &[u8]) -> Result<Self, ReceiptError> {
        let receipt: Self = from_canonical(bytes, MAX_RECEIPT)?;
        if receipt.schema != RECEIPT_SCHEMA {
            return Err(ReceiptError::Schema(receipt.schema));
        }
        Ok(receipt)
    }

    /// The canonical body.
    pub fn to_bytes(&self) -> Result<Vec<u8>, ReceiptError> {
        Ok(to_canonical(self)?)
    }

    /// What the next receipt names as `previous`, and what the log entry's subject is.
    pub fn digest_of(body: &[u8]) -> ReceiptDigest {
        ReceiptDigest::of(body)
    }
}
