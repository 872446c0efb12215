//! A table of sections in a firmware image. SEV's and TDX's metadata have the same header: magic, length, version 1
//! and count, four bytes each.

use super::error::MeasureError;
use super::firmware::{Firmware, u32_at};

const HEADER: u64 = 16;
/// Most sections; real firmware has seven.
const SECTIONS_MAX: u32 = 256;
/// Most pages of all sections (1 GiB); real firmware has about a thousand.
pub(super) const PAGES_MAX: u64 = 1 << 18;

/// What distinguishes one table from another.
pub(super) struct Table {
    /// For people.
    pub(super) name: &'static str,
    /// GUID of the entry that says where it is.
    pub(super) guid: [u8; 16],
    pub(super) magic: &'static [u8; 4],
    /// Bytes of a section.
    pub(super) item: usize,
    /// Fewest sections.
    pub(super) least: u32,
    /// The header, the count and the length that are wanted, in words.
    pub(super) wanted: [&'static str; 3],
}

impl Table {
    /// All sections, in order. `read` takes a section's index and bytes, `pages` says how many it has.
    pub(super) fn sections<S>(
        &self,
        firmware: &Firmware<'_>,
        read: impl Fn(usize, &[u8]) -> Result<S, MeasureError>,
        pages: impl Fn(&S) -> u64,
    ) -> Result<Vec<S>, MeasureError> {
        let at = firmware.block(self.guid, self.name)?;
        let header = firmware.range(self.name, at as u64, HEADER)?;
        let number = |offset| u32_at(header, offset).unwrap_or_default();
        let (size, version, count) = (number(4), number(8), number(12));
        let wrong = |found, wanted| self.wrong(at, found, wanted);
        let [head, counts, length] = self.wanted;
        if !header.starts_with(self.magic) || version != 1 {
            let magic = header.get(..4).unwrap_or_default();
            return Err(wrong(format!("{magic:02x?} version {version}"), head));
        }
        if !(self.least..=SECTIONS_MAX).contains(&count) {
            return Err(wrong(format!("{count} sections"), counts));
        }
        let items = u64::from(count) * self.item as u64;
        if u64::from(size) != HEADER + items {
            return Err(wrong(format!("{size} bytes for {count} sections"), length));
        }
        let items = firmware.range(self.name, at as u64 + HEADER, items)?;
        let mut sum = 0;
        let mut sections = Vec::new();
        for (index, item) in items.chunks_exact(self.item).enumerate() {
            let section = read(index, item)?;
            sum += pages(&section);
            if sum > PAGES_MAX {
                return Err(wrong(
                    format!("more than {sum} pages"),
                    "at most 1 GiB of pages",
                ));
            }
            sections.push(section);
        }
        Ok(sections)
    }

    /// The table that is found at `at` is not as it must be.
    pub(super) fn wrong(&self, at: usize, found: String, wanted: &'static str) -> MeasureError {
        MeasureError::Metadata {
            what: self.name,
            at,
            found,
            wanted,
        }
    }
}
