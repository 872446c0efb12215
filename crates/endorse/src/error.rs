//! Why an endorsement is not one.

use siegel_ident::Timestamp;
use siegel_ident::json::JsonError;
use siegel_translog::ProofError;

/// Why bytes are no endorsement or manifest, or prove nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EndorseError {
    /// Too long, not canonical, or an unknown, missing or mistyped field (I2, I3).
    #[error("{document}: {source}")]
    Json {
        /// Schema that was expected.
        document: &'static str,
        /// What is wrong.
        source: JsonError,
    },
    /// Another document, or a later version.
    #[error("schema is {found:?}, expected {expected:?}; is this the right file?")]
    Schema {
        /// Schema that was expected.
        expected: &'static str,
        /// What it says, cut to 80 characters.
        found: String,
    },
    /// A field outside its grammar.
    #[error("endorsement: {field} {problem}")]
    Field {
        /// Which field.
        field: &'static str,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The window is empty or turned around.
    #[error("endorsement: not_before {not_before} must be before not_after {not_after}")]
    Window {
        /// First second.
        not_before: Timestamp,
        /// First second after.
        not_after: Timestamp,
    },
    /// The exact bytes are not proved to be in the log (I1, I2).
    #[error("the endorsement is not in the log: {0}")]
    NotLogged(#[from] ProofError),
}
