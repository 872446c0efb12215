//! The replicated state.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use siegel_ident::{
    Budget, ClusterId, Delta, Digest, EpochId, Fencing, InputRoot, NanoRho, PolicyDigest,
    ProgramDigest, ReceiptDigest, RunId, Step, Timestamp, json,
};
use siegel_policy::{AccessPolicy, Policy, PolicyError};

use crate::chain::Chain;
use crate::query::RunPhase;
use crate::requests::Requests;
use crate::{Members, StepCommit, Workload, Wrapped};

/// Everything that entries change. Ordered maps only, so that equal states have equal bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct State {
    pub(crate) clock: Timestamp,
    pub(crate) members: Members,
    pub(crate) policies: BTreeMap<PolicyDigest, PolicyRecord>,
    pub(crate) pipelines: BTreeMap<String, Pipeline>,
    pub(crate) epochs: BTreeMap<EpochId, Epoch>,
    pub(crate) last_epoch: EpochId,
    pub(crate) runs: BTreeMap<RunId, Run>,
    pub(crate) last_ordinal: u64,
    pub(crate) chain: Chain,
    pub(crate) requests: Requests,
    pub(crate) marks: BTreeMap<String, u64>,
}

impl State {
    pub(crate) fn new(cluster: ClusterId, members: Members) -> Self {
        Self {
            clock: Timestamp(0),
            members,
            policies: BTreeMap::new(),
            pipelines: BTreeMap::new(),
            epochs: BTreeMap::new(),
            last_epoch: EpochId(0),
            runs: BTreeMap::new(),
            last_ordinal: 0,
            chain: Chain::new(cluster),
            requests: Requests::default(),
            marks: BTreeMap::new(),
        }
    }
}

/// A pipeline's money. It belongs to no policy version and no epoch (I6).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Pipeline {
    pub(crate) current: PolicyDigest,
    pub(crate) total: Budget,
    pub(crate) spent: Budget,
}

impl Pipeline {
    /// What is left; nothing where a lowered total is below what was spent.
    pub(crate) fn left(&self) -> Budget {
        Budget {
            rho_nano: NanoRho(self.total.rho_nano.0.saturating_sub(self.spent.rho_nano.0)),
            delta0: Delta(self.total.delta0.0.saturating_sub(self.spent.delta0.0)),
        }
    }
}

/// A live epoch; an expired one has no record at all (I9).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Epoch {
    pub(crate) policy: PolicyDigest,
    pub(crate) opened: Timestamp,
    pub(crate) expires: Timestamp,
    pub(crate) secret: Wrapped,
}

/// A run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Run {
    pub(crate) ordinal: u64,
    pub(crate) policy: PolicyDigest,
    pub(crate) pipeline: String,
    pub(crate) program: ProgramDigest,
    #[serde(with = "siegel_ident::hex_serde::vec")]
    pub(crate) parameters: Vec<u8>,
    pub(crate) allotment: Vec<Budget>,
    pub(crate) total: Budget,
    pub(crate) epochs: Vec<EpochId>,
    pub(crate) deadline: Timestamp,
    pub(crate) expires: Timestamp,
    pub(crate) input_root: InputRoot,
    pub(crate) blob_count: u64,
    pub(crate) inputs: Digest,
    pub(crate) registration: u64,
    pub(crate) registration_digest: ReceiptDigest,
    pub(crate) secret: RunSecret,
    pub(crate) phase: RunPhase,
    pub(crate) fencing: Fencing,
    pub(crate) root: Option<Workload>,
    /// By signing key in hex.
    pub(crate) workers: BTreeMap<String, Workload>,
    pub(crate) steps: Vec<Committed>,
}

impl Run {
    /// The last committed step.
    pub(crate) fn step(&self) -> Step {
        Step(self.steps.len() as u64)
    }

    /// What the next step must start from.
    pub(crate) fn head(&self) -> Digest {
        match self.steps.last() {
            Some(last) => last.commit.next.digest(),
            None => self.registration_digest.digest(),
        }
    }

    /// What the last committed step started from; `None` before the first.
    pub(crate) fn before(&self) -> Option<Digest> {
        self.steps.last().map(|last| last.commit.previous)
    }

    /// The committed step with this number.
    pub(crate) fn committed(&self, step: Step) -> Option<&Committed> {
        let at = usize::try_from(step.0.checked_sub(1)?).ok()?;
        self.steps.get(at)
    }

    /// True once its secret is erased.
    pub(crate) fn erased(&self) -> bool {
        self.secret == RunSecret::Erased
    }
}

/// Where a run's secret is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RunSecret {
    /// Here, wrapped.
    Wrapped(Wrapped),
    /// Derived by the shell from the genesis' seed and the run's ordinal.
    Seeded,
    /// Gone (I9).
    Erased,
}

/// A step that has its one result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Committed {
    pub(crate) commit: StepCommit,
    pub(crate) used: Budget,
    pub(crate) receipt: u64,
}

/// A registered policy, superseded or not. Kept as its bytes; read again by the one parser (I2).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "PolicyBytes", into = "PolicyBytes")]
pub(crate) struct PolicyRecord {
    pub(crate) policy: Policy,
    pub(crate) log_index: u64,
    /// `None` if it demands no endorsements.
    pub(crate) endorsed_until: Option<Timestamp>,
}

impl PolicyRecord {
    /// First second in which nothing starts under it: its own end, or that of its endorsements (I9).
    pub(crate) fn ends(&self) -> Timestamp {
        let own = self.policy.not_after;
        self.endorsed_until.map_or(own, |until| until.min(own))
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PolicyBytes {
    #[serde(with = "siegel_ident::hex_serde::vec")]
    bytes: Vec<u8>,
    log_index: u64,
    // An absent end would be none at all.
    #[serde(deserialize_with = "json::present")]
    endorsed_until: Option<Timestamp>,
}

impl TryFrom<PolicyBytes> for PolicyRecord {
    type Error = PolicyError;
    fn try_from(kept: PolicyBytes) -> Result<Self, PolicyError> {
        Ok(Self {
            policy: AccessPolicy::parse(&kept.bytes)?,
            log_index: kept.log_index,
            endorsed_until: kept.endorsed_until,
        })
    }
}

impl From<PolicyRecord> for PolicyBytes {
    fn from(record: PolicyRecord) -> Self {
        Self {
            bytes: record.policy.bytes().to_vec(),
            log_index: record.log_index,
            endorsed_until: record.endorsed_until,
        }
    }
}
