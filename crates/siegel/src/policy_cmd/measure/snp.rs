//! Launch digest of a SEV-SNP guest.
//!
//! The secure processor folds every page that the hypervisor adds at launch into one SHA-384 (SEV-SNP firmware
//! ABI, SNP_LAUNCH_UPDATE and its PAGE_INFO structure). So the digest is a function of the pages, their types,
//! addresses and order: firmware, the pages that its metadata asks for, then one save area for each virtual CPU.

mod args;
mod kernel_hashes;
mod sections;
mod vmsa;

use ring::digest::{SHA384, digest};

use super::error::MeasureError;
use super::firmware::{Firmware, PAGE, guid, u32_at};
use super::{Measured, input};
use crate::failure::Failure;
pub use args::SnpArgs;
pub(super) use args::Vmm;
pub(super) use kernel_hashes::KernelHashes;
use sections::{Kind, Section};
pub(super) use vmsa::Cpu;
#[cfg(test)]
pub(super) use vmsa::signature;

const RESET_BLOCK: [u8; 16] = guid(
    0x00f7_71de,
    0x1a7e,
    0x4fcb,
    *b"\x89\x0e\x68\xc7\x7e\x2f\xb4\x4e",
);
/// Save areas are recorded at this address, whatever their number.
const SAVE_AREA_GPA: u64 = 0xFFFF_FFFF_F000;

/// A guest as the hypervisor starts it.
#[derive(Debug, Clone)]
pub(super) struct Launch {
    pub(super) vmm: Vmm,
    pub(super) vcpus: u32,
    /// CPUID signature of a virtual CPU; only QEMU hands it over.
    pub(super) signature: u32,
    pub(super) guest_features: u64,
    pub(super) kernel: Option<KernelHashes>,
}

/// What the secure processor records about a page.
#[derive(Debug, Clone, Copy)]
#[repr(u8)]
enum PageType {
    Normal = 1,
    SaveArea = 2,
    Zero = 3,
    Unmeasured = 4,
    Secrets = 5,
    Cpuid = 6,
}

/// The digest while pages are added.
#[derive(Debug, Clone)]
pub(super) struct LaunchDigest(pub(super) [u8; 48]);

impl LaunchDigest {
    /// One page: 0x70 bytes of PAGE_INFO, no permissions for lower privilege levels, no initial migration image.
    fn add(&mut self, kind: PageType, gpa: u64, contents: Option<&[u8]>) {
        let mut info = [0; 0x70];
        let (before, rest) = info.split_at_mut(48);
        let (page, rest) = rest.split_at_mut(48);
        before.copy_from_slice(&self.0);
        if let Some(contents) = contents {
            page.copy_from_slice(digest(&SHA384, contents).as_ref());
        }
        let (header, address) = rest.split_at_mut(8);
        header.copy_from_slice(&[0x70, 0, kind as u8, 0, 0, 0, 0, 0]);
        address.copy_from_slice(&gpa.to_le_bytes());
        self.0.copy_from_slice(digest(&SHA384, &info).as_ref());
    }

    fn add_pages(&mut self, kind: PageType, section: &Section) {
        for page in 0..section.pages() {
            self.add(kind, section.gpa + page * PAGE as u64, None);
        }
    }

    /// The firmware itself, which is the first to be added.
    pub(super) fn of_firmware(firmware: &Firmware<'_>) -> Self {
        let mut launch = Self([0; 48]);
        let mut gpa = firmware.base();
        for page in firmware.bytes().chunks_exact(PAGE) {
            launch.add(PageType::Normal, gpa, Some(page));
            gpa += PAGE as u64;
        }
        launch
    }
}

impl Launch {
    /// Everything after the firmware.
    pub(super) fn finish(
        &self,
        mut launch: LaunchDigest,
        firmware: &Firmware<'_>,
    ) -> Result<[u8; 48], MeasureError> {
        let sections = sections::parse(firmware)?;
        let hashes = match &self.kernel {
            Some(hashes) => Some(hashes.page(firmware, &sections)?),
            None => None,
        };
        for section in &sections {
            match section.kind {
                Kind::Memory if self.vmm == Vmm::Gce => {
                    launch.add_pages(PageType::Unmeasured, section)
                }
                Kind::Memory | Kind::CallingArea => launch.add_pages(PageType::Zero, section),
                Kind::Secrets => launch.add(PageType::Secrets, section.gpa, None),
                Kind::Cpuid if self.vmm == Vmm::Ec2 => {}
                Kind::Cpuid => launch.add(PageType::Cpuid, section.gpa, None),
                Kind::KernelHashes => match &hashes {
                    Some(page) => launch.add(PageType::Normal, section.gpa, Some(page)),
                    None => launch.add_pages(PageType::Zero, section),
                },
            }
        }
        if self.vmm == Vmm::Ec2 {
            for section in sections
                .iter()
                .filter(|section| section.kind == Kind::Cpuid)
            {
                launch.add(PageType::Cpuid, section.gpa, None);
            }
        }
        let name = "SEV-ES reset block";
        let reset =
            u32_at(firmware.entry(RESET_BLOCK, name)?, 0).ok_or(MeasureError::NoEntry(name))?;
        let [first, others] = [vmsa::RESET_VECTOR, reset].map(|start| vmsa::save_area(self, start));
        launch.add(PageType::SaveArea, SAVE_AREA_GPA, Some(&first));
        for _ in 1..self.vcpus {
            launch.add(PageType::SaveArea, SAVE_AREA_GPA, Some(&others));
        }
        Ok(launch.0)
    }
}

/// Reads the files and computes.
pub(super) fn measure(args: &SnpArgs) -> Result<Measured, Failure> {
    let launch = args.launch()?;
    let bytes = input::firmware(&args.firmware)?;
    let digest = Firmware::parse(&bytes)
        .and_then(|firmware| launch.finish(LaunchDigest::of_firmware(&firmware), &firmware))
        .map_err(|why| why.at(&args.firmware.display().to_string()))?;
    let mut measured = Measured::of("sev-snp");
    let (vmm, vcpus, features) = (launch.vmm, launch.vcpus, launch.guest_features);
    let cpu = match vmm {
        Vmm::Qemu => format!(" of signature {:#x}", launch.signature),
        _ => String::new(),
    };
    measured.assume(format!(
        "started by {vmm}, {vcpus} virtual CPUs{cpu}, guest features {features:#x}"
    ));
    measured.assume(match launch.kernel {
        Some(_) => {
            "kernel, initrd and command line are in the digest, as hashes that the firmware checks"
        }
        None => "no kernel is in the digest: the firmware starts what is on its disk",
    });
    measured.value("measurement", &digest);
    Ok(measured)
}
