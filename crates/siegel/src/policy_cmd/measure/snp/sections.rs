//! Pages that the firmware asks the hypervisor for: OVMF's SEV metadata.

use super::super::error::MeasureError;
use super::super::firmware::{Firmware, PAGE, guid, u32_at};

const METADATA: [u8; 16] = guid(
    0xdc88_6566,
    0x984a,
    0x4798,
    *b"\xa7\x5e\x55\x85\xa7\xbf\x67\xcc",
);
const NAME: &str = "SEV metadata";
const HEADER: u64 = 16;
const ITEM: usize = 12;
/// Most sections; real firmware has seven.
const SECTIONS_MAX: u32 = 256;
/// Most pages of all sections (1 GiB); real firmware has 33.
const PAGES_MAX: u64 = 1 << 18;

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
    let at = firmware.block(METADATA, NAME)?;
    let header = firmware.range(NAME, at as u64, HEADER)?;
    let number = |offset| u32_at(header, offset).unwrap_or_default();
    let (size, version, count) = (number(4), number(8), number(12));
    let wrong = |found: String, wanted| MeasureError::Metadata {
        what: NAME,
        at,
        found,
        wanted,
    };
    if !header.starts_with(b"ASEV") || version != 1 {
        let found = format!(
            "{:02x?} version {version}",
            header.get(..4).unwrap_or_default()
        );
        return Err(wrong(found, "\"ASEV\" version 1"));
    }
    if count > SECTIONS_MAX {
        return Err(wrong(format!("{count} sections"), "at most 256"));
    }
    let items = u64::from(count) * ITEM as u64;
    if u64::from(size) != HEADER + items {
        return Err(wrong(
            format!("{size} bytes for {count} sections"),
            "16, and 12 for each section",
        ));
    }
    let items = firmware.range(NAME, at as u64 + HEADER, items)?;
    let mut pages = 0;
    let mut sections = Vec::new();
    for (index, item) in items.chunks_exact(ITEM).enumerate() {
        let section = section(index, item)?;
        pages += section.pages();
        if pages > PAGES_MAX {
            return Err(wrong(
                format!("more than {pages} pages"),
                "at most 1 GiB of pages",
            ));
        }
        sections.push(section);
    }
    Ok(sections)
}

fn section(index: usize, item: &[u8]) -> Result<Section, MeasureError> {
    let number = |offset| u32_at(item, offset).unwrap_or_default();
    let (gpa, size, kind) = (u64::from(number(0)), u64::from(number(4)), number(8));
    let wrong = |why| MeasureError::Section {
        table: NAME,
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
