//! CPU generations, and the patch levels of their firmware.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::hardware::Field;

/// A CPU generation. Each has its own root key and its own layout of TCB versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Product {
    /// EPYC 7003.
    Milan,
    /// EPYC 9004 and 8004 (Genoa, Bergamo, Siena).
    Genoa,
    /// EPYC 9005.
    Turin,
}

impl Product {
    /// Every product.
    pub const ALL: [Self; 3] = [Self::Milan, Self::Genoa, Self::Turin];

    /// The word used in documents.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Milan => "milan",
            Self::Genoa => "genoa",
            Self::Turin => "turin",
        }
    }

    /// The name in AMD's certificates: `SEV-Milan`, `ARK-Milan`, `Milan-B0`.
    pub(crate) const fn in_certificates(self) -> &'static str {
        match self {
            Self::Milan => "Milan",
            Self::Genoa => "Genoa",
            Self::Turin => "Turin",
        }
    }

    /// By CPUID family and model (both already combined with their extended parts).
    pub const fn of_cpu(family: u8, model: u8) -> Option<Self> {
        match (family, model) {
            (25, 0x00..=0x0f) => Some(Self::Milan),
            (25, 0x10..=0x1f | 0xa0..=0xaf) => Some(Self::Genoa),
            (26, 0x00..=0x1f) => Some(Self::Turin),
            _ => None,
        }
    }
}

impl fmt::Display for Product {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Field for Product {
    const ORDERED: bool = false;
    fn at_least(&self, _: &Self) -> bool {
        false
    }
}

/// Patch levels of the parts that a guest has to trust. They are compared part by part, never as one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TcbVersion {
    /// Turin only: SVN of the FMC.
    pub fmc: Option<u8>,
    /// Boot loader.
    pub boot_loader: u8,
    /// PSP operating system.
    pub tee: u8,
    /// SNP firmware.
    pub snp: u8,
    /// Microcode of all cores.
    pub microcode: u8,
    /// The bytes that no part uses.
    #[serde(skip)]
    pub(crate) reserved: [u8; 4],
}

impl TcbVersion {
    /// Reads the eight bytes of a report (little-endian order of parts).
    pub(crate) fn read(raw: [u8; 8], product: Product) -> Self {
        let [a, b, c, d, e, f, g, microcode] = raw;
        match product {
            Product::Milan | Product::Genoa => Self {
                fmc: None,
                boot_loader: a,
                tee: b,
                snp: g,
                microcode,
                reserved: [c, d, e, f],
            },
            Product::Turin => Self {
                fmc: Some(a),
                boot_loader: b,
                tee: c,
                snp: d,
                microcode,
                reserved: [e, f, g, 0],
            },
        }
    }

    /// Whether every part is at least that of `least`.
    pub fn at_least(&self, least: &Self) -> bool {
        self.fmc >= least.fmc
            && self.boot_loader >= least.boot_loader
            && self.tee >= least.tee
            && self.snp >= least.snp
            && self.microcode >= least.microcode
    }
}

impl fmt::Display for TcbVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(fmc) = self.fmc {
            write!(f, "fmc {fmc} ")?;
        }
        let Self {
            boot_loader,
            tee,
            snp,
            microcode,
            ..
        } = self;
        write!(
            f,
            "boot loader {boot_loader} tee {tee} snp {snp} microcode {microcode}"
        )
    }
}
