//! What a document accepts of a role: one reference value per kind of guest.

use std::fmt;

use serde::{Deserialize, Serialize};
use siegel_ident::{Digest, Measurement, json};

use crate::TeeKind;
use crate::hardware::{Held, nitro, sgx, snp, tdx};

mod listing;
mod production;

pub use listing::ListedRule;
pub use production::OpenField;

/// One accepted kind of guest. Of a simulation, the exact measurement; of a real TEE, a rule for every field
/// that its evidence has. `Ord` sorts documents; it says nothing about strictness.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "tee", rename_all = "kebab-case")]
pub enum ReferenceValue {
    /// Simulated evidence.
    Simulated(Simulated),
    /// AMD SEV-SNP.
    SevSnp(Box<snp::Reference>),
    /// Intel TDX.
    Tdx(Box<tdx::Reference>),
    /// Intel SGX.
    Sgx(Box<sgx::Reference>),
    /// AWS Nitro Enclaves.
    AwsNitro(Box<nitro::Reference>),
}

/// What a simulated TEE must have measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Simulated {
    /// Executable, argv, environment.
    pub measurement: Measurement,
}

/// Names one reference value, in few bytes: for replicated state and comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReferenceId {
    /// The kind of TEE.
    pub tee: TeeKind,
    /// [`ReferenceValue::digest`].
    pub digest: Digest,
}

impl ReferenceValue {
    /// Of a simulated TEE.
    pub const fn simulated(measurement: Measurement) -> Self {
        Self::Simulated(Simulated { measurement })
    }

    /// The kind of TEE that must have measured it.
    pub const fn tee(&self) -> TeeKind {
        match self {
            Self::Simulated(_) => TeeKind::Simulated,
            Self::SevSnp(_) => TeeKind::SevSnp,
            Self::Tdx(_) => TeeKind::Tdx,
            Self::Sgx(_) => TeeKind::Sgx,
            Self::AwsNitro(_) => TeeKind::AwsNitro,
        }
    }

    /// The measurement that a simulated TEE must have; `None` for a real one, whose fields have rules.
    pub const fn measurement(&self) -> Option<Measurement> {
        match self {
            Self::Simulated(simulated) => Some(simulated.measurement),
            _ => None,
        }
    }

    /// A name for it that no other has: the measurement itself of a simulated TEE, else the SHA-256 of the
    /// canonical JSON.
    pub fn digest(&self) -> Digest {
        match self.measurement() {
            Some(measurement) => measurement.digest(),
            // Writing to memory does not fail.
            None => Digest::of(&json::to_canonical(self).unwrap_or_default()),
        }
    }

    /// Kind and digest.
    pub fn id(&self) -> ReferenceId {
        ReferenceId {
            tee: self.tee(),
            digest: self.digest(),
        }
    }

    /// Its rules; `None` in a simulation.
    pub(crate) fn held(&self) -> Option<Held<'_>> {
        match self {
            Self::Simulated(_) => None,
            Self::SevSnp(reference) => Some(Held::SevSnp(reference)),
            Self::Tdx(reference) => Some(Held::Tdx(reference)),
            Self::Sgx(reference) => Some(Held::Sgx(reference)),
            Self::AwsNitro(reference) => Some(Held::AwsNitro(reference)),
        }
    }

    /// The name that its author gave it; none in a simulation.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Simulated(_) => None,
            Self::SevSnp(reference) => Some(&reference.name),
            Self::Tdx(reference) => Some(&reference.name),
            Self::Sgx(reference) => Some(&reference.name),
            Self::AwsNitro(reference) => Some(&reference.name),
        }
    }
}

impl fmt::Display for ReferenceValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.tee(), self.digest())?;
        match self.name() {
            Some(name) => write!(f, " ({name})"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
