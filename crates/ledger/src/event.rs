//! What can be asked of the cluster.

use serde::{Deserialize, Serialize};
use siegel_ident::{
    Budget, Digest, EpochId, Fencing, InputRoot, NodeId, ObjectDigest, PolicyDigest, ProgramDigest,
    RunId, Step, Timestamp,
};

use crate::{EndorsementProof, Joiner, Workload, Wrapped};

/// A request as it stands in the replicated log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Event {
    /// Makes a logged policy, endorsed as it demands, the current one of its pipeline.
    RegisterPolicy {
        /// Exact canonical JSON.
        #[serde(with = "siegel_ident::hex_serde::vec")]
        policy: Vec<u8>,
        /// Sigstore v0.3 bundle that proves the policy is in the log.
        #[serde(with = "siegel_ident::hex_serde::vec")]
        bundle: Vec<u8>,
        /// Of all that the policy lets in; none if it names no endorser.
        endorsements: Vec<EndorsementProof>,
    },
    /// Opens a key epoch under a policy, or names the live one while half of its life is left.
    OpenEpoch {
        /// The policy.
        policy: PolicyDigest,
        /// The new epoch's secret, chosen by the proposer; dropped when a live epoch is named.
        secret: Wrapped,
    },
    /// Registers a run and debits its whole cost. Gives no key (I6).
    RegisterRun {
        /// What the root asks.
        claim: RunClaim,
        /// Chosen by the proposer; `None` exactly when the genesis has a seed.
        fresh: Option<FreshRun>,
    },
    /// Gives a root the run's keys and a fencing number above all earlier ones.
    TakeRun {
        /// The run.
        run: RunId,
        /// The root.
        root: Workload,
    },
    /// Gives a worker the run's keys.
    Authorize {
        /// The run.
        run: RunId,
        /// The worker.
        worker: Workload,
    },
    /// Commits the one result of a step by compare-and-set.
    CommitStep {
        /// The step.
        commit: StepCommit,
        /// Signing key of the root that asks.
        #[serde(with = "siegel_ident::hex_serde::vec")]
        by: Vec<u8>,
    },
    /// Lets an authorized worker start blocks for a while longer (I9). Reads only.
    RenewLease {
        /// The run.
        run: RunId,
        /// Signing key of the worker that asks.
        #[serde(with = "siegel_ident::hex_serde::vec")]
        by: Vec<u8>,
    },
    /// Asks for the DEK of a committed release whose receipt is in the log (I17). Reads only.
    OpenRelease {
        /// The run.
        run: RunId,
        /// The step.
        step: Step,
        /// Sigstore v0.3 bundle of the step's receipt.
        #[serde(with = "siegel_ident::hex_serde::vec")]
        bundle: Vec<u8>,
    },
    /// Takes back a run that nobody has taken; the only refund there is (I6).
    CancelRun {
        /// The run.
        run: RunId,
    },
    /// Ends a run early. Returns nothing (I6).
    AbandonRun {
        /// The run.
        run: RunId,
        /// The root's fencing number.
        fencing: Fencing,
        /// Signing key of the root that asks.
        #[serde(with = "siegel_ident::hex_serde::vec")]
        by: Vec<u8>,
    },
    /// Ends a run whose planned steps are all committed.
    FinishRun {
        /// The run.
        run: RunId,
        /// The root's fencing number.
        fencing: Fencing,
        /// Signing key of the root that asks.
        #[serde(with = "siegel_ident::hex_serde::vec")]
        by: Vec<u8>,
    },
    /// Gives a fresh process an id and a dead member's place (I10).
    Admit {
        /// The process.
        joiner: Joiner,
        /// The member that the proposer found dead there.
        leaves: NodeId,
        /// The admission that the proposer found dead, if there was one.
        over: Option<NodeId>,
    },
    /// Ends an admission whose process died, or whose place is not free after all.
    Withdraw {
        /// The id that was given.
        member: NodeId,
    },
    /// Moves the clock, so that what is over is erased without anybody asking.
    Tick {},
}

impl Event {
    /// True if it changes no state, so that a retry is simply asked anew.
    pub(crate) fn only_reads(&self) -> bool {
        matches!(
            self,
            Self::RenewLease { .. } | Self::OpenRelease { .. } | Self::Tick {}
        )
    }

    /// What was asked, without what the proposer chose or saw: a retry that reaches another proposer comes
    /// with other random values and newer evidence, and must still count as the same request (I6).
    pub(crate) fn request_digest(&self) -> Digest {
        let asked = match self {
            Self::OpenEpoch { policy, .. } => Self::OpenEpoch {
                policy: *policy,
                secret: Wrapped::new(Vec::new()),
            },
            Self::RegisterRun { claim, .. } => {
                let mut claim = claim.clone();
                claim.root = claim.root.unmarked();
                Self::RegisterRun { claim, fresh: None }
            }
            Self::TakeRun { run, root } => Self::TakeRun {
                run: *run,
                root: root.unmarked(),
            },
            Self::Authorize { run, worker } => Self::Authorize {
                run: *run,
                worker: worker.unmarked(),
            },
            Self::Admit {
                joiner,
                leaves,
                over,
            } => Self::Admit {
                joiner: Joiner {
                    marks: Vec::new(),
                    ..joiner.clone()
                },
                leaves: *leaves,
                over: *over,
            },
            other => other.clone(),
        };
        // Plain data into memory: writing it cannot fail.
        Digest::of(&serde_json::to_vec(&asked).unwrap_or_default())
    }
}

/// What a root asks when it registers a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunClaim {
    /// The policy; its digest is what the keys are derived for.
    pub policy: PolicyDigest,
    /// The program.
    pub program: ProgramDigest,
    /// Exact canonical JSON of `siegel_policy::RunParameters`: plan digest and allotment.
    #[serde(with = "siegel_ident::hex_serde::vec")]
    pub parameters: Vec<u8>,
    /// The epochs whose uploads are read, strictly ascending.
    pub epochs: Vec<EpochId>,
    /// No key after this; at most the first expiry of the epochs.
    pub deadline: Timestamp,
    /// Merkle root over the sorted blob digests.
    pub input_root: InputRoot,
    /// How many blobs; public.
    pub blob_count: u64,
    /// SHA-256 of the stored list of blob digests: where root and workers find what `input_root`
    /// and `blob_count` fix. Only they check it, since only they read it (I2).
    pub inputs: Digest,
    /// The root that asks.
    pub root: Workload,
}

/// The random values of a new run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FreshRun {
    /// Its id.
    pub run: RunId,
    /// Its secret.
    pub secret: Wrapped,
}

/// One step, committed by compare-and-set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepCommit {
    /// The run.
    pub run: RunId,
    /// Must be the run's largest.
    pub fencing: Fencing,
    /// Must be the last committed one plus one.
    pub step: Step,
    /// Compare: what the last committed step left, or the digest of the registration's receipt.
    pub previous: Digest,
    /// Set: the sealed checkpoint.
    pub next: ObjectDigest,
    /// The sealed release, if the step has one.
    pub release: Option<ReleaseCommit>,
    /// Must be exactly what the allotment has for the step.
    pub cost: Budget,
}

/// The sealed release of a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReleaseCommit {
    /// SHA-256 of the sealed bytes.
    pub digest: ObjectDigest,
    /// Their header, which holds the wrapped DEK; at most 4 KiB.
    #[serde(with = "siegel_ident::hex_serde::vec")]
    pub header: Vec<u8>,
}
