//! The launch digest, against the public digests of virtee/sev-snp-measure and a second calculation.

use ring::digest::{SHA256, SHA384, digest};

use super::image::{self, amd_sev};
use crate::policy_cmd::measure::error::MeasureError;
use crate::policy_cmd::measure::firmware::{Firmware, PAGE};
use crate::policy_cmd::measure::snp::{Cpu, KernelHashes, Launch, LaunchDigest, Vmm, signature};

/// Digest of that project's firmware (edk2-stable202405, AmdSev) alone. What follows the firmware needs only its table
/// and metadata, which [`amd_sev`] has too.
const FIRMWARE: &str = "086e2e9149ebf45abdc3445fba5b2da8270bdbb04094d7a2c37faaa4b24af3aa16aff8c374c2a55c467a50da6d466b74";

fn launch(vmm: Vmm, vcpus: u32, guest_features: u64, cmdline: Option<&str>) -> Launch {
    let empty = digest(&SHA256, b"");
    let hashes = |cmdline| KernelHashes::new(empty.as_ref(), empty.as_ref(), cmdline).unwrap();
    Launch {
        vmm,
        vcpus,
        signature: Cpu::named("EPYC-v4").unwrap().signature,
        guest_features,
        kernel: cmdline.map(hashes),
    }
}

fn after_public_firmware(launch: &Launch) -> String {
    let seed = hex::decode(FIRMWARE).unwrap().try_into().unwrap();
    let bytes = amd_sev(1);
    let firmware = Firmware::parse(&bytes).unwrap();
    hex::encode(launch.finish(LaunchDigest(seed), &firmware).unwrap())
}

fn of(launch: &Launch, image: &[u8]) -> Result<[u8; 48], MeasureError> {
    let firmware = Firmware::parse(image)?;
    launch.finish(LaunchDigest::of_firmware(&firmware), &firmware)
}

/// I3: twelve digests that another implementation publishes.
#[test]
fn public_digests() {
    let quiet = Some("console=ttyS0 loglevel=7");
    let (qemu, ec2, gce) = (Vmm::Qemu, Vmm::Ec2, Vmm::Gce);
    for (vmm, vcpus, features, cmdline, expected) in [
        (
            qemu,
            1,
            0x21,
            Some(""),
            "329c8ce0972ae52343b64d34a434a86f245dfd74f5ed7aae15d22efc78fb9683632b9b50e4e1d7fa41179ef98a7ef198",
        ),
        (
            qemu,
            1,
            0x01,
            Some(""),
            "ddc5224521617a536ee7ce9dd6224d1b58a8d4fda1c741f3ac99fc4bfa04ba6e9fc98646d4a07a9079397fa3852819b5",
        ),
        (
            qemu,
            1,
            0x21,
            quiet,
            "803f691094946e42068aaa3a8f9e26a5c89f36f7b73ecfb28c653360fe4b3aba7e534442e7e1e17895dfe778d0228977",
        ),
        (
            qemu,
            1,
            0x01,
            quiet,
            "6d287813eb5222d770f75005c664e34c204f385ce832cc2ce7d0d6f354454362f390ef83a92046c042e706363b4b08fa",
        ),
        (
            qemu,
            1,
            0x21,
            None,
            "e1e1ca029dd7973ab9513295be68198472dcd4fc834bd9af9b63f6e8a1674dbf281a9278a4a2ebe0eed9f22adbcd0e2b",
        ),
        (
            qemu,
            1,
            0x01,
            None,
            "19358ba9a7615534a9a1e2f0dfc29384dcd4dcb7062ff9c6013b26869a5fc6ecabe033c48dd6f6db5d6d76e7c5df632d",
        ),
        (
            qemu,
            4,
            0x21,
            Some(""),
            "4953b1fb416fa874980e8442b3706d345926d5f38879134e00813c5d7abcbe78eafe7b422907be0b4698e2414a631942",
        ),
        (
            qemu,
            4,
            0x01,
            Some(""),
            "5061fffb019493a903613d56d54b94912a1a2f9e4502385f5c194616753720a92441310ba6c4933de877c36e23046ad5",
        ),
        (
            ec2,
            1,
            0x21,
            Some(""),
            "0ce9ccc06bab55eebe8abc234f3df6514883977a68a591b71052498ab52b2f1aa415db338033946ef93aa8278c0d67fb",
        ),
        (
            ec2,
            1,
            0x01,
            Some(""),
            "0883bd0eeb716e65b7b977a321c278d1e51b33b5c655fab985443bbcc65c086b9c15e8a0bd8811050dec7e24964e5056",
        ),
        (
            gce,
            1,
            0x01,
            Some(""),
            "5da7106cf14cf46b1725ebab123eb9e53bd46a1e9f400cd0c08e7827b04b688ea8b4e403c8404efed4397ea5d5d0722e",
        ),
        (
            gce,
            4,
            0x01,
            Some(""),
            "5c5debf100fc339f90276e761ee1f1658d08922c3b20e2a2e6c7a6c3370b2452a15a00eae11886a93d6fd1e7ab81e29d",
        ),
    ] {
        let found = after_public_firmware(&launch(vmm, vcpus, features, cmdline));
        assert_eq!(found, expected, "{vmm} {vcpus} {features:#x} {cmdline:?}");
    }
}

