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
    /// Every death on the way, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deaths: Vec<DeathPart>,
    pub timing: Timing,
    pub insecure_simulation: bool,
    /// False with `--log`: who runs that log and its witnesses is not known here.
    pub own_log: bool,
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
    /// The step that released it, from 1.
    pub step: u64,
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
#[serde(untagged)]
pub enum SimulatorOnly {
    Histogram(HistogramTruth),
    Training(TrainingTruth),
}

impl Metrics {
    pub fn training(&self) -> Option<&TrainingTruth> {
        match &self.simulator_only {
            Some(SimulatorOnly::Training(truth)) => Some(truth),
            _ => None,
        }
    }
}

/// Released models, tried on the clients that never upload.
#[derive(Debug, Serialize)]
pub struct TrainingTruth {
    /// Share of characters that the last model guesses right.
    pub accuracy: f64,
    /// The same for always guessing the most frequent symbol of the clients that uploaded.
    pub unigram: f64,
    /// Clients that never upload.
    pub users: u64,
    /// Their characters, up to the bound of each: what is guessed.
    pub characters: u64,
    /// Every round that released a model.
    pub by_round: Vec<RoundTruth>,
}

#[derive(Debug, Serialize)]
pub struct RoundTruth {
    /// Counted from 1.
    pub round: u64,
    /// Of the model that it released.
    pub accuracy: f64,
    /// Spent by then: a decimal string.
    pub rho: String,
    /// What that is at the policy's δ, by the zCDP conversion.
    pub epsilon: f64,
}

/// A released table beside the data behind it.
#[derive(Debug, Serialize)]
pub struct HistogramTruth {
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
    /// Its source is a commit and its build a recipe: anyone can repeat it. `siegel reproduce` does.
    pub reproducible: bool,
}

#[derive(Debug, Serialize)]
pub struct ProcessPart {
    pub name: String,
    pub peak_rss_bytes: u64,
    pub restarts: u64,
}

/// A process that died, by order or by itself, and came back.
#[derive(Debug, Serialize)]
pub struct DeathPart {
    pub process: String,
    /// The `--kill` that ordered it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ordered: Option<String>,
    /// Why it died, if nobody ordered it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Seconds from the start of the uploads.
    pub at_s: f64,
    /// Seconds until it was ready again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub away_s: Option<f64>,
    #[serde(skip)]
    pub line: String,
}

/// Seconds. Building node binaries and reading data files come before all of it.
#[derive(Debug, Serialize, Default)]
pub struct Timing {
    /// Until log, depot, key service, workers and root are ready.
    pub start_s: f64,
    /// Program and policy, until the key service has taken them.
    pub publish_s: f64,
    /// Until every client has its answer.
    pub upload_s: f64,
    /// Until the last release is opened and its receipts are logged.
    pub run_s: f64,
    pub audit_s: f64,
    /// All of these, and what the simulator draws and compares afterwards.
    pub total_s: f64,
    /// Clients by upload time.
    pub uploads_per_s: f64,
}

/// A report of a training run, for the tests of what is made from it.
#[cfg(test)]
pub fn sample() -> Report {
    let round = |round: u64| RoundTruth {
        round,
        accuracy: 0.361 * round as f64 / 20.0,
        rho: "0.073880000".into(),
        epsilon: 0.4 * round as f64,
    };
    let output = |path: &str, sha256: &str| OutputPart {
        name: "next-char".into(),
        step: 1,
        path: path.into(),
        sha256: sha256.into(),
        receipt: 9,
    };
    Report {
        schema: "siegel/simulation/v1",
        run_id: "0102".into(),
        run_dir: "/runs/0102".into(),
        program: "next-char".into(),
        clients: 1_485,
        rounds: 20,
        seed: None,
        deaths: Vec::new(),
        verdict: "good".into(),
        policy: PolicyPart {
            sha256: "aa11".into(),
            log_index: 3,
            pipeline: "org.example.next-char".into(),
        },
        uploads: Uploads {
            accepted: 1_485,
            ..Uploads::default()
        },
        kms: KmsPart {
            nodes: 3,
            cluster_id: "cc".into(),
        },
        privacy: PrivacyPart {
            epsilon: "8".into(),
            delta: "0.0001".into(),
            rho: "1.477600000".into(),
            delta0: "0".into(),
            unit: "installation".into(),
            adjacency: "zero-out".into(),
            valid: true,
            budget_total: "1.477600000".into(),
            budget_spent: "1.477600000".into(),
        },
        outputs: vec![
            output("/runs/0102/rounds/next-char-0019.safetensors", "dd33"),
            output("/runs/0102/next-char.safetensors", "bb22"),
        ],
        metrics: Metrics {
            simulator_only: Some(SimulatorOnly::Training(TrainingTruth {
                accuracy: 0.361,
                unigram: 0.185,
                users: 176,
                characters: 55_000,
                by_round: (1..=20).map(round).collect(),
            })),
        },
        audit: AuditPart {
            ok: true,
            findings: Vec::new(),
        },
        binaries: vec![BinaryPart {
            role: "root".into(),
            sha256: "ee55".into(),
            reproducible: true,
        }],
        processes: [("siegel", 90, 0), ("worker-1", 121, 2)]
            .map(|(name, mib, restarts)| ProcessPart {
                name: name.into(),
                peak_rss_bytes: mib << 20,
                restarts,
            })
            .into(),
        timing: Timing {
            start_s: 1.0,
            publish_s: 0.5,
            upload_s: 10.0,
            run_s: 61.25,
            audit_s: 0.25,
            total_s: 73.5,
            uploads_per_s: 148.5,
        },
        insecure_simulation: true,
        own_log: true,
    }
}
