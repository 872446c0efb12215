//! Which kinds of TEE exist, and what a cluster or policy is for.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::hardware;

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

/// A kind of evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TeeKind {
    /// Evidence signed by a simulation root. Worth nothing outside a simulation (I11).
    Simulated,
    /// AMD SEV-SNP.
    SevSnp,
    /// Intel TDX.
    Tdx,
    /// Intel SGX.
    Sgx,
    /// AWS Nitro Enclaves.
    AwsNitro,
}

impl TeeKind {
    /// The word used in documents.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Simulated => "simulated",
            Self::SevSnp => hardware::Kind::SevSnp.as_str(),
            Self::Tdx => hardware::Kind::Tdx.as_str(),
            Self::Sgx => hardware::Kind::Sgx.as_str(),
            Self::AwsNitro => hardware::Kind::AwsNitro.as_str(),
        }
    }
}

impl fmt::Display for TeeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
