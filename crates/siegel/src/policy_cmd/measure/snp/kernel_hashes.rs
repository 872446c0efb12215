//! The page of hashes that QEMU writes for a kernel that it hands over; the firmware holds the files against it.

use ring::digest::{SHA256, digest};

use super::super::error::MeasureError;
use super::super::firmware::{Firmware, PAGE, guid, u32_at};
use super::sections::{Kind, Section};

const AREA: [u8; 16] = guid(
    0x7255_371f,
    0x3a3b,
    0x4b04,
    *b"\x92\x7b\x1d\xa6\xef\xa8\xd4\x54",
);
const TABLE: [u8; 16] = guid(
    0x9438_d606,
    0x4f22,
    0x4cc9,
    *b"\xb4\x79\xa7\x93\xd4\x11\xfd\x21",
);
const CMDLINE: [u8; 16] = guid(
    0x97d0_2dd8,
    0xbd20,
    0x4c94,
    *b"\xaa\x78\xe7\x71\x4d\x36\xab\x2a",
);
const INITRD: [u8; 16] = guid(
    0x44ba_f731,
    0x3a2f,
    0x4bd7,
    *b"\x9a\xf1\x41\xe2\x91\x69\x78\x1d",
);
const KERNEL: [u8; 16] = guid(
    0x4de7_9437,
    0xabd2,
    0x427f,
    *b"\xb8\x35\xd5\xb1\x72\xd2\x04\x5b",
);
/// GUID, length, SHA-256.
const ENTRY: u16 = 16 + 2 + 32;
/// GUID, length, three entries.
const LEN: u16 = 16 + 2 + 3 * ENTRY;
/// In multiples of 16 bytes.
const PADDED: usize = (LEN as usize).next_multiple_of(16);

/// SHA-256 of what QEMU loads.
#[derive(Debug, Clone)]
pub(in super::super) struct KernelHashes {
    cmdline: [u8; 32],
    initrd: [u8; 32],
    kernel: [u8; 32],
}

impl KernelHashes {
    /// The command line is hashed with the zero byte that ends it. No initrd is an empty one.
    pub(in super::super) fn new(
        kernel: &[u8],
        initrd: &[u8],
        cmdline: &str,
    ) -> Result<Self, MeasureError> {
        if cmdline.contains('\0') {
            return Err(MeasureError::Argument("a command line has no zero byte"));
        }
        let sized = |bytes: &[u8]| bytes.try_into();
        let hash = digest(&SHA256, &[cmdline.as_bytes(), &[0]].concat());
        match (sized(hash.as_ref()), sized(initrd), sized(kernel)) {
            (Ok(cmdline), Ok(initrd), Ok(kernel)) => Ok(Self {
                cmdline,
                initrd,
                kernel,
            }),
            _ => Err(MeasureError::Argument("a SHA-256 has 32 bytes")),
        }
    }

    /// The page with the table where the firmware looks for it.
    pub(super) fn page(
        &self,
        firmware: &Firmware<'_>,
        sections: &[Section],
    ) -> Result<[u8; PAGE], MeasureError> {
        let none = MeasureError::NoKernelHashes;
        let area = firmware.entry(AREA, "SEV hash table area");
        let area = area.map_err(|_| none("its OVMF table has no area for hashes"))?;
        let (Some(base), Some(size)) = (u32_at(area, 0), u32_at(area, 4)) else {
            return Err(none("the area for hashes has no address"));
        };
        let mut of_hashes = sections
            .iter()
            .filter(|section| section.kind == Kind::KernelHashes);
        let (Some(section), None) = (of_hashes.next(), of_hashes.next()) else {
            return Err(none(
                "its SEV metadata has not exactly one section for kernel hashes",
            ));
        };
        let offset = u64::from(base)
            .checked_sub(section.gpa)
            .map(usize::try_from);
        let mut page = [0; PAGE];
        let place = match offset {
            Some(Ok(offset)) if section.pages() == 1 && size as usize >= PADDED => page
                .get_mut(offset..)
                .and_then(|rest| rest.get_mut(..PADDED)),
            _ => None,
        };
        let place = place.ok_or(none(
            "the area for hashes is not in its section, or too small",
        ))?;
        let table = self.table();
        for (to, from) in place.iter_mut().zip(table) {
            *to = from;
        }
        Ok(page)
    }

    fn table(&self) -> Vec<u8> {
        let mut table = Vec::with_capacity(PADDED);
        table.extend(TABLE);
        table.extend(LEN.to_le_bytes());
        for (id, hash) in [
            (CMDLINE, self.cmdline),
            (INITRD, self.initrd),
            (KERNEL, self.kernel),
        ] {
            table.extend(id);
            table.extend(ENTRY.to_le_bytes());
            table.extend(hash);
        }
        table
    }
}
