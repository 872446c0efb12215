//! Who asks: the fields of an appraisal that enter the replicated log.

use serde::{Deserialize, Serialize};
use siegel_attest::hardware::Mark;
use siegel_attest::{Appraisal, ReferenceId, Role};
use siegel_ident::ConfigDigest;

/// What a workload was appraised as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorkloadRole {
    /// Runs the loop of one program.
    Root,
    /// Opens uploads and sums blocks.
    Worker,
}

impl WorkloadRole {
    /// The word used in messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Root => "root",
            Self::Worker => "worker",
        }
    }
}

/// A workload whose evidence the proposing node appraised. Each replica checks the fields against
/// the policy of the run once more at apply (I3).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// As what it was appraised.
    pub role: WorkloadRole,
    /// The reference value that its evidence satisfied.
    pub measured: ReferenceId,
    /// How new the vendor's statements are on which its evidence rests; none in a simulation.
    pub marks: Vec<Mark>,
    /// The configuration its evidence names.
    pub config: ConfigDigest,
    /// Its per-boot Ed25519 key (32 bytes).
    #[serde(with = "siegel_ident::hex_serde::vec")]
    pub signing_key: Vec<u8>,
    /// Its per-boot KEM key (u16 BE suite ‖ key).
    #[serde(with = "siegel_ident::hex_serde::vec")]
    pub kem_key: Vec<u8>,
}

impl Workload {
    /// As it is remembered: later evidence of the same process may rest on newer statements.
    pub(crate) fn unmarked(&self) -> Self {
        Self {
            marks: Vec::new(),
            ..self.clone()
        }
    }

    /// The fields of an appraisal; `None` if it is that of a KMS node.
    pub fn of(appraisal: &Appraisal) -> Option<Self> {
        let role = match appraisal.role() {
            Role::Root => WorkloadRole::Root,
            Role::Worker => WorkloadRole::Worker,
            _ => return None,
        };
        Some(Self {
            role,
            measured: appraisal.reference().id(),
            marks: appraisal.marks(),
            config: appraisal.config(),
            signing_key: appraisal.signing_key().to_vec(),
            kem_key: appraisal.kem_key().to_vec(),
        })
    }
}
