//! The shape of the TOML file. Unknown keys are refused.

use serde::Deserialize;
use siegel_attest::Profile;
use siegel_ident::PolicyDigest;
pub(super) use toml::Spanned as Located;

use crate::{Adjacency, Column, Decimal, Mechanism, Recipient, Unit};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PolicyFile {
    pub(super) name: String,
    pub(super) pipeline: String,
    /// The only key that may be left out besides `[log]`: a first version has none.
    pub(super) predecessor: Option<PolicyDigest>,
    pub(super) profile: Profile,
    pub(super) valid_days: Located<u64>,
    pub(super) key_ttl_seconds: u64,
    pub(super) suites: Vec<u16>,
    pub(super) min_blobs: u64,
    pub(super) recipients: Vec<Recipient>,
    pub(super) public_counters: Vec<String>,
    pub(super) programs: Vec<Located<String>>,
    pub(super) endorsements: Located<Endorsements>,
    pub(super) log: Option<LogPart>,
    pub(super) input: InputPart,
    pub(super) privacy: PrivacyPart,
    pub(super) bounds: BoundsPart,
    pub(super) roles: RolesPart,
}

/// Whether binaries and programs must be endorsed. By whom is a fact, as measurements are.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Endorsements {
    Required,
    None,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LogPart {
    pub(super) witnesses: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct InputPart {
    pub(super) columns: Vec<Column>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PrivacyPart {
    pub(super) unit: Unit,
    pub(super) adjacency: Adjacency,
    pub(super) mechanisms: Vec<Mechanism>,
    pub(super) epsilon: Located<Decimal>,
    pub(super) delta: Located<Decimal>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BoundsPart {
    pub(super) max_items_per_user: u32,
}

/// Binaries by the name of their file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RolesPart {
    pub(super) root: Located<String>,
    pub(super) worker: Located<String>,
    pub(super) kms: Located<String>,
}
