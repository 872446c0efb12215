//! A firmware image and the table of GUIDs at its end, as OVMF's reset vector lays it out.
//!
//! The table ends 32 bytes before the image does and is read backwards: an entry is its data, its length
//! (two bytes, all of it included) and its GUID. The last entry is the footer; its length is the table's.

use super::error::MeasureError;
use super::input::FIRMWARE_MAX;

/// Bytes of a page.
pub(super) const PAGE: usize = 4096;
/// The image ends here in guest memory.
const END: u64 = 1 << 32;
const AFTER_TABLE: usize = 32;
const HEADER: usize = 18;
const FOOTER: [u8; 16] = guid(
    0x96b5_82de,
    0x1fb2,
    0x45f7,
    *b"\xba\xea\xa3\x66\xc5\x5a\x08\x2d",
);

/// A GUID as firmware stores it: three numbers in little-endian order, then eight bytes.
pub(super) const fn guid(a: u32, b: u16, c: u16, d: [u8; 8]) -> [u8; 16] {
    let ([a0, a1, a2, a3], [b0, b1], [c0, c1]) =
        (a.to_le_bytes(), b.to_le_bytes(), c.to_le_bytes());
    let [d0, d1, d2, d3, d4, d5, d6, d7] = d;
    [
        a0, a1, a2, a3, b0, b1, c0, c1, d0, d1, d2, d3, d4, d5, d6, d7,
    ]
}

/// An image with its table.
#[derive(Debug)]
pub(super) struct Firmware<'a> {
    bytes: &'a [u8],
    entries: Vec<([u8; 16], &'a [u8])>,
}

impl<'a> Firmware<'a> {
    /// Reads the table. Every entry has 18 bytes or more, so the loop ends.
    pub(super) fn parse(bytes: &'a [u8]) -> Result<Self, MeasureError> {
        let size = bytes.len();
        if size == 0 || !size.is_multiple_of(PAGE) || size > FIRMWARE_MAX {
            return Err(MeasureError::FirmwareSize(size));
        }
        let end = size - AFTER_TABLE;
        let (footer, len) = header(bytes, end).unwrap_or_default();
        if footer != FOOTER {
            return Err(MeasureError::NoTable(end - 16));
        }
        let broken = |len, end| MeasureError::Table { len, end };
        let start = end.checked_sub(len).ok_or(broken(len, end))?;
        let mut at = end - HEADER;
        let mut entries = Vec::new();
        while at > start {
            let table = bytes.get(start..at).unwrap_or_default();
            let (guid, len) = header(table, table.len()).ok_or(broken(at - start, at))?;
            let data = table
                .len()
                .checked_sub(len)
                .and_then(|from| table.get(from..table.len() - HEADER))
                .ok_or(broken(len, at))?;
            entries.push((guid, data));
            at -= len;
        }
        match at == start {
            true => Ok(Self { bytes, entries }),
            false => Err(broken(len, end)),
        }
    }

    /// The image.
    pub(super) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Where it starts in guest memory.
    pub(super) fn base(&self) -> u64 {
        END - self.bytes.len() as u64
    }

    /// Data of an entry that must be there, once.
    pub(super) fn entry(
        &self,
        guid: [u8; 16],
        name: &'static str,
    ) -> Result<&'a [u8], MeasureError> {
        let mut found = self.entries.iter().filter(|(id, _)| *id == guid);
        let (_, data) = found.next().ok_or(MeasureError::NoEntry(name))?;
        match found.next() {
            Some(_) => Err(MeasureError::Twice(name)),
            None => Ok(data),
        }
    }

    /// Where a block starts that an entry names by its distance from the image's end.
    pub(super) fn block(&self, guid: [u8; 16], name: &'static str) -> Result<usize, MeasureError> {
        let entry = self.entry(guid, name)?;
        let from_end = u32_at(entry, 0).ok_or(MeasureError::NoEntry(name))?;
        let size = self.bytes.len();
        size.checked_sub(from_end as usize)
            .ok_or(MeasureError::OutOfImage {
                what: name,
                at: 0,
                len: from_end.into(),
                size,
            })
    }

    /// A range of the image.
    pub(super) fn range(
        &self,
        what: &'static str,
        at: u64,
        len: u64,
    ) -> Result<&'a [u8], MeasureError> {
        let size = self.bytes.len();
        let range = || {
            let from = usize::try_from(at).ok()?;
            self.bytes
                .get(from..from.checked_add(usize::try_from(len).ok()?)?)
        };
        range().ok_or(MeasureError::OutOfImage {
            what,
            at,
            len,
            size,
        })
    }
}

/// GUID and length of the entry that ends at `end`; `None` if it has less than a header.
fn header(bytes: &[u8], end: usize) -> Option<([u8; 16], usize)> {
    let header = bytes.get(end.checked_sub(HEADER)?..end)?;
    let (len, guid) = header.split_first_chunk::<2>()?;
    let len = usize::from(u16::from_le_bytes(*len));
    let guid = guid.try_into().ok()?;
    (len >= HEADER).then_some((guid, len))
}

/// Four bytes in little-endian order.
pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..)?.first_chunk::<4>()?;
    Some(u32::from_le_bytes(*bytes))
}

/// Eight bytes in little-endian order.
pub(super) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    let bytes = bytes.get(at..)?.first_chunk::<8>()?;
    Some(u64::from_le_bytes(*bytes))
}
