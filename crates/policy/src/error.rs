//! Why a policy does not parse.

use siegel_attest::OpenField;
use siegel_ident::json::JsonError;
use siegel_ident::{Delta, NanoRho, Timestamp};

use crate::Decimal;

/// Why bytes are not a policy. All of it is the author's to mend.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// Too long, not canonical, or an unknown, missing or mistyped field (I2, I3).
    #[error("policy: {0}")]
    Json(#[from] JsonError),
    /// Another document, or a later version.
    #[error("policy: schema is {found:?}, expected \"siegel/policy/v1\"")]
    Schema {
        /// What it says.
        found: String,
    },
    /// A text outside its grammar.
    #[error("policy: {field} is {found:?}; expected {expected}")]
    Text {
        /// Which field.
        field: &'static str,
        /// What it says, cut to 80 characters.
        found: String,
        /// The grammar.
        expected: &'static str,
    },
    /// A number outside its range.
    #[error("policy: {field} is {found}; expected {min} to {max}")]
    Number {
        /// Which field.
        field: &'static str,
        /// What it says.
        found: u64,
        /// Least allowed.
        min: u64,
        /// Most allowed.
        max: u64,
    },
    /// The window is empty or turned around.
    #[error("policy: not_before {not_before} must be before not_after {not_after}")]
    Window {
        /// First second of use.
        not_before: Timestamp,
        /// First second of no use.
        not_after: Timestamp,
    },
    /// A list that would allow nobody, which is most likely a mistake (I3).
    #[error("policy: {field} is empty: name at least one")]
    Empty {
        /// Which field.
        field: &'static str,
    },
    /// A list beyond its bound (I14).
    #[error("policy: {field} has {len} entries, at most {max} are allowed")]
    TooMany {
        /// Which field.
        field: &'static str,
        /// Its length.
        len: usize,
        /// The bound.
        max: usize,
    },
    /// A set with a duplicate or out of order (I2: one spelling).
    #[error("policy: {field} must be strictly ascending without duplicates")]
    NotAscending {
        /// Which field.
        field: &'static str,
    },
    /// Two columns of one name.
    #[error("policy: input.columns names {name:?} twice")]
    DuplicateColumn {
        /// The name.
        name: String,
    },
    /// A KEM suite that does not exist.
    #[error("policy: suite {suite} is unknown: 1 is X25519, 2 is X-Wing")]
    UnknownSuite {
        /// Its number.
        suite: u16,
    },
    /// A counter that no program may show without noise (I12).
    #[error("policy: public counter {name:?} is unknown: \"blobs\" is the only one")]
    UnknownCounter {
        /// Its name.
        name: String,
    },
    /// Production without a witness quorum (I1).
    #[error(
        "policy: profile production requires at least 2 witnesses, log.witnesses is {found} (I1)"
    )]
    TooFewWitnesses {
        /// What it says.
        found: u32,
    },
    /// A reference value that production may not name.
    #[error("policy: {field}: {source}")]
    ReferenceValue {
        /// Which list.
        field: &'static str,
        /// What it leaves open.
        source: OpenField,
    },
    /// A rule whose enforcement does not exist yet. It is refused, not ignored.
    #[error("policy: {field} must be {must_be}: this version cannot enforce it")]
    NotBuilt {
        /// Which field.
        field: &'static str,
        /// The one value allowed.
        must_be: &'static str,
    },
    /// δ is not a probability that promises anything.
    #[error("policy: privacy.delta is {found}; expected more than 0 and less than 1")]
    DeltaRange {
        /// What it says.
        found: Decimal,
    },
    /// δ₀ of the budget leaves nothing of the stated δ for the conversion.
    #[error("policy: privacy.total.delta0 ({} * 2^-64) is not below privacy.delta {stated}", .delta0.0)]
    Delta0TooLarge {
        /// δ₀.
        delta0: Delta,
        /// Stated δ.
        stated: Decimal,
    },
    /// The stated ε promises more than the budget gives (I6).
    #[error(
        "policy: privacy.epsilon {stated} is below {least:.6}, which is what rho = {rho} gives at \
         delta = {delta}: state at least that, or lower rho (I6)"
    )]
    EpsilonUnderstated {
        /// Stated ε.
        stated: Decimal,
        /// The outward-rounded conversion.
        least: f64,
        /// ρ of the budget.
        rho: NanoRho,
        /// Stated δ.
        delta: Decimal,
    },
}

impl PolicyError {
    /// The field that it is about, as a path with points; `None` if about the whole document.
    pub const fn field(&self) -> Option<&'static str> {
        match self {
            Self::Json(_) => None,
            Self::Schema { .. } => Some("schema"),
            Self::Text { field, .. }
            | Self::Number { field, .. }
            | Self::Empty { field }
            | Self::TooMany { field, .. }
            | Self::NotAscending { field }
            | Self::ReferenceValue { field, .. }
            | Self::NotBuilt { field, .. } => Some(field),
            Self::Window { .. } => Some("not_after"),
            Self::DuplicateColumn { .. } => Some("input.columns"),
            Self::UnknownSuite { .. } => Some("suites"),
            Self::UnknownCounter { .. } => Some("public_counters"),
            Self::TooFewWitnesses { .. } => Some("log.witnesses"),
            Self::DeltaRange { .. } => Some("privacy.delta"),
            Self::Delta0TooLarge { .. } => Some("privacy.total.delta0"),
            Self::EpsilonUnderstated { .. } => Some("privacy.epsilon"),
        }
    }

    /// The invariant that it upholds.
    pub const fn invariant(&self) -> &'static str {
        match self {
            Self::Json(_) | Self::NotAscending { .. } | Self::Schema { .. } => "I2",
            Self::Empty { .. } | Self::NotBuilt { .. } | Self::ReferenceValue { .. } => "I3",
            Self::TooFewWitnesses { .. } => "I1",
            Self::UnknownCounter { .. } => "I12",
            Self::DeltaRange { .. }
            | Self::Delta0TooLarge { .. }
            | Self::EpsilonUnderstated { .. } => "I6",
            Self::Window { .. } => "I9",
            _ => "I14",
        }
    }
}
