//! Read-only questions. A shell asks them only after a quorum read or right after an apply.

use std::fmt;

use serde::{Deserialize, Serialize};
use siegel_attest::Genesis;
use siegel_ident::{
    Budget, ClusterId, ConfigDigest, Digest, EpochId, Fencing, InputRoot, ObjectDigest,
    PolicyDigest, ProgramDigest, RunId, Step, Timestamp,
};
use siegel_policy::Policy;

use crate::state::{Epoch, PolicyRecord, Run, RunSecret};
use crate::{Ledger, Workload, Wrapped};

/// Where a run stands. The picture is in `OVERVIEW.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunPhase {
    /// Paid for; nobody has its keys.
    Registered,
    /// A root has, or had, its keys.
    Taken,
    /// All steps committed.
    Finished,
    /// Ended early; nothing returned.
    Abandoned,
    /// Taken back before anybody had its keys; refunded.
    Cancelled,
    /// Its deadline passed.
    Expired,
}

impl fmt::Display for RunPhase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Registered => "registered",
            Self::Taken => "taken",
            Self::Finished => "finished",
            Self::Abandoned => "abandoned",
            Self::Cancelled => "cancelled",
            Self::Expired => "expired",
        })
    }
}

/// A registered policy.
#[derive(Clone, Copy, Debug)]
pub struct PolicyView<'a> {
    /// The rules, with the exact logged bytes.
    pub policy: &'a Policy,
    /// Where it stands in the log.
    pub log_index: u64,
    /// First second in which it is endorsed no more; `None` if it demands no endorsements.
    pub endorsed_until: Option<Timestamp>,
}

/// A pipeline's money.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PipelineView {
    /// Its current policy.
    pub current: PolicyDigest,
    /// The total of the current policy.
    pub total: Budget,
    /// Debited by runs under all its policies.
    pub spent: Budget,
    /// What a run may still cost.
    pub left: Budget,
}

/// A live epoch.
#[derive(Clone, Copy, Debug)]
pub struct EpochView<'a> {
    /// Its id.
    pub epoch: EpochId,
    /// Its policy.
    pub policy: PolicyDigest,
    /// Since when.
    pub opened: Timestamp,
    /// First second without keys.
    pub expires: Timestamp,
    /// Its secret.
    pub secret: &'a Wrapped,
}

/// Where the shell finds a run's secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretSource<'a> {
    /// Unwrap this.
    Wrapped(&'a Wrapped),
    /// Derive it from the genesis' seed and [`RunView::ordinal`].
    Seeded,
    /// It is erased (I9).
    Erased,
}

/// A run.
#[derive(Clone, Copy, Debug)]
pub struct RunView<'a> {
    /// Its id.
    pub run: RunId,
    /// Counted from 1 over the cluster's life.
    pub ordinal: u64,
    /// Its policy.
    pub policy: PolicyDigest,
    /// The pipeline that paid.
    pub pipeline: &'a str,
    /// Its program.
    pub program: ProgramDigest,
    /// Exact parameter bytes; empty once the run is erased.
    pub parameters: &'a [u8],
    /// Cost of each planned step.
    pub allotment: &'a [Budget],
    /// What was debited.
    pub total: Budget,
    /// The epochs whose uploads are read.
    pub epochs: &'a [EpochId],
    /// First second without root and worker keys.
    pub deadline: Timestamp,
    /// First second in which nothing of it opens.
    pub expires: Timestamp,
    /// Merkle root over its sorted blob digests.
    pub input_root: InputRoot,
    /// How many blobs.
    pub blob_count: u64,
    /// SHA-256 of the stored list of blob digests.
    pub inputs: Digest,
    /// Sequence number of the registration's receipt.
    pub registration: u64,
    /// Its secret.
    pub secret: SecretSource<'a>,
    /// Where it stands.
    pub phase: RunPhase,
    /// Number of the present root incarnation; 0 before the first.
    pub fencing: Fencing,
    /// The present root.
    pub root: Option<&'a Workload>,
    /// The last committed step.
    pub step: Step,
    /// What the next step must start from: the last checkpoint, or the registration's receipt.
    pub previous: Digest,
    /// What the last committed step started from; `None` before the first.
    pub before: Option<Digest>,
}

/// A committed release.
#[derive(Clone, Copy, Debug)]
pub struct ReleaseView<'a> {
    /// SHA-256 of the sealed bytes.
    pub digest: ObjectDigest,
    /// Their header, which holds the wrapped DEK.
    pub header: &'a [u8],
    /// What the step started from; part of the seal's context.
    pub previous: Digest,
    /// Sequence number of the step's receipt.
    pub receipt: u64,
}

