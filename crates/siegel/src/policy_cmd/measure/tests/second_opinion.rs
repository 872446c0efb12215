//! The launch digest, against the calculation in the crate `sev`: both read the same files.

use std::path::PathBuf;

use sev::measurement::snp::{SnpMeasurementArgs, snp_calc_launch_digest};
use sev::measurement::vcpu_types::CpuType;
use sev::measurement::vmsa::{GuestFeatures, VMMType};
use tempfile::TempDir;

use super::image::{AMD_SEV, HASHES, RESET, SEV, amd_sev, image, sev};
use crate::policy_cmd::measure::snp::{Cpu, SnpArgs, Vmm, measure};

/// One guest, for both.
#[derive(Debug, Clone)]
struct Guest {
    firmware: PathBuf,
    vcpus: u32,
    cpu: &'static str,
    vmm: Vmm,
    features: u64,
    kernel: Option<PathBuf>,
    initrd: Option<PathBuf>,
    append: Option<&'static str>,
}

impl Guest {
    fn ours(&self) -> String {
        let args = SnpArgs {
            firmware: self.firmware.clone(),
            vcpus: self.vcpus,
            vcpu_type: (self.vmm == Vmm::Qemu).then(|| Cpu::named(self.cpu).unwrap()),
            vcpu_signature: None,
            vmm: self.vmm,
            guest_features: self.features,
            kernel: self.kernel.clone(),
            initrd: self.initrd.clone(),
            append: self.append.map(str::to_owned),
        };
        let measured = measure(&args).unwrap();
        measured.values[0].exact.clone()
    }

    fn theirs(&self) -> String {
        snp_calc_launch_digest(SnpMeasurementArgs {
            vcpus: self.vcpus,
            vcpu_type: CpuType::try_from(self.cpu).unwrap(),
            ovmf_file: self.firmware.clone(),
            guest_features: GuestFeatures(self.features),
            kernel_file: self.kernel.clone(),
            initrd_file: self.initrd.clone(),
            append: self.append,
            ovmf_hash_str: None,
            vmm_type: Some(match self.vmm {
                Vmm::Ec2 => VMMType::EC2,
                Vmm::Qemu | Vmm::Gce => VMMType::QEMU,
            }),
        })
        .unwrap()
        .get_hex_ld()
    }

    #[track_caller]
    fn agreed(&self) -> String {
        let ours = self.ours();
        assert_eq!(ours, self.theirs(), "{self:?}");
        ours
    }
}

/// Firmware images, kernel, initrd, and a guest that starts the first image.
fn folder() -> (TempDir, Guest) {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    // Another order, a calling area of two pages, another place of the hashes within their page, another reset address.
    let mut other = AMD_SEV.to_vec();
    other.reverse();
    other.push((0x82_0000, 0x2000, 4));
    let area = [0x0081_0100u32, 0x200].map(u32::to_le_bytes).concat();
    let reset = 0x1234_5678u32.to_le_bytes().to_vec();
    put(
        "other",
        &image(2, SEV, &sev(&other), &[(RESET, reset), (HASHES, area)]),
    );
    put("kernel", b"a kernel");
    put("initrd", b"an initrd");
    let guest = Guest {
        firmware: put("amd-sev", &amd_sev(3)),
        vcpus: 1,
        cpu: "EPYC-Genoa",
        vmm: Vmm::Qemu,
        features: 1,
        kernel: None,
        initrd: None,
        append: None,
    };
    (folder, guest)
}

/// I3: what the policy will demand is what another calculation finds, whatever is changed.
#[test]
fn every_part_of_a_guest() {
    let (folder, base) = folder();
    let at = |name: &str| folder.path().join(name);
    let mut seen = Vec::new();
    for image in ["amd-sev", "other"] {
        for vcpus in [1, 2, 7] {
            for features in [0x1, 0x21, 0x8000_0000_0000_03ff] {
                for append in [None, Some(""), Some("console=ttyS0 quiet")] {
                    for initrd in [None, Some(at("initrd"))] {
                        let direct = append.is_some() || initrd.is_some();
                        let guest = Guest {
                            firmware: at(image),
                            vcpus,
                            features,
                            kernel: direct.then(|| at("kernel")),
                            initrd,
                            append,
                            ..base.clone()
                        };
                        seen.push(guest.agreed());
                    }
                }
            }
        }
    }
    // An initrd alone is the same as one with an empty command line.
    let guests = seen.len();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!((guests, seen.len()), (108, 90));
}

/// Every model that both know, by its name.
#[test]
fn every_virtual_cpu() {
    let (_folder, base) = folder();
    for (model, versions) in [
        ("EPYC", 4),
        ("EPYC-IBPB", 0),
        ("EPYC-Rome", 3),
        ("EPYC-Milan", 2),
        ("EPYC-Genoa", 1),
        ("EPYC-Turin", 2),
    ] {
        let named = |version: u32| -> &'static str {
            match version {
                0 => model,
                version => format!("{model}-v{version}").leak(),
            }
        };
        for cpu in (0..=versions).map(named) {
            Guest {
                cpu,
                ..base.clone()
            }
            .agreed();
        }
        let next = named(versions + 1);
        let known = (Cpu::named(next).is_ok(), CpuType::try_from(next).is_ok());
        assert_eq!(known, (false, false), "{next}");
    }
}

/// Where they differ. `sev` trims the command line, which QEMU does not; and it knows EC2 as it was until 2026, with
/// RDX at zero.
#[test]
fn known_differences() {
    let (folder, base) = folder();
    let kernel = Some(folder.path().join("kernel"));
    let with = |append| Guest {
        append,
        kernel: kernel.clone(),
        ..base.clone()
    };
    let (trimmed, spaced) = (with(Some("quiet")), with(Some("quiet ")));
    trimmed.agreed();
    assert_eq!(spaced.theirs(), trimmed.theirs());
    assert_ne!(spaced.ours(), trimmed.ours());
    let ec2 = Guest {
        vmm: Vmm::Ec2,
        ..base
    };
    assert_ne!(ec2.ours(), ec2.theirs());
}
