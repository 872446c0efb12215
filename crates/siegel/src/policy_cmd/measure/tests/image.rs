//! Firmware images that are only what is measured: a pattern, a table at the end, metadata.

use crate::policy_cmd::measure::firmware::{PAGE, guid};

pub(super) const RESET: [u8; 16] = guid(
    0x00f7_71de,
    0x1a7e,
    0x4fcb,
    *b"\x89\x0e\x68\xc7\x7e\x2f\xb4\x4e",
);
pub(super) const HASHES: [u8; 16] = guid(
    0x7255_371f,
    0x3a3b,
    0x4b04,
    *b"\x92\x7b\x1d\xa6\xef\xa8\xd4\x54",
);
pub(super) const SEV: [u8; 16] = guid(
    0xdc88_6566,
    0x984a,
    0x4798,
    *b"\xa7\x5e\x55\x85\xa7\xbf\x67\xcc",
);
pub(super) const TDX: [u8; 16] = guid(
    0xe47a_6535,
    0x984a,
    0x4798,
    *b"\x86\x5e\x46\x85\xa7\xbf\x8e\xc2",
);
pub(super) const FOOTER: [u8; 16] = guid(
    0x96b5_82de,
    0x1fb2,
    0x45f7,
    *b"\xba\xea\xa3\x66\xc5\x5a\x08\x2d",
);

/// Distance of metadata from the image's end.
pub(super) const METADATA: u32 = 0x600;

/// An image with this metadata and these entries, besides one that names the metadata.
pub(super) fn image(
    pages: usize,
    id: [u8; 16],
    metadata: &[u8],
    entries: &[([u8; 16], Vec<u8>)],
) -> Vec<u8> {
    let len = pages * PAGE;
    let mut image: Vec<u8> = (0..len).map(|at| (at / 7 + at / PAGE) as u8).collect();
    let at = len - METADATA as usize;
    image[at..at + metadata.len()].copy_from_slice(metadata);
    let named = (id, METADATA.to_le_bytes().to_vec());
    let mut table = Vec::new();
    for (id, data) in entries.iter().chain([&named, &(FOOTER, Vec::new())]) {
        table.extend(data);
        let own = data.len() + 18;
        let before = if *id == FOOTER { table.len() } else { 0 };
        table.extend(((own + before) as u16).to_le_bytes());
        table.extend(id);
    }
    let at = len - 32 - table.len();
    image[at..len - 32].copy_from_slice(&table);
    image
}

/// SEV metadata: address, size, type.
pub(super) fn sev(sections: &[(u32, u32, u32)]) -> Vec<u8> {
    let mut metadata = b"ASEV".to_vec();
    let count = sections.len() as u32;
    for number in [16 + 12 * count, 1, count] {
        metadata.extend(number.to_le_bytes());
    }
    for (gpa, size, kind) in sections {
        for number in [gpa, size, kind] {
            metadata.extend(number.to_le_bytes());
        }
    }
    metadata
}

/// TDX metadata: offset, length in the image, address, size, type, attributes.
pub(super) type TdxSection = (u32, u32, u64, u64, u32, u32);

pub(super) fn tdx(sections: &[TdxSection]) -> Vec<u8> {
    let mut metadata = b"TDVF".to_vec();
    let count = sections.len() as u32;
    for number in [16 + 32 * count, 1, count] {
        metadata.extend(number.to_le_bytes());
    }
    for (offset, raw, address, size, kind, attributes) in sections {
        metadata.extend(offset.to_le_bytes());
        metadata.extend(raw.to_le_bytes());
        metadata.extend(address.to_le_bytes());
        metadata.extend(size.to_le_bytes());
        metadata.extend(kind.to_le_bytes());
        metadata.extend(attributes.to_le_bytes());
    }
    metadata
}

/// The sections of OVMF's AmdSev build (edk2-stable202405).
pub(super) const AMD_SEV: [(u32, u32, u32); 7] = [
    (0x80_0000, 0x9000, 1),
    (0x80_a000, 0x3000, 1),
    (0x80_d000, 0x1000, 2),
    (0x80_e000, 0x1000, 3),
    (0x80_f000, 0x1000, 4),
    (0x81_0000, 0x1000, 0x10),
    (0x81_1000, 0xf000, 1),
];

/// That build's reset address, and its area for hashes.
pub(super) fn amd_sev_entries() -> [([u8; 16], Vec<u8>); 2] {
    let area = [0x0081_0c00u32, 0x400].map(u32::to_le_bytes).concat();
    [
        (RESET, 0x0080_b004u32.to_le_bytes().to_vec()),
        (HASHES, area),
    ]
}

/// An image like that build.
pub(super) fn amd_sev(pages: usize) -> Vec<u8> {
    image(pages, SEV, &sev(&AMD_SEV), &amd_sev_entries())
}

/// Volumes, hand-off block and temporary memory as in OVMF, in an image of four pages.
pub(super) const TDVF: [TdxSection; 5] = [
    (0x1000, 0x3000, 0xffff_d000, 0x3000, 0, 1),
    (0, 0x1000, 0xffff_c000, 0x1000, 1, 0),
    (0, 0, 0x81_0000, 0x2000, 3, 0),
    (0, 0, 0x80_9000, 0x2000, 2, 0),
    (0, 0, 0x80_b000, 0x1000, 3, 0),
];

pub(super) fn tdvf() -> Vec<u8> {
    image(4, TDX, &tdx(&TDVF), &[])
}
