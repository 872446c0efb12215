//! What a policy demands of a trust domain. Every field must be named.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::hardware::event_log::EventLogRule;
use crate::hardware::quote::QuoteRules;
use crate::hardware::{Field, Hex, Rule};

/// One accepted kind of trust domain on one kind of platform.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reference {
    /// For people; never empty.
    #[serde(deserialize_with = "crate::hardware::rule::name")]
    pub name: String,
    /// Platform and collateral (21 to 25, 32).
    pub quote: QuoteRules,
    /// TD attributes (26). Debugging, profiling, migration and exceptions on pending pages are always refused.
    pub attributes: AttributeRules,
    /// Extended features (27).
    pub xfam: Rule<Hex<8>>,
    /// Measurement of the TDX module (28).
    pub mrseam: Rule<Hex<48>>,
    /// Security versions of the TDX module, part by part (28).
    pub tee_tcb_svn: Rule<Svn>,
    /// The same after an update while the TD ran; only in TD 1.5 reports (28).
    pub tee_tcb_svn2: Rule<Svn>,
    /// What was loaded at launch (29).
    pub mrtd: Rule<Hex<48>>,
    /// Firmware's configuration (29).
    pub rtmr0: Rule<Hex<48>>,
    /// Boot loader, kernel (29).
    pub rtmr1: Rule<Hex<48>>,
    /// Command line, initrd (29).
    pub rtmr2: Rule<Hex<48>>,
    /// The running system's own (29).
    pub rtmr3: Rule<Hex<48>>,
    /// What was extended into the registers (31).
    pub event_log: EventLogRule,
    /// Chosen by the host at launch (30). Where a configuration digest is expected, it must be that besides.
    pub mrconfigid: Rule<Hex<48>>,
    /// Chosen by the owner (30).
    pub mrowner: Rule<Hex<48>>,
    /// Chosen by the owner (30).
    pub mrownerconfig: Rule<Hex<48>>,
    /// Bound service TDs; zeros if there are none (30).
    pub mrservicetd: Rule<Hex<48>>,
}

/// TD attributes that a policy may choose.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AttributeRules {
    /// Instruction-count based single-step defence.
    pub icssd: Rule<bool>,
    /// A hash of bound service TDs is in the report.
    pub servtd_ext: Rule<bool>,
    /// Linear address space separation.
    pub lass: Rule<bool>,
    /// Supervisor protection keys.
    pub pks: Rule<bool>,
    /// Key Locker.
    pub key_locker: Rule<bool>,
    /// TDX Connect provisioning agent.
    pub tpa: Rule<bool>,
    /// Performance monitoring.
    pub perfmon: Rule<bool>,
}

/// Sixteen security versions, one byte each. "At least" is part by part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Svn(pub [u8; 16]);

impl fmt::Display for Svn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Hex(self.0).fmt(f)
    }
}

impl Field for Svn {
    const ORDERED: bool = true;
    fn at_least(&self, least: &Self) -> bool {
        self.0
            .iter()
            .zip(least.0)
            .all(|(found, least)| *found >= least)
    }
}

impl Serialize for Svn {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Hex(self.0).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Svn {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Hex::deserialize(deserializer).map(|Hex(bytes)| Self(bytes))
    }
}
