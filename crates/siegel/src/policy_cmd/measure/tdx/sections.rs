//! Pages that the firmware asks the hypervisor for: TDVF's metadata.
//!
//! Only what QEMU accepts, and only where all loaders agree on the bytes: a measured section is a volume of the image,
//! as long in memory as in the file.

use super::super::error::MeasureError;
use super::super::firmware::{Firmware, PAGE, guid, u32_at, u64_at};
use super::super::metadata::{PAGES_MAX, Table};

const TABLE: Table = Table {
    name: "TDX metadata",
    guid: guid(
        0xe47a_6535,
        0x984a,
        0x4798,
        *b"\x86\x5e\x46\x85\xa7\xbf\x8e\xc2",
    ),
    magic: b"TDVF",
    item: 32,
    least: 1,
    wanted: [
        "\"TDVF\" version 1",
        "1 to 256",
        "16, and 32 for each section",
    ],
};

/// Attribute: contents are measured.
const EXTEND: u32 = 1;

/// A run of pages that are added before the domain starts.
#[derive(Debug)]
pub(super) struct Section<'a> {
    pub(super) address: u64,
    size: u64,
    /// Contents, if they are measured.
    pub(super) measured: Option<&'a [u8]>,
}

impl Section<'_> {
    pub(super) fn pages(&self) -> u64 {
        self.size / PAGE as u64
    }
}

/// All sections, in order.
pub(super) fn parse<'a>(firmware: &Firmware<'a>) -> Result<Vec<Section<'a>>, MeasureError> {
    let read = |index, item: &[u8]| section(firmware, index, item);
    let sections = TABLE.sections(firmware, read, Section::pages)?;
    if sections.iter().any(|section| section.measured.is_some()) {
        return Ok(sections);
    }
    let at = firmware.block(TABLE.guid, TABLE.name)?;
    let found = "no measured section".to_owned();
    Err(TABLE.wrong(at, found, "at least the boot volume"))
}

fn section<'a>(
    firmware: &Firmware<'a>,
    index: usize,
    item: &[u8],
) -> Result<Section<'a>, MeasureError> {
    let number = |offset| u32_at(item, offset).unwrap_or_default();
    let long = |offset| u64_at(item, offset).unwrap_or_default();
    let (from, raw, address, size) = (number(0), number(4), long(8), long(16));
    let (kind, attributes) = (number(24), number(28));
    let wrong = |why| MeasureError::Section {
        table: TABLE.name,
        index,
        kind,
        address,
        size,
        why,
    };
    let page = PAGE as u64;
    if !address.is_multiple_of(page) || !size.is_multiple_of(page) {
        return Err(wrong("its address and size must be whole pages"));
    }
    if size > PAGES_MAX * page || address.checked_add(size).is_none() {
        return Err(wrong(
            "it is longer than 1 GiB, or ends past the last address",
        ));
    }
    if attributes & !EXTEND != 0 {
        return Err(wrong("it has attributes that are not known"));
    }
    let extend = attributes & EXTEND != 0;
    let measured = match kind {
        // Boot volume, configuration volume: copied from the image.
        0 | 1 if u64::from(raw) != size => {
            return Err(wrong("a volume must be as long in memory as in the image"));
        }
        0 | 1 => Some(firmware.range("a volume of the TDX metadata", from.into(), raw.into())?),
        // Hand-off block, temporary memory: made by the hypervisor.
        2 | 3 if raw != 0 => return Err(wrong("memory has no bytes in the image")),
        2 | 3 if extend => {
            return Err(wrong(
                "memory that the hypervisor fills cannot be measured here",
            ));
        }
        2 | 3 => None,
        _ => return Err(wrong("its type is not known")),
    };
    let measured = measured.filter(|_| extend);
    Ok(Section {
        address,
        size,
        measured,
    })
}
