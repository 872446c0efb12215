//! Which of the two builds.

use std::fmt;

use clap::ValueEnum;
use serde::Serialize;
use siegel_attest::Profile;

/// A flavour of the measured binaries (I11).
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Flavour {
    /// As it ships: without the simulator
    Production,
    /// With the simulator
    Simulation,
}

impl Flavour {
    /// The same, as documents say it.
    pub const fn profile(self) -> Profile {
        match self {
            Self::Production => Profile::Production,
            Self::Simulation => Profile::Simulation,
        }
    }
}

impl fmt::Display for Flavour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.profile().as_str())
    }
}
