//! Arguments of `siegel policy measure sev-snp`.

use std::fmt;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use ring::digest::{SHA256, digest};

use super::super::error::MeasureError;
use super::super::input;
use super::{Cpu, KernelHashes, Launch};
use crate::failure::Failure;

/// Bit 0 of the guest features: SEV-SNP is on.
const SNP_ACTIVE: u64 = 1;

/// Launch digest of an AMD SEV-SNP guest.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  siegel policy measure sev-snp --firmware OVMF.fd --vcpus 4 --vcpu-type EPYC-Genoa
  siegel policy measure sev-snp --firmware OVMF.fd --vcpus 4 --vcpu-signature 0xa10f10 \\
      --kernel vmlinuz --initrd initrd.img --append 'console=ttyS0' --guest-features 0x21

With --kernel, QEMU must run with kernel-hashes=on, and the firmware must be OVMF's AmdSev build.
Guest features are those that the host's kernel sets in every save area: 0x1 is SEV-SNP alone.
A coordinated VMSA service module (SVSM) and IGVM files are not supported.")]
pub struct SnpArgs {
    /// Firmware image (OVMF)
    #[arg(long, value_name = "FILE")]
    pub firmware: PathBuf,

    /// Number of virtual CPUs
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub vcpus: u32,

    /// Virtual CPU, as QEMU names it: EPYC-Milan, EPYC-Genoa, EPYC-Turin, …
    #[arg(long, value_name = "MODEL", value_parser = Cpu::named)]
    pub vcpu_type: Option<Cpu>,

    /// Virtual CPU by its CPUID signature (function 1, EAX)
    #[arg(long, value_name = "NUMBER", conflicts_with = "vcpu_type", value_parser = number)]
    pub vcpu_signature: Option<u64>,

    /// Who starts the guest
    #[arg(long, value_enum, default_value = "qemu")]
    pub vmm: Vmm,

    /// SEV features of the guest
    #[arg(long, value_name = "NUMBER", default_value = "0x1", value_parser = number)]
    pub guest_features: u64,

    /// Kernel, if the hypervisor hands it to the firmware
    #[arg(long, value_name = "FILE")]
    pub kernel: Option<PathBuf>,

    /// Initial RAM disk
    #[arg(long, value_name = "FILE", requires = "kernel")]
    pub initrd: Option<PathBuf>,

    /// Kernel command line
    #[arg(
        long,
        value_name = "TEXT",
        requires = "kernel",
        allow_hyphen_values = true
    )]
    pub append: Option<String>,
}

/// Who starts the guest. They differ in page order and in the registers of a virtual CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Vmm {
    /// QEMU with KVM
    Qemu,
    /// Amazon EC2, guests started since April 2026
    Ec2,
    /// Google Compute Engine
    Gce,
}

impl fmt::Display for Vmm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Qemu => "QEMU",
            Self::Ec2 => "Amazon EC2",
            Self::Gce => "Google Compute Engine",
        })
    }
}

fn number(text: &str) -> Result<u64, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| "not a number, such as 0x21 or 33".into())
}

impl SnpArgs {
    /// The guest; kernel and initrd are read.
    pub(super) fn launch(&self) -> Result<Launch, Failure> {
        let wrong = |at, why| Err(MeasureError::Argument(why).at(at));
        if self.guest_features & SNP_ACTIVE == 0 {
            return wrong(
                "--guest-features",
                "a SEV-SNP guest has bit 0 of its features set",
            );
        }
        let signature = match (self.vmm, self.vcpu_type, self.vcpu_signature) {
            (Vmm::Qemu, Some(cpu), _) => cpu.signature,
            (Vmm::Qemu, None, Some(signature)) => match u32::try_from(signature) {
                Ok(signature) => signature,
                Err(_) => return wrong("--vcpu-signature", "a CPUID signature has 32 bits"),
            },
            (Vmm::Qemu, None, None) => {
                return wrong(
                    "--vcpu-type",
                    "QEMU hands the virtual CPU's signature to the guest: which is it?",
                );
            }
            (_, None, None) => 0,
            _ => {
                return wrong(
                    "--vmm",
                    "only QEMU hands the virtual CPU's signature to the guest: leave it out",
                );
            }
        };
        Ok(Launch {
            vmm: self.vmm,
            vcpus: self.vcpus,
            signature,
            guest_features: self.guest_features,
            kernel: self.hashes()?,
        })
    }

    fn hashes(&self) -> Result<Option<KernelHashes>, Failure> {
        let Some(kernel) = &self.kernel else {
            return Ok(None);
        };
        if self.vmm != Vmm::Qemu {
            let why = "only QEMU hands a kernel to the firmware: leave --kernel out";
            return Err(MeasureError::Argument(why).at("--kernel"));
        }
        let (kernel, _) = input::digest(kernel, "kernel", input::KERNEL_MAX, &SHA256)?;
        let initrd = match &self.initrd {
            Some(path) => input::digest(path, "initrd", input::INITRD_MAX, &SHA256)?.0,
            None => digest(&SHA256, b""),
        };
        let cmdline = self.append.as_deref().unwrap_or_default();
        KernelHashes::new(kernel.as_ref(), initrd.as_ref(), cmdline)
            .map(Some)
            .map_err(|why| why.at("--append"))
    }
}