impl Ledger {
    /// The cluster.
    pub fn cluster_id(&self) -> ClusterId {
        self.cluster
    }
    /// The configuration digest of each member.
    pub fn config_digest(&self) -> ConfigDigest {
        self.config
    }
    /// The genesis.
    pub fn genesis(&self) -> &Genesis {
        &self.genesis
    }
    /// The replicated clock.
    pub fn clock(&self) -> Timestamp {
        self.state.clock
    }

    /// How many receipts there are: the number of the last one.
    pub fn receipts(&self) -> u64 {
        self.state.chain.len()
    }
    /// Digest of the last receipt, or of the genesis.
    pub fn receipt_head(&self) -> Digest {
        self.state.chain.head()
    }
    /// The body with this number, if it exists and is still kept.
    pub fn receipt(&self, seq: u64) -> Option<&[u8]> {
        self.state.chain.body(seq)
    }

    /// A registered policy, current or not.
    pub fn policy(&self, digest: PolicyDigest) -> Option<PolicyView<'_>> {
        let PolicyRecord {
            policy,
            log_index,
            endorsed_until,
        } = self.state.policies.get(&digest)?;
        Some(PolicyView {
            policy,
            log_index: *log_index,
            endorsed_until: *endorsed_until,
        })
    }

    /// A pipeline's money.
    pub fn pipeline(&self, name: &str) -> Option<PipelineView> {
        let pipeline = self.state.pipelines.get(name)?;
        Some(PipelineView {
            current: pipeline.current,
            total: pipeline.total,
            spent: pipeline.spent,
            left: pipeline.left(),
        })
    }

    /// An epoch; `None` once it has expired.
    pub fn epoch(&self, epoch: EpochId) -> Option<EpochView<'_>> {
        let Epoch {
            policy,
            opened,
            expires,
            secret,
        } = self.state.epochs.get(&epoch)?;
        Some(EpochView {
            epoch,
            policy: *policy,
            opened: *opened,
            expires: *expires,
            secret,
        })
    }

    /// The live epoch of a policy that opened last.
    pub fn current_epoch(&self, policy: PolicyDigest) -> Option<EpochView<'_>> {
        self.youngest_epoch(policy)
            .and_then(|(epoch, _)| self.epoch(epoch))
    }

    /// All runs that are remembered, in the order of their ids.
    pub fn runs(&self) -> impl Iterator<Item = RunView<'_>> {
        self.state.runs.iter().map(|(id, run)| view(*id, run))
    }

    /// A run; `None` if it was never registered, or is over and forgotten.
    pub fn run(&self, run: RunId) -> Option<RunView<'_>> {
        self.state.runs.get(&run).map(|record| view(run, record))
    }

    /// The workers that have a run's keys, in the order of their signing keys.
    pub fn workers(&self, run: RunId) -> impl Iterator<Item = &Workload> {
        self.state
            .runs
            .get(&run)
            .into_iter()
            .flat_map(|run| run.workers.values())
    }

    /// A committed release; `None` once the run is erased.
    pub fn release(&self, run: RunId, step: Step) -> Option<ReleaseView<'_>> {
        let committed = self.state.runs.get(&run)?.committed(step)?;
        let release = committed.commit.release.as_ref()?;
        Some(ReleaseView {
            digest: release.digest,
            header: &release.header,
            previous: committed.commit.previous,
            receipt: committed.receipt,
        })
    }
}

fn view(id: RunId, run: &Run) -> RunView<'_> {
    RunView {
        run: id,
        ordinal: run.ordinal,
        policy: run.policy,
        pipeline: &run.pipeline,
        program: run.program,
        parameters: &run.parameters,
        allotment: &run.allotment,
        total: run.total,
        epochs: &run.epochs,
        deadline: run.deadline,
        expires: run.expires,
        input_root: run.input_root,
        blob_count: run.blob_count,
        inputs: run.inputs,
        registration: run.registration,
        secret: match &run.secret {
            RunSecret::Wrapped(secret) => SecretSource::Wrapped(secret),
            RunSecret::Seeded => SecretSource::Seeded,
            RunSecret::Erased => SecretSource::Erased,
        },
        phase: run.phase,
        fencing: run.fencing,
        root: run.root.as_ref(),
        step: run.step(),
        previous: run.head(),
        before: run.before(),
    }
}
