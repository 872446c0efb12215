//! MRTD and RTMRs against second calculations, and the firmware's words against a real event log.

use std::path::PathBuf;

use ring::digest::{SHA384, digest};
use siegel_attest::hardware::event_log::EventLog;

use super::image::{self, TDVF, TdxSection, tdvf};
use crate::policy_cmd::measure::error::MeasureError;
use crate::policy_cmd::measure::firmware::Firmware;
use crate::policy_cmd::measure::tdx::{Boot, mrtd};

fn of(image: &[u8]) -> Result<[u8; 48], MeasureError> {
    mrtd(&Firmware::parse(image)?)
}

fn of_sections(sections: &[TdxSection]) -> Result<[u8; 48], MeasureError> {
    of(&image::image(4, image::TDX, &image::tdx(sections), &[]))
}

/// The whole input of the hash, written down page by page, hashed at once.
#[test]
fn mrtd_by_a_second_calculation() {
    let image = tdvf();
    let mut input = Vec::new();
    let mut operation = |name: &str, gpa: u64, bytes: &[u8]| {
        let mut block = name.as_bytes().to_vec();
        block.resize(16, 0);
        block.extend(gpa.to_le_bytes());
        block.resize(128, 0);
        input.extend(block);
        input.extend(bytes);
    };
    for (page, gpa) in [0xffff_d000u64, 0xffff_e000, 0xffff_f000]
        .into_iter()
        .enumerate()
    {
        operation("MEM.PAGE.ADD", gpa, b"");
        for chunk in 0..16 {
            let at = 0x1000 + page * 0x1000 + chunk * 0x100;
            operation(
                "MR.EXTEND",
                gpa + chunk as u64 * 0x100,
                &image[at..at + 0x100],
            );
        }
    }
    for gpa in [
        0xffff_c000u64,
        0x81_0000,
        0x81_1000,
        0x80_9000,
        0x80_a000,
        0x80_b000,
    ] {
        operation("MEM.PAGE.ADD", gpa, b"");
    }
    assert_eq!(input.len(), 9 * 128 + 48 * (128 + 256));
    assert_eq!(
        of(&image).unwrap().as_slice(),
        digest(&SHA384, &input).as_ref()
    );
}

/// I3: code, addresses and order are in MRTD. The configuration volume is not: firmware measures it into RTMR0.
#[test]
fn what_is_in_mrtd() {
    let base = of(&tdvf()).unwrap();
    let flipped = |at: usize| {
        let mut image = tdvf();
        image[at] ^= 1;
        of(&image).unwrap()
    };
    for at in [0x1000, 0x2fff, 0x3fff] {
        assert_ne!(flipped(at), base, "{at:#x}");
    }
    assert_eq!(flipped(0xfff), base);
    let mut moved = TDVF;
    moved[4].2 += 0x1000;
    let mut swapped = TDVF;
    swapped.swap(0, 1);
    assert_ne!(of_sections(&moved).unwrap(), base);
    assert_ne!(of_sections(&swapped).unwrap(), base);
}

#[test]
fn sections_that_loaders_would_read_differently() {
    let refused = |at: usize, change: fn(&mut TdxSection)| {
        let mut sections = TDVF;
        change(&mut sections[at]);
        matches!(of_sections(&sections), Err(MeasureError::Section { index, .. }) if index == at)
    };
    assert!(of_sections(&TDVF).is_ok());
    assert!(
        refused(0, |section| section.1 = 0x2000),
        "shorter in the image"
    );
    assert!(
        refused(0, |section| section.3 = 0x2000),
        "shorter in memory"
    );
    assert!(refused(0, |section| section.2 += 1), "not a page");
    assert!(refused(0, |section| section.5 = 3), "added later");
    assert!(refused(2, |section| section.5 = 1), "measured memory");
    assert!(refused(3, |section| section.1 = 1), "memory from the image");
    assert!(refused(4, |section| section.4 = 4), "permanent memory");
    assert!(
        refused(4, |section| section.2 = u64::MAX - 0xfff),
        "past the end"
    );
    assert!(
        refused(4, |section| section.3 = u64::MAX - 0xfff),
        "endless"
    );
    let mut outside = TDVF;
    outside[0].0 = 0x2000;
    assert!(matches!(
        of_sections(&outside),
        Err(MeasureError::OutOfImage {
            at: 0x2000,
            len: 0x3000,
            ..
        })
    ));
    let mut unmeasured = TDVF;
    unmeasured[0].5 = 0;
    assert!(matches!(
        of_sections(&unmeasured),
        Err(MeasureError::Metadata { .. })
    ));
    let many = [(0, 0, 0, 0x2000_0000, 3, 0); 3];
    assert!(
        matches!(of_sections(&many), Err(MeasureError::Metadata { .. })),
        "1.5 GiB"
    );
}

