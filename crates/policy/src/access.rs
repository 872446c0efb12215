//! The document itself: every field that a policy has. All are required.

use serde::{Deserialize, Serialize};
use siegel_attest::{Profile, ReferenceValue};
use siegel_ident::{
    Budget, ClusterId, ConfigDigest, KeyDigest, PolicyDigest, ProgramDigest, Seconds, Timestamp,
    json,
};

use crate::{Decimal, POLICY_MAX, PolicyError};

/// An access policy, `siegel/policy/v1`. Lists that are sets are strictly ascending, so that one
/// set of rules has one spelling.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccessPolicy {
    /// `siegel/policy/v1`.
    pub schema: String,
    /// Short name for people: 1 to 64 of a-z, 0-9, -.
    pub name: String,
    /// What the privacy budget belongs to, over all versions of the policy (I6): dotted name.
    pub pipeline: String,
    /// The version that this one replaces; `null` for the first.
    #[serde(deserialize_with = "json::present")]
    pub predecessor: Option<PolicyDigest>,
    /// First second of use.
    pub not_before: Timestamp,
    /// First second of no use.
    pub not_after: Timestamp,
    /// Production or simulation (I11).
    pub profile: Profile,
    /// In which log it must stand, with how many witnesses (I1).
    pub log: LogRule,
    /// Which key cluster may hold keys for it.
    pub kms: KmsRule,
    /// Who may ask for keys (I3).
    pub roles: Roles,
    /// The programs that may run.
    pub programs: Vec<ProgramDigest>,
    /// Models and the like that may be brought along. Must be empty: not built yet.
    pub sideloads: Vec<String>,
    /// What an upload contains.
    pub input: InputSchema,
    /// KEM suites that uploads may use: 1 = X25519, 2 = X-Wing.
    pub suites: Vec<u16>,
    /// How long a key lives (I9).
    pub key_ttl: Seconds,
    /// What it promises, and what it may cost in all.
    pub privacy: Privacy,
    /// How much one user may contribute (I4).
    pub bounds: Bounds,
    /// A run over fewer uploads than this is refused. Uploads, not users: their number is public.
    pub min_blobs: u64,
    /// Counts that may be shown without noise; none of them is derived from plaintext (I12).
    pub public_counters: Vec<String>,
    /// Who gets the releases.
    pub recipients: Vec<Recipient>,
    /// Whose endorsement the binaries and programs need: keys, any one of which will do. Empty: none
    /// is needed. A device may demand its own endorsers besides (I1); a policy can only add.
    pub endorsers: Vec<KeyDigest>,
    /// How many rebuilders must have confirmed the binaries. Must be 0: not built yet.
    pub rebuilders: u32,
}

/// The transparency log that a policy demands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogRule {
    /// Origin line of its checkpoints. The key comes from the verifier's own anchors (I1).
    pub origin: String,
    /// How many distinct witnesses must have cosigned; at least 2 in production.
    pub witnesses: u32,
}

/// The key cluster that a policy trusts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KmsRule {
    /// SHA-256 of its genesis.
    pub cluster_id: ClusterId,
    /// Configuration digest in the evidence of its members.
    pub config: ConfigDigest,
    /// What its members may measure.
    pub reference_values: Vec<ReferenceValue>,
}

/// The workloads that may get keys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Roles {
    /// Runs the loop and adds noise.
    pub root: RoleRule,
    /// Opens uploads and sums.
    pub worker: RoleRule,
}

/// One role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoleRule {
    /// What it may measure.
    pub reference_values: Vec<ReferenceValue>,
}

/// The inside of an upload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InputSchema {
    /// Its columns, with distinct names.
    pub columns: Vec<Column>,
}

/// One column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// 1 to 64 of a-z, 0-9, -.
    pub name: String,
    /// What it holds.
    pub kind: ColumnKind,
}

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ColumnKind {
    /// A list of words of at most 64 bytes each.
    Words,
    /// One text.
    Text,
    /// Numbers: rows of single-precision floats, one after the other.
    Floats,
}

/// The privacy promise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Privacy {
    /// Whose contribution is protected.
    pub unit: Unit,
    /// Between which two inputs nobody can tell.
    pub adjacency: Adjacency,
    /// Which mechanisms may produce outputs.
    pub mechanisms: Vec<Mechanism>,
    /// What all runs of the pipeline may cost together (I6).
    pub total: Budget,
    /// Stated ε: at least the outward-rounded conversion of `total` at `delta`.
    pub epsilon: Decimal,
    /// Stated δ, in (0, 1), δ₀ included.
    pub delta: Decimal,
}

/// Whose contribution is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// One privacy id under one pipeline: everything that one installation ever uploads.
    Installation,
}

/// Which inputs count as neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Adjacency {
    /// A unit's contributions become zero; the set of uploads stays the same.
    ZeroOut,
}

/// A mechanism that may produce outputs (I5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mechanism {
    /// Exact discrete Gaussian noise on integer sums.
    DiscreteGaussian,
}

/// Who gets releases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Recipient {
    /// Anyone, once the receipt is in the log (I17).
    Public,
}

/// How much one user may contribute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bounds {
    /// Most items of one user over all uploads (I4): distinct words, characters of text, or rows.
    pub max_items_per_user: u32,
}

/// A policy that parsed: the exact bytes, their digest, and the rules that they spell. Made only
/// by [`AccessPolicy::parse`]; derefs to the rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    bytes: Vec<u8>,
    digest: PolicyDigest,
    rules: AccessPolicy,
}

impl Policy {
    /// The exact bytes that were parsed, logged and hashed (I2).
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// SHA-256 of the exact bytes.
    pub const fn digest(&self) -> PolicyDigest {
        self.digest
    }

    /// The rules.
    pub const fn rules(&self) -> &AccessPolicy {
        &self.rules
    }
}

impl std::ops::Deref for Policy {
    type Target = AccessPolicy;
    fn deref(&self) -> &AccessPolicy {
        &self.rules
    }
}

impl AccessPolicy {
    /// The value of `schema`.
    pub const SCHEMA: &'static str = "siegel/policy/v1";

    /// Reads exactly the canonical bytes and checks every rule; see [`PolicyError`].
    pub fn parse(bytes: &[u8]) -> Result<Policy, PolicyError> {
        let rules: Self = json::from_canonical(bytes, POLICY_MAX)?;
        rules.check()?;
        Ok(Policy {
            bytes: bytes.to_vec(),
            digest: PolicyDigest::of(bytes),
            rules,
        })
    }

    /// The canonical bytes; refuses a policy that would not parse.
    pub fn to_bytes(&self) -> Result<Vec<u8>, PolicyError> {
        self.check()?;
        let bytes = json::to_canonical(self)?;
        Self::parse(&bytes).map(|policy| policy.bytes)
    }

    /// Compiles it: canonical bytes, digest and rules together.
    pub fn compile(&self) -> Result<Policy, PolicyError> {
        Self::parse(&self.to_bytes()?)
    }
}

#[cfg(test)]
mod tests;
