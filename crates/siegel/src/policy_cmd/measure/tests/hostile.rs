//! Images that nobody built: no panic, no endless loop, a typed error.

use super::image::{self, amd_sev, tdvf};
use super::kernel::pe;
use crate::policy_cmd::measure::error::MeasureError;
use crate::policy_cmd::measure::firmware::{Firmware, PAGE};
use crate::policy_cmd::measure::snp::{KernelHashes, Launch, LaunchDigest, Vmm};
use crate::policy_cmd::measure::tdx::{authenticode, mrtd};

fn parsed(image: &[u8]) -> Result<Firmware<'_>, MeasureError> {
    Firmware::parse(image)
}

fn launch() -> Launch {
    Launch {
        vmm: Vmm::Qemu,
        vcpus: 2,
        signature: 0,
        guest_features: 1,
        kernel: Some(KernelHashes::new(&[0; 32], &[0; 32], "").unwrap()),
    }
}

fn snp(image: &[u8]) -> Result<[u8; 48], MeasureError> {
    let firmware = parsed(image)?;
    launch().finish(LaunchDigest::of_firmware(&firmware), &firmware)
}

fn tdx(image: &[u8]) -> Result<[u8; 48], MeasureError> {
    mrtd(&parsed(image)?)
}

#[test]
fn sizes() {
    for len in [0, 1, 31, 50, PAGE - 1, PAGE + 1, (64 << 20) + PAGE] {
        let image = vec![0; len];
        assert_eq!(parsed(&image).unwrap_err(), MeasureError::FirmwareSize(len));
    }
    let none = vec![0; PAGE];
    assert_eq!(parsed(&none).unwrap_err(), MeasureError::NoTable(PAGE - 48));
}

/// Lengths of the table and its entries: shorter than themselves, longer than the image.
#[test]
fn tables() {
    let footer = PAGE - 50;
    for len in [0u16, 17, 19, 0x87, 0x89, 5000, u16::MAX] {
        let mut image = amd_sev(1);
        image[footer..footer + 2].copy_from_slice(&len.to_le_bytes());
        assert!(parsed(&image).is_err(), "{len}");
    }
    // The entry before the footer: 4 bytes of data.
    let entry = footer - 18;
    for len in [0u16, 1, 17, 23, 500, u16::MAX] {
        let mut image = amd_sev(1);
        image[entry..entry + 2].copy_from_slice(&len.to_le_bytes());
        assert!(
            matches!(parsed(&image), Err(MeasureError::Table { .. })),
            "{len}"
        );
    }
}

#[test]
fn entries() {
    let [reset, area] = image::amd_sev_entries();
    let metadata = image::sev(&image::AMD_SEV);
    let with = |entries: &[_]| snp(&image::image(1, image::SEV, &metadata, entries));
    assert!(with(&[reset.clone(), area.clone()]).is_ok());
    let twice = with(&[reset.clone(), area.clone(), reset.clone()]);
    assert_eq!(twice, Err(MeasureError::Twice("SEV-ES reset block")));
    let none = Err(MeasureError::NoEntry("SEV-ES reset block"));
    assert_eq!(with(std::slice::from_ref(&area)), none);
    assert_eq!(with(&[area, (image::RESET, vec![0; 3])]), none);
    assert!(matches!(
        tdx(&amd_sev(1)),
        Err(MeasureError::NoEntry("TDX metadata"))
    ));
    assert!(matches!(
        snp(&tdvf()),
        Err(MeasureError::NoEntry("SEV metadata"))
    ));
}

/// Where the metadata is, and how long it says it is.
#[test]
fn metadata() {
    let at = PAGE - 50 - 18 - 4;
    for from_end in [0u32, 1, 15, PAGE as u32 + 1, u32::MAX] {
        let mut image = amd_sev(1);
        image[at..at + 4].copy_from_slice(&from_end.to_le_bytes());
        let out = matches!(snp(&image), Err(MeasureError::OutOfImage { .. }));
        assert!(out, "{from_end:#x}");
    }
    let metadata = PAGE - image::METADATA as usize;
    for (field, number) in [
        (0, 0),
        (4, 99),
        (4, u32::MAX),
        (8, 2),
        (12, 8),
        (12, 257),
        (12, u32::MAX),
    ] {
        let mut image = amd_sev(1);
        let at = metadata + field;
        image[at..at + 4].copy_from_slice(&number.to_le_bytes());
        let refused = matches!(snp(&image), Err(MeasureError::Metadata { .. }));
        assert!(refused, "{field} {number:#x}");
    }
    let wide = [(0, 0x4000_0000, 1), (0x4000_0000, 0x1000, 1)];
    let [reset, area] = image::amd_sev_entries();
    let image = image::image(1, image::SEV, &image::sev(&wide), &[reset, area]);
    assert!(
        matches!(snp(&image), Err(MeasureError::Metadata { .. })),
        "over 1 GiB"
    );
    for (gpa, size, kind) in [
        (1, 0x1000, 1),
        (0, 1, 1),
        (0, 0x2000, 2),
        (0, 0, 3),
        (0, 0x1000, 5),
    ] {
        let [reset, area] = image::amd_sev_entries();
        let image = image::image(
            1,
            image::SEV,
            &image::sev(&[(gpa, size, kind)]),
            &[reset, area],
        );
        let refused = matches!(snp(&image), Err(MeasureError::Section { index: 0, .. }));
        assert!(refused, "{gpa} {size} {kind}");
    }
}

/// Bytes of headers replaced at random, the same every time: the debug build checks all arithmetic and ranges.
#[test]
fn random_damage() {
    let mut state = 0x9E37_79B9_7F4A_7C15u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as usize
    };
    let (sev, td, kernel) = (amd_sev(1), tdvf(), pe());
    let (mut good, mut bad) = (0, 0);
    for _ in 0..4000 {
        let mut images = [sev.clone(), td.clone(), kernel.clone()];
        for image in &mut images {
            // The end of firmware, the start of a kernel.
            let from = if image.starts_with(b"MZ") {
                0
            } else {
                image.len() - 0x610
            };
            for _ in 0..=random() % 4 {
                let at = from + random() % 0x600;
                image[at] = [0, 1, 0x7f, 0x80, 0xff, random() as u8][random() % 6];
            }
        }
        let [sev, td, kernel] = &images;
        for result in [light(sev), tdx(td), authenticode(kernel)] {
            match result {
                Ok(_) => good += 1,
                Err(_) => bad += 1,
            }
        }
    }
    assert!(good > 100 && bad > 100, "{good} {bad}");
}

/// Without the firmware's own pages; a damaged size can still ask for many pages, which the bound ends.
fn light(image: &[u8]) -> Result<[u8; 48], MeasureError> {
    launch().finish(LaunchDigest([0; 48]), &parsed(image)?)
}
