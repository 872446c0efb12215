//! Why evidence was refused.

use siegel_ident::lp::LpError;
use siegel_ident::{ConfigDigest, Measurement, Timestamp};

use crate::hardware::{Check, Rejection};
use crate::{Profile, Role};

/// Evidence that does not make its holder what it claims to be. Every variant but
/// [`Refusal::Binding`] and [`Refusal::NoReferenceValue`] is the presenter's fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// Longer than any evidence.
    #[error("evidence of {len} bytes is longer than the {max} allowed")]
    TooLong {
        /// Its length.
        len: usize,
        /// The bound.
        max: usize,
    },
    /// The outer frame is cut short, overlong or followed by more bytes.
    #[error("evidence frame: {0}")]
    Frame(#[from] LpError),
    /// A version of the frame that this build does not know.
    #[error("evidence version {version} is unknown: expected 1")]
    UnknownVersion {
        /// What it says.
        version: u8,
    },
    /// No verifier for this kind of evidence is in this build.
    #[error("evidence kind {kind:#04x} has no verifier in this build")]
    UnknownKind {
        /// What it says.
        kind: u8,
    },
    /// Simulated evidence in a build without the simulator.
    #[error("simulated evidence, but this build has no feature \"simulation\" (I11)")]
    SimulationNotBuilt,
    /// Simulated evidence where genesis or policy is for production.
    #[error(
        "simulated evidence needs profile simulation in genesis (is {genesis}) and policy (is {policy}) (I11)"
    )]
    SimulationNotAllowed {
        /// Profile of the cluster's genesis.
        genesis: Profile,
        /// Profile of the policy.
        policy: Profile,
    },
    /// No vendor root is configured for this kind.
    #[error("no trust anchor is configured for this kind of evidence: add it to the configuration")]
    NoAnchor,
    /// The body is not what its kind prescribes, byte for byte.
    #[error("evidence body: {what}")]
    Malformed {
        /// What was expected.
        what: &'static str,
    },
    /// The signature is not by the configured root.
    #[error("evidence is not signed by the configured root")]
    Signature,
    /// The TEE can be debugged from outside.
    #[error("evidence of a TEE with debugging on")]
    Debug,
    /// The caller allows nothing at all. An absent rule is a refusal (I3).
    #[error("no reference values are given for this role (I3)")]
    NoReferenceValue,
    /// Measured something else than any reference value.
    #[error("measurement {found} is none of the reference values (I3)")]
    Measurement {
        /// What the evidence states.
        found: Measurement,
    },
    /// Started with another configuration.
    #[error("configuration digest {found} in the evidence, expected {expected} (I3)")]
    Config {
        /// What the evidence states.
        found: ConfigDigest,
        /// What was expected.
        expected: ConfigDigest,
    },
    /// Bound to other keys, another role, cluster, challenge or checkpoint.
    #[error(
        "report data does not bind these keys as {role}: other keys, role, cluster or challenge (I3)"
    )]
    ReportData {
        /// The role that was claimed.
        role: Role,
    },
    /// Issued later than now.
    #[error("evidence was issued at {issued_at}, which is after {now}: check the clocks")]
    FromFuture {
        /// When it says it was issued.
        issued_at: Timestamp,
        /// The verifier's time.
        now: Timestamp,
    },
    /// Evidence of real hardware that does not convince.
    #[error("evidence of a TEE: {0}")]
    Hardware(Box<Rejection>),
    /// The caller's binding breaks the per-role table.
    #[error(
        "field {field:?} of a {role} binding is missing, of the wrong length, or must be empty"
    )]
    Binding {
        /// The role.
        role: Role,
        /// The field.
        field: &'static str,
    },
}

impl Refusal {
    /// A stable kebab-case code for the wire (I12: nothing derived from plaintext). Of real hardware: the id of the
    /// check that failed.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::TooLong { .. } => "evidence-too-long",
            Self::Frame(_) | Self::UnknownVersion { .. } | Self::Malformed { .. } => {
                "evidence-malformed"
            }
            Self::UnknownKind { .. } => "evidence-unknown-kind",
            Self::SimulationNotBuilt | Self::SimulationNotAllowed { .. } => "evidence-simulated",
            Self::NoAnchor => "evidence-no-anchor",
            Self::Signature => "evidence-signature",
            Self::Debug => "evidence-debug",
            Self::NoReferenceValue => "evidence-no-reference-value",
            Self::Measurement { .. } => "evidence-measurement",
            Self::Config { .. } => "evidence-config",
            Self::ReportData { .. } => "evidence-report-data",
            Self::FromFuture { .. } => "evidence-from-future",
            Self::Hardware(why) => why.check.id(),
            Self::Binding { .. } => "evidence-binding",
        }
    }

    /// The invariant that it upholds.
    pub const fn invariant(&self) -> &'static str {
        match self {
            Self::SimulationNotBuilt | Self::SimulationNotAllowed { .. } => "I11",
            Self::TooLong { .. } | Self::Frame(_) | Self::Malformed { .. } => "I14",
            Self::Hardware(why) if matches!(why.check, Check::Size) => "I14",
            _ => "I3",
        }
    }
}
