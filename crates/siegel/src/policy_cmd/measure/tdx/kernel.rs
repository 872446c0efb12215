//! The hash by which firmware measures a kernel: Authenticode's hash of a PE image.
//!
//! It leaves out the checksum, the entry that names the certificate table, and that table. Loaders differ about images
//! with gaps or overlaps between their parts, so those are refused: every other byte of the file is hashed once.

use ring::digest::{Context, SHA384};

use super::super::error::MeasureError;
use super::super::firmware::u32_at;

const SECTION: usize = 40;
/// Entries before the one of the certificate table.
const CERTIFICATES: usize = 4;

/// Authenticode's SHA-384.
pub(in super::super) fn authenticode(image: &[u8]) -> Result<[u8; 48], MeasureError> {
    let layout = Layout::parse(image)?;
    let mut context = Context::new(&SHA384);
    let mut from = 0;
    for (at, len) in layout.left_out {
        context.update(image.get(from..at).unwrap_or_default());
        from = at + len;
    }
    Ok(super::sized(context.finish().as_ref()))
}

struct Layout {
    /// Checksum, directory entry, certificate table: ascending, in the image.
    left_out: [(usize, usize); 3],
}

impl Layout {
    fn parse(image: &[u8]) -> Result<Self, MeasureError> {
        let err = MeasureError::Pe;
        let short = err("its headers are cut off");
        let u16_at = |at: usize| {
            let bytes = image.get(at..)?.first_chunk::<2>()?;
            Some(usize::from(u16::from_le_bytes(*bytes)))
        };
        let u32_at = |at: usize| u32_at(image, at).and_then(|number| usize::try_from(number).ok());
        if !image.starts_with(b"MZ") {
            return Err(err("it does not start with \"MZ\""));
        }
        if !image.len().is_multiple_of(8) {
            return Err(err(
                "its length is no multiple of 8: firmware and signing tools hash its end differently, so pad it",
            ));
        }
        let pe = u32_at(0x3c).ok_or(short.clone())?;
        // Offsets below are 32 bits plus small constants: no overflow in 64.
        if image
            .get(pe..)
            .is_none_or(|rest| !rest.starts_with(b"PE\0\0"))
        {
            return Err(err("it has no PE header"));
        }
        let optional = pe + 24;
        let sections = u16_at(pe + 6).ok_or(short.clone())?;
        let optional_len = u16_at(pe + 20).ok_or(short.clone())?;
        let directory = match u16_at(optional) {
            Some(0x10b) => optional + 96,
            Some(0x20b) => optional + 112,
            _ => return Err(err("its optional header is neither PE32 nor PE32+")),
        };
        let checksum = optional + 64;
        let headers = u32_at(optional + 60).ok_or(short.clone())?;
        let directories = u32_at(directory - 4).ok_or(short.clone())?;
        let entry = directory + 8 * CERTIFICATES;
        let table = optional + optional_len;
        let table_end = table + SECTION * sections;
        if directories <= CERTIFICATES || entry + 8 > table || table_end > headers {
            return Err(err(
                "its headers have no place for a certificate table, or overlap",
            ));
        }
        let (at, len) = u32_at(entry).zip(u32_at(entry + 4)).ok_or(short.clone())?;
        let end = match (at, len) {
            (_, 0) => image.len(),
            (at, len) if at.checked_add(len) == Some(image.len()) => at,
            _ => return Err(err("its certificate table is not at its end")),
        };
        let mut parts = Vec::with_capacity(sections);
        for section in 0..sections {
            let header = table + SECTION * section;
            let part = u32_at(header + 20)
                .zip(u32_at(header + 16))
                .ok_or(short.clone())?;
            if part.1 > 0 {
                parts.push(part);
            }
        }
        parts.sort_unstable();
        let mut covered = headers;
        for (start, len) in parts {
            if start != covered {
                return Err(err("there are gaps or overlaps between its parts"));
            }
            covered += len;
        }
        if covered > end {
            return Err(err("its sections do not end before the file does"));
        }
        Ok(Self {
            left_out: [(checksum, 4), (entry, 8), (end, image.len() - end)],
        })
    }
}
