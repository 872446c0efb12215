//! Pages that the firmware asks the hypervisor for: OVMF's SEV metadata.

use super::super::error::MeasureError;
use super::super::firmware::{Firmware, PAGE, guid, u32_at};
use super::super::metadata::Table;

const TABLE: Table = Table {
    name: "SEV metadata",
    guid: guid(
        0xdc88_6566,
        0x984a,
        0x4798,
        *b"\xa7\x5e\x55\x85\xa7\xbf\x67\xcc",
    ),
    magic: b"ASEV",
    item: 12,
    least: 0,
    wanted: [
        "\"ASEV\" version 1",
        "at most 256",
        "16, and 12 for each section",
    ],
};

/// What a section is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Memory that the firmware uses before it can validate any.
    Memory,
    /// Keys between guest and secure processor.
    Secrets,
    /// CPUID values that the secure processor has checked.
    Cpuid,
    /// Calling area of a service module.
    CallingArea,
    /// Hashes of a kernel.
    KernelHashes,
}

/// A run of pages.
#[derive(Debug, Clone, Copy)]
pub(super) struct Section {
    pub(super) kind: Kind,
    pub(super) gpa: u64,
    size: u64,
}

impl Section {
    pub(super) fn pages(&self) -> u64 {
        self.size / PAGE as u64
    }
}

/// All sections, in order.
pub(super) fn parse(firmware: &Firmware<'_>) -> Result<Vec<Section>, MeasureError> {
    TABLE.sections(firmware, section, Section::pages)
}

fn section(index: usize, item: &[u8]) -> Result<Section, MeasureError> {
    let number = |offset| u32_at(item, offset).unwrap_or_default();
    let (gpa, size, kind) = (u64::from(number(0)), u64::from(number(4)), number(8));
    let wrong = |why| MeasureError::Section {
        table: TABLE.name,
        index,
        kind,
        address: gpa,
        size,
        why,
    };
    let page = PAGE as u64;
    if !gpa.is_multiple_of(page) || !size.is_multiple_of(page) {
        return Err(wrong("its address and size must be whole pages"));
    }
    let kind = match kind {
        1 => Kind::Memory,
        2 => Kind::Secrets,
        3 => Kind::Cpuid,
        4 => Kind::CallingArea,
        0x10 => Kind::KernelHashes,
        _ => return Err(wrong("its type is not known")),
    };
    if matches!(kind, Kind::Secrets | Kind::Cpuid) && size != page {
        return Err(wrong("it must be one page"));
    }
    Ok(Section { kind, gpa, size })
}
