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

    /// The name in AMD's authorities: `SEV-Milan`, `ARK-Milan`.
    pub(crate) const fn in_certificates(self) -> &'static str {
        match self {
            Self::Milan => "Milan",
            Self::Genoa => "Genoa",
            Self::Turin => "Turin",
        }
    }

    /// Bytes of a chip id: the rest of the report's field is zero.
    pub(crate) const fn chip_id_len(self) -> usize {
        match self {
            Self::Milan | Self::Genoa => 64,
            Self::Turin => 8,
        }
    }

    /// By the product name of a VCEK or VLEK: "Milan-B0" names a stepping, "Genoa" none. Bergamo and Siena are of
    /// Genoa's generation and root.
    pub(crate) fn of_certificate(name: &str) -> Option<Self> {
        match name.split('-').next()? {
            "Milan" => Some(Self::Milan),
            "Genoa" | "Bergamo" | "Siena" => Some(Self::Genoa),
            "Turin" => Some(Self::Turin),
            _ => None,
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
}

impl TcbVersion {
    /// Reads the eight bytes of a report (little-endian order of parts). `None` if a byte that no part uses is
    /// not zero: its meaning is unknown, so nothing could compare it.
    pub(crate) const fn read(raw: [u8; 8], product: Product) -> Option<Self> {
        match (product, raw) {
            (Product::Milan | Product::Genoa, [boot_loader, tee, 0, 0, 0, 0, snp, microcode]) => {
                Some(Self {
                    fmc: None,
                    boot_loader,
                    tee,
                    snp,
                    microcode,
                })
            }
            (Product::Turin, [fmc, boot_loader, tee, snp, 0, 0, 0, microcode]) => Some(Self {
                fmc: Some(fmc),
                boot_loader,
                tee,
                snp,
                microcode,
            }),
            _ => None,
        }
    }

    /// Whether every part is at least that of `least`, and both are of one layout.
    pub fn at_least(&self, least: &Self) -> bool {
        self.fmc.is_some() == least.fmc.is_some()
            && self.fmc >= least.fmc
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