fn boot(initrd: Option<&[u8]>, cmdline: &str) -> Result<Boot, MeasureError> {
    Boot::new([7; 48], initrd, cmdline)
}

fn fold(events: &[&[u8]]) -> Vec<u8> {
    let mut register = vec![0; 48];
    for event in events {
        register.extend(*event);
        register = digest(&SHA384, &register).as_ref().to_vec();
    }
    register
}

/// Registers from events whose digests are written out.
#[test]
fn registers_by_a_second_calculation() {
    let fixed = FIXED.map(|digest| hex::decode(digest).unwrap());
    let [starts, separator, leaves, left] = &fixed;
    let boot = boot(Some(&[9; 48]), "ab").unwrap();
    let rtmr1 = fold(&[&[7; 48], starts, separator, leaves, left]);
    assert_eq!(boot.rtmr1().to_vec(), rtmr1);
    let options: Vec<u8> = "ab initrd=initrd\0"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let options = digest(&SHA384, &options);
    assert_eq!(boot.rtmr2().to_vec(), fold(&[options.as_ref(), &[9; 48]]));
    let without = Boot::new([7; 48], None, "ab").unwrap();
    let options = digest(&SHA384, b"a\0b\0\0\0");
    assert_eq!(without.rtmr2().to_vec(), fold(&[options.as_ref()]));
}

/// Digests of the firmware's own events in RTMR1, in this order, as in the event log of a real domain.
const FIXED: [&str; 4] = [
    "77a0dab2312b4e1e57a84d865a21e5b2ee8d677a21012ada819d0a98988078d3d740f6346bfe0abaa938ca20439a8d71",
    "394341b7182cd227c5c6b07ef8000cdfd86136c4292b8e576573ad7ed9ae41019f5818b4b971c9effc60e1ad9f1289f0",
    "214b0bef1379756011344877743fdc2a5382bac6e70362d624ccf3f654407c1b4badf7d8f9295dd3dabdef65b27677e0",
    "0a2e01c85deae718a530ad8c6d20a84009babe6c8989269e950d8cf440c6e997695e64d455c4174a652cd080f6230b74",
];

#[test]
fn options_that_loaders_would_read_differently() {
    for (initrd, cmdline) in [(None, ""), (None, "a\0"), (Some([9; 48].as_slice()), "ü")] {
        assert!(
            matches!(boot(initrd, cmdline), Err(MeasureError::Argument(_))),
            "{cmdline:?}"
        );
    }
    assert!(boot(Some(&[9; 48]), "").is_ok());
}

/// A real domain's log: its own boot loader, and the same firmware words in the same order.
#[test]
fn the_firmwares_words_in_a_real_log() {
    let root = std::env::var_os("SIEGEL_VECTORS").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/vectors"),
        PathBuf::from,
    );
    let path = root.join("attestation/tdx/ccel_cos113.eventlog");
    if !path.is_file() {
        println!("skipped: no {} (set SIEGEL_VECTORS)", path.display());
        return;
    }
    let log = EventLog::parse(&std::fs::read(path).unwrap()).unwrap();
    let said: Vec<String> = log
        .events()
        .iter()
        .filter(|event| event.register == 1 && FIXED.contains(&&*event.digest.to_string()))
        .map(|event| event.digest.to_string())
        .collect();
    assert_eq!(said, FIXED);
}
