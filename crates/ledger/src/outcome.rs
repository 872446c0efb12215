//! What an entry led to.

use serde::{Deserialize, Serialize};
use siegel_ident::{
    EpochId, Fencing, NodeId, PolicyDigest, ReceiptDigest, RunId, Seconds, Step, Timestamp,
};

use crate::Refusal;

/// The answer to whoever asked, and what the shell has to do besides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// The answer.
    pub outcome: Outcome,
    /// In the order in which they happened.
    pub effects: Vec<Effect>,
}

/// The answer to one request; the same on every replica.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It was done, or had been done before under the same request id.
    Done(Done),
    /// It was refused and changed nothing.
    Refused(Refusal),
}

impl From<Result<Done, Refusal>> for Outcome {
    fn from(result: Result<Done, Refusal>) -> Self {
        match result {
            Ok(done) => Self::Done(done),
            Err(refusal) => Self::Refused(refusal),
        }
    }
}

/// What was done. Small: bodies are read from the ledger's queries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "done", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Done {
    /// The policy is registered.
    PolicyRegistered {
        /// Its digest.
        policy: PolicyDigest,
    },
    /// The epoch is live.
    EpochOpened {
        /// Its id.
        epoch: EpochId,
        /// Until when.
        expires: Timestamp,
    },
    /// The run is registered and paid for; nobody has its keys yet.
    RunRegistered {
        /// Its id.
        run: RunId,
        /// Sequence number of the registration's receipt.
        receipt: u64,
    },
    /// The root may have the run's root keys.
    RunTaken {
        /// The run.
        run: RunId,
        /// Its number.
        fencing: Fencing,
    },
    /// The worker may have the run's worker keys.
    WorkerAuthorized {
        /// The run.
        run: RunId,
    },
    /// The step has its one result.
    StepCommitted {
        /// The run.
        run: RunId,
        /// The step.
        step: Step,
        /// Sequence number of its receipt.
        receipt: u64,
    },
    /// The worker may start blocks.
    LeaseRenewed {
        /// How long, counted from when it sent the request.
        lease: Seconds,
    },
    /// The DEK of this release may be unwrapped and handed out.
    ReleaseOpened {
        /// The run.
        run: RunId,
        /// The step.
        step: Step,
    },
    /// The run's cost went back to its pipeline.
    RunCancelled {
        /// The run.
        run: RunId,
    },
    /// The run ended early; nothing went back.
    RunAbandoned {
        /// The run.
        run: RunId,
    },
    /// The run ended.
    RunFinished {
        /// The run.
        run: RunId,
    },
    /// The process may have the cluster's secrets and catch up.
    Admitted {
        /// Its id.
        member: NodeId,
    },
    /// The admission is over.
    Withdrawn {
        /// The id that was given.
        member: NodeId,
    },
    /// The clock was read.
    Ticked {
        /// The replicated clock.
        clock: Timestamp,
    },
}

/// What the shell of every replica does after an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Effect {
    /// A receipt joined the chain: sign it and have it logged (I17).
    Receipt {
        /// Its number.
        seq: u64,
        /// SHA-256 of its body.
        digest: ReceiptDigest,
    },
    /// Erase every copy of this epoch's secret and of what was derived from it (I9).
    EraseEpoch(EpochId),
    /// Erase every copy of this run's secret and of what was derived from it (I9).
    EraseRun(RunId),
    /// Erase root and worker keys of this run; only its releases may still be opened.
    EndRun(RunId),
}
