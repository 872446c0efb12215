//! The result of an audit.

use serde::{Deserialize, Serialize};
use siegel_ident::{
    Budget, ClusterId, Digest, KeyDigest, ObjectDigest, PolicyDigest, ProgramDigest, RunId,
    Timestamp,
};
use siegel_policy::{AccessPolicy, Finding, Severity};

use crate::follow::Evidence;
use crate::witnessed::WitnessReport;

/// One verdict, and what it rests on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AuditReport {
    /// True if no finding is an error.
    pub ok: bool,
    /// The same in a word.
    pub verdict: Verdict,
    /// When, by the auditor's clock.
    pub at: Timestamp,
    /// Which log was read; keep size and root for the next audit.
    pub log: LogReport,
    /// What its entries are.
    pub entries: Counts,
    /// Policies, in the order of the log.
    pub policies: Vec<PolicyReport>,
    /// Runs, in the order of their registration, cluster by cluster.
    pub runs: Vec<RunReport>,
    /// Privacy budgets, by cluster and pipeline.
    pub budgets: Vec<PipelineReport>,
    /// Notes of this log that contradict each other: anyone can check them with its key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Evidence>,
    /// What was found, worst first. Of a kind of which there are many, the first ones are listed, and
    /// one more says how many others there are.
    pub findings: Vec<Finding>,
    /// The kinds of which not all are listed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub grouped: Vec<FindingGroup>,
}

impl AuditReport {
    /// How many findings of a severity there are, listed or not.
    pub fn count(&self, severity: Severity) -> u64 {
        let of: Vec<_> = self
            .findings
            .iter()
            .filter(|f| f.severity == severity)
            .collect();
        let listed = |group: &FindingGroup| {
            let same = |f: &&&Finding| f.id == group.id && f.invariant == group.invariant;
            of.iter().filter(same).count() as u64
        };
        let groups = self.grouped.iter().filter(|g| g.severity == severity);
        groups.fold(of.len() as u64, |sum, group| {
            (sum + group.count).saturating_sub(listed(group))
        })
    }
}

/// Findings that differ in nothing but their words, counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FindingGroup {
    /// Their id.
    pub id: String,
    /// How bad they are.
    pub severity: Severity,
    /// The invariant they are about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invariant: Option<String>,
    /// How many there are, listed ones included.
    pub count: u64,
    /// The log entries of the first of them, as far as they are about one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entries: Vec<u64>,
}

/// The one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Nothing speaks against trust in what was audited; warnings may say how far it reaches.
    Good,
    /// At least one error finding (exit code 3).
    NotTrustworthy,
}

/// The log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogReport {
    /// Its name.
    pub origin: String,
    /// Number of entries of the audited checkpoint; absent if it did not verify.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Root of the audited checkpoint; absent if it did not verify.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<Digest>,
    /// Number of entries when it was audited last, if that is remembered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known: Option<u64>,
    /// The signed note itself, cosignatures and all; absent if it did not verify.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<String>,
    /// True if it was audited as a log that others write in, too: entries of strangers that say nothing
    /// in our words are counted, and no alarm.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shared: bool,
    /// How many witnesses of distinct operators the anchors demand.
    pub witnesses_required: u32,
    /// The witnesses that the anchors pin.
    pub witnesses: Vec<WitnessReport>,
}

/// Entries by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counts {
    /// All that were read.
    pub total: u64,
    /// Policies.
    pub policies: u64,
    /// Genesis documents.
    pub genesis: u64,
    /// Receipts.
    pub receipts: u64,
    /// Program bundles.
    pub programs: u64,
    /// Endorsements.
    pub endorsements: u64,
    /// Key offers: key bundles with their evidence.
    pub key_offers: u64,
    /// Statements of other kinds.
    pub other: u64,
    /// Entries whose bytes are missing or wrong, or whose signer is named by a certificate.
    pub unreadable: u64,
    /// Entries under a certificate of a pinned publisher's key.
    #[serde(default)]
    pub certified: u64,
    /// Entries of others in a shared log.
    #[serde(default)]
    pub strangers: u64,
}

/// A logged policy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyReport {
    /// Its digest.
    pub sha256: PolicyDigest,
    /// First place in the log.
    pub log_index: u64,
    /// Name for people.
    pub name: String,
    /// What its budget belongs to.
    pub pipeline: String,
    /// Stated ε.
    pub epsilon: String,
    /// Stated δ.
    pub delta: String,
    /// True if a cluster has taken it up.
    pub registered: bool,
    /// Who vouches for what it lets in; what nobody vouches for is a finding.
    pub endorsed: Vec<EndorsedReport>,
    /// All that it says.
    pub rules: AccessPolicy,
}

/// One thing that a policy lets in, by the endorsement that lasts longest of those that count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EndorsedReport {
    /// `kms`, `root`, `worker` or `program`.
    pub role: String,
    /// Measurement of the binary, or digest of the program.
    pub digest: Digest,
    /// Who vouches for it.
    pub endorser: KeyDigest,
    /// First second in which nobody does any more.
    pub until: Timestamp,
    /// The Git commit it was built from, if the endorser names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// SHA-256 of the recipe it was built by, if the endorser names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recipe: Option<Digest>,
}

/// A run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunReport {
    /// Its id.
    pub run: RunId,
    /// Whose receipts tell of it.
    pub cluster: ClusterId,
    /// Its policy.
    pub policy: PolicyDigest,
    /// Its program.
    pub program: ProgramDigest,
    /// Which pipeline paid.
    pub pipeline: String,
    /// How many uploads it read.
    pub blob_count: u64,
    /// What was debited.
    pub cost: Budget,
    /// Steps planned.
    pub steps: u64,
    /// Steps committed.
    pub committed: u64,
    /// Sealed releases of its steps.
    pub releases: Vec<ObjectDigest>,
    /// How far it came.
    pub state: RunState,
    /// When it was registered, by the cluster's clock.
    pub registered_at: Timestamp,
    /// When it ended; absent if it has not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
}

/// How far a run came, by its receipts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunState {
    /// Debited; nobody has keys.
    Registered,
    /// A root has its keys.
    Taken,
    /// All steps are committed.
    Finished,
    /// Ended early, nothing returned.
    Abandoned,
    /// Its deadline passed.
    Expired,
    /// Taken back before it had keys; the only refund.
    Cancelled,
}

/// The budget of a pipeline at a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PipelineReport {
    /// The cluster.
    pub cluster: ClusterId,
    /// The pipeline.
    pub pipeline: String,
    /// What it has in all.
    pub total: Budget,
    /// What its runs have cost, recomputed from the registrations.
    pub spent: Budget,
    /// Every receipt that changed either, in order.
    pub history: Vec<AccountReport>,
}

/// How a budget stood after one receipt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccountReport {
    /// By the cluster's clock.
    pub at: Timestamp,
    /// The run that was debited or refunded; absent where a policy set the total.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// Spent from then on, refunds taken off.
    pub spent: Budget,
    /// The total from then on.
    pub total: Budget,
}
