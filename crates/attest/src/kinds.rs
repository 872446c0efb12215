//! Which kinds of TEE exist, and which measurements are expected of them.

use std::fmt;

use serde::{Deserialize, Serialize};
use siegel_ident::Measurement;

/// What a cluster or a policy is for. Only two words, so that nothing lies between (I11).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// Real hardware, real witnesses.
    Production,
    /// Simulated evidence is allowed, and every output says so.
    Simulation,
}

impl Profile {
    /// The word used in documents.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Production => "production",
            Self::Simulation => "simulation",
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A kind of evidence that this build can appraise. Kinds of real hardware are absent until their
/// verifier exists; a document that names one does not parse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TeeKind {
    /// Evidence signed by a simulation root. Worth nothing outside a simulation (I11).
    Simulated,
}

impl TeeKind {
    /// The word used in documents.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Simulated => "simulated",
        }
    }
}

/// One measurement that is accepted, exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReferenceValue {
    /// The kind of TEE that must have measured it.
    pub tee: TeeKind,
    /// The expected measurement: executable, argv, environment.
    pub measurement: Measurement,
}
