//! What `siegel simulate --json` prints. Keys whose part is not built yet are absent.

use serde::Serialize;
use siegel_policy::Finding;

#[derive(Debug, Serialize)]
pub struct Report {
    pub schema: &'static str,
    pub run_id: String,
    pub run_dir: String,
    pub program: String,
    pub clients: u64,
    pub rounds: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    pub verdict: String,
    pub policy: PolicyPart,
    pub uploads: Uploads,
    pub kms: KmsPart,
    pub privacy: PrivacyPart,
    pub outputs: Vec<OutputPart>,
    pub metrics: Metrics,
    pub audit: AuditPart,
    pub binaries: Vec<BinaryPart>,
    pub processes: Vec<ProcessPart>,
    pub timing: Timing,
    pub insecure_simulation: bool,
}

#[derive(Debug, Serialize)]
pub struct PolicyPart {
    pub sha256: String,
    pub log_index: u64,
    pub pipeline: String,
}

#[derive(Debug, Serialize, Default, Clone)]
pub struct Uploads {
    pub accepted: u64,
    pub duplicates: u64,
    pub refused: u64,
    pub bytes: u64,
}

#[derive(Debug, Serialize)]
pub struct KmsPart {
    pub nodes: u64,
    pub cluster_id: String,
}

#[derive(Debug, Serialize)]
pub struct PrivacyPart {
    /// As the policy states it: a decimal string, never a rounded float.
    pub epsilon: String,
    pub delta: String,
    pub rho: String,
    pub delta0: String,
    pub unit: String,
    pub adjacency: String,
    /// False with `--seed`: whoever knows the seed can take the noise off again.
    pub valid: bool,
    pub budget_total: String,
    pub budget_spent: String,
}

#[derive(Debug, Serialize)]
pub struct OutputPart {
    pub name: String,
    pub path: String,
    /// Of the plaintext.
    pub sha256: String,
    /// Log index of the receipt that let it be opened.
    pub receipt: u64,
}

#[derive(Debug, Serialize, Default)]
pub struct Metrics {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub simulator_only: Option<SimulatorOnly>,
}

/// Computed by the simulator from data that no real operator would see.
#[derive(Debug, Serialize)]
pub struct SimulatorOnly {
    /// Distinct (user, bin) pairs before the per-user bound.
    pub pairs_before_bound: u64,
    /// The same after it.
    pub pairs_after_bound: u64,
    /// The share of pairs that the bound cut.
    pub share_lost_to_bounding: f64,
    /// Clients without a single word.
    pub clients_without_words: u64,
    /// The sum over bins of noisy counts, to set beside `pairs_after_bound`.
    pub noisy_total: i64,
    /// Standard error of that sum.
    pub noisy_total_std_error: f64,
}

#[derive(Debug, Serialize)]
pub struct AuditPart {
    pub ok: bool,
    pub findings: Vec<Finding>,
}

#[derive(Debug, Serialize)]
pub struct BinaryPart {
    pub role: String,
    pub sha256: String,
    pub reproducible: bool,
}

#[derive(Debug, Serialize)]
pub struct ProcessPart {
    pub name: String,
    pub peak_rss_bytes: u64,
    pub restarts: u64,
}

#[derive(Debug, Serialize, Default)]
pub struct Timing {
    pub upload_s: f64,
    pub run_s: f64,
    pub total_s: f64,
    pub uploads_per_s: f64,
}
