//! What the auditor knows beforehand. It comes from the auditor, never from the log.

use serde::{Deserialize, Serialize};
use siegel_ident::{ClusterId, Digest, KeyDigest};
use siegel_translog::LogAnchors;

/// The auditor's own trust anchors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AuditAnchors {
    /// Name and key of the log.
    pub log: LogAnchors,
    /// Clusters that must be in the log. Empty: whatever is there is audited.
    #[serde(default)]
    pub clusters: Vec<ExpectedCluster>,
    /// Ed25519 key that signs simulated evidence, as 64 hex digits. Absent: a simulation is
    /// reported, its root not checked.
    #[serde(default)]
    pub simulation_root: Option<Digest>,
    /// Keys whose endorsements the auditor believes. Empty: whoever a policy names is believed, and
    /// the report says so. A policy can add a demand, it chooses no anchors (I3).
    #[serde(default)]
    pub endorsers: Vec<KeyDigest>,
    /// Keys that may sign policies, programs, genesis documents and key offers. With some pinned, an
    /// entry that is signed by nobody known, or of an unknown kind, is an error; else it is said.
    #[serde(default)]
    pub publishers: Vec<KeyDigest>,
    /// Checkpoints of this log seen earlier, or by others: the log must have grown from each.
    #[serde(default)]
    pub known_checkpoints: Vec<KnownCheckpoint>,
    /// Where others show what they see of this log: the URL of a log, mirror or witness, or of
    /// its note (`…/checkpoint`, `…/checkpoint/<SHA-256 of the log's name>`), a log's folder, or a file with a signed note.
    #[serde(default)]
    pub observers: Vec<String>,
}

/// A cluster that must be in the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectedCluster {
    /// SHA-256 of its genesis.
    pub id: ClusterId,
    /// How many receipts it has written at least, as its nodes say: only so can receipts missing
    /// at the end of the chain be seen.
    #[serde(default)]
    pub receipts: Option<u64>,
}

/// Size and root of an earlier checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownCheckpoint {
    /// Number of entries.
    pub size: u64,
    /// RFC 6962 root over them.
    pub root: Digest,
}

impl AuditAnchors {
    /// Only the log is pinned.
    pub fn of(log: LogAnchors) -> Self {
        Self {
            log,
            clusters: Vec::new(),
            simulation_root: None,
            endorsers: Vec::new(),
            publishers: Vec::new(),
            known_checkpoints: Vec::new(),
            observers: Vec::new(),
        }
    }
}