/// The firmware's own pages, calculated again in the plainest way.
#[test]
fn firmware_pages_by_a_second_calculation() {
    let image = amd_sev(3);
    let mut expected = vec![0; 48];
    for (page, gpa) in image
        .chunks(PAGE)
        .zip([0xffff_d000u64, 0xffff_e000, 0xffff_f000])
    {
        let mut info = expected;
        info.extend(digest(&SHA384, page).as_ref());
        info.extend([0x70, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00]);
        info.extend(gpa.to_le_bytes());
        assert_eq!(info.len(), 0x70);
        expected = digest(&SHA384, &info).as_ref().to_vec();
    }
    let firmware = Firmware::parse(&image).unwrap();
    assert_eq!(LaunchDigest::of_firmware(&firmware).0.to_vec(), expected);
}

/// I3: nothing that decides what runs can change without the digest.
#[test]
fn everything_that_runs_is_in_the_digest() {
    let image = amd_sev(3);
    let base = launch(Vmm::Qemu, 2, 1, Some("a"));
    let digest_of = |launch: &Launch| of(launch, &image).unwrap();
    let one = digest_of(&base);
    let mut seen = vec![one];
    for changed in [
        launch(Vmm::Ec2, 2, 1, Some("a")),
        launch(Vmm::Gce, 2, 1, Some("a")),
        launch(Vmm::Qemu, 3, 1, Some("a")),
        launch(Vmm::Qemu, 2, 3, Some("a")),
        launch(Vmm::Qemu, 2, 1, Some("b")),
        launch(Vmm::Qemu, 2, 1, None),
        Launch {
            signature: signature(25, 17, 0),
            ..base.clone()
        },
        Launch {
            kernel: Some(KernelHashes::new(&[1; 32], &[2; 32], "a").unwrap()),
            ..base.clone()
        },
        Launch {
            kernel: Some(KernelHashes::new(&[2; 32], &[1; 32], "a").unwrap()),
            ..base.clone()
        },
    ] {
        seen.push(digest_of(&changed));
    }
    for at in [0, PAGE, 2 * PAGE + 100] {
        let mut image = image.clone();
        image[at] ^= 1;
        seen.push(of(&base, &image).unwrap());
    }
    let count = seen.len();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), count);
}

#[test]
fn signatures_by_name() {
    let named = |name| Cpu::named(name).map(|cpu| cpu.signature);
    // As CPUID gives them on such machines.
    assert_eq!(named("EPYC-Milan"), Ok(0x00a0_0f11));
    assert_eq!(named("EPYC-Genoa-v1"), Ok(0x00a1_0f10));
    assert_eq!(named("EPYC-Turin"), Ok(0x00b0_0f00));
    assert_eq!(named("EPYC-Rome"), Ok(0x0083_0f10));
    assert_eq!(named("EPYC-v4"), Ok(0x0080_0f12));
    for unknown in [
        "",
        "EPYC-v0",
        "EPYC-v5",
        "EPYC-v",
        "EPYC-Milan-v9",
        "Skylake",
        "epyc",
    ] {
        assert!(
            named(unknown).unwrap_err().contains("--vcpu-signature"),
            "{unknown}"
        );
    }
}

#[test]
fn a_kernel_needs_a_place_for_its_hashes() {
    let with = launch(Vmm::Qemu, 1, 1, Some(""));
    let refused = |sections: &[(u32, u32, u32)], area: [u32; 2]| {
        let [reset, _] = image::amd_sev_entries();
        let area = (image::HASHES, area.map(u32::to_le_bytes).concat());
        let image = image::image(1, image::SEV, &image::sev(sections), &[reset, area]);
        matches!(of(&with, &image), Err(MeasureError::NoKernelHashes(_)))
    };
    let good = [0x0081_0c00, 0x400];
    let all = image::AMD_SEV;
    assert!(!refused(&all, good));
    assert!(!refused(&all, [0x0081_0f50, 176]), "the last place");
    assert!(refused(&all, [0x0081_0f51, 176]), "past its page");
    assert!(refused(&all, [0x0081_0c00, 175]), "too small");
    assert!(refused(&all, [0x0080_fff0, 0x400]), "before its section");
    assert!(refused(&all, [0, 0]), "as in builds without");
    assert!(refused(&all[..5], good), "no section");
    let twice: Vec<_> = all.into_iter().chain([all[5]]).collect();
    assert!(refused(&twice, good), "two sections");
    let mut long = all;
    long[5].1 = 0x2000;
    assert!(refused(&long, good), "two pages");
}
