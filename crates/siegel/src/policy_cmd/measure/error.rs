//! Why files cannot be measured.

use crate::failure::Failure;

use super::input::FIRMWARE_MAX;

/// What is wrong with an image, and where in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MeasureError {
    /// Firmware is mapped page by page, up to 4 GiB.
    #[error(
        "a firmware image of {0} bytes, wanted whole pages of 4096 bytes, at most {FIRMWARE_MAX}"
    )]
    FirmwareSize(usize),
    /// No table of GUIDs where OVMF has it.
    #[error("no OVMF table at the end of the firmware (its GUID is missing at offset {0:#x})")]
    NoTable(usize),
    /// The table does not parse.
    #[error("the firmware's OVMF table is broken: an entry of {len} bytes ends at offset {end:#x}")]
    Table {
        /// Length that the entry claims.
        len: usize,
        /// Where it ends.
        end: usize,
    },
    /// Two entries with the same GUID: loaders disagree about which one counts.
    #[error("the firmware's OVMF table has two entries {0}")]
    Twice(&'static str),
    /// An entry that this measurement needs.
    #[error("the firmware's OVMF table has no entry {0}")]
    NoEntry(&'static str),
    /// A range that is not in the image.
    #[error("{what}: {len} bytes at offset {at:#x} are not in an image of {size} bytes")]
    OutOfImage {
        /// What was to be read.
        what: &'static str,
        /// Where.
        at: u64,
        /// How many bytes.
        len: u64,
        /// The image's length.
        size: usize,
    },
    /// Signature or version of a metadata block.
    #[error("{what} at offset {at:#x}: found {found}, wanted {wanted}")]
    Metadata {
        /// What it is.
        what: &'static str,
        /// Where it is.
        at: usize,
        /// What is there.
        found: String,
        /// What is known.
        wanted: &'static str,
    },
    /// A metadata section.
    #[error(
        "section {index} of the {table} (type {kind:#x}, address {address:#x}, {size:#x} bytes): {why}"
    )]
    Section {
        /// Which table.
        table: &'static str,
        /// Counted from 0.
        index: usize,
        /// Its type.
        kind: u32,
        /// Guest physical address.
        address: u64,
        /// Size in guest memory.
        size: u64,
        /// What is wrong.
        why: &'static str,
    },
    /// The firmware does not check hashes of a kernel.
    #[error("this firmware does not measure a kernel: {0}")]
    NoKernelHashes(&'static str),
    /// A kernel that is no PE image.
    #[error("the kernel is no PE image that can be hashed: {0}")]
    Pe(&'static str),
    /// An argument.
    #[error("{0}")]
    Argument(&'static str),
}

impl MeasureError {
    /// Stable, kebab-case.
    fn code(&self) -> &'static str {
        match self {
            Self::FirmwareSize(_) => "firmware-size",
            Self::NoTable(_) | Self::Table { .. } | Self::Twice(_) => "firmware-table",
            Self::NoEntry(_) => "firmware-entry",
            Self::OutOfImage { .. } => "out-of-image",
            Self::Metadata { .. } => "firmware-metadata",
            Self::Section { .. } => "firmware-section",
            Self::NoKernelHashes(_) => "no-kernel-hashes",
            Self::Pe(_) => "kernel-format",
            Self::Argument(_) => "argument",
        }
    }

    fn help(&self) -> &'static str {
        match self {
            Self::FirmwareSize(_) => {
                "give the image that the hypervisor maps, unpacked and unpadded"
            }
            Self::NoTable(_) | Self::NoEntry(_) => {
                "give OVMF or TDVF built for confidential guests, as one file that ends with its code"
            }
            Self::NoKernelHashes(_) => {
                "use OVMF's AmdSev build, or leave --kernel out and measure the boot disk otherwise"
            }
            Self::Pe(_) => "give the bzImage or unified kernel image that the firmware starts",
            Self::Argument(_) => "see --help",
            _ => "is the image whole? If a hypervisor starts it, its layout is not known here",
        }
    }

    /// As a failure of the command; `at` is the file or the argument.
    pub(super) fn at(self, at: &str) -> Failure {
        Failure::usage(self.code(), at, &self, self.help())
    }
}
