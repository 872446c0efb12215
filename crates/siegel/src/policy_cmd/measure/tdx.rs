//! MRTD of an Intel TDX domain, and what its boot extends into RTMR1 and RTMR2.
//!
//! The TDX module folds every page that the hypervisor adds before the domain starts into one SHA-384: the page's
//! address (TDH.MEM.PAGE.ADD), and for measured pages each quarter KiB (TDH.MR.EXTEND). Which pages, in which order,
//! the firmware's metadata says.

mod boot;
mod kernel;
mod sections;

use std::path::PathBuf;

use clap::Args;
use ring::digest::{Context, SHA384, digest};

use super::error::MeasureError;
use super::firmware::{Firmware, PAGE};
use super::{Measured, input};
use crate::failure::Failure;
pub(super) use boot::Boot;
pub(super) use kernel::authenticode;

/// Bytes that one extension covers.
const CHUNK: usize = 256;

/// MRTD of an Intel TDX domain, and the digests of its boot events.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  siegel policy measure tdx --firmware OVMF.fd
  siegel policy measure tdx --firmware OVMF.fd --kernel vmlinuz --initrd initrd.img \\
      --append 'console=ttyS0 root=/dev/vda1'

MRTD is for a hypervisor that adds and measures page by page (KVM in Linux 6.16 and later).
RTMR1 and RTMR2 are for direct boot of Linux 6.9 or later by QEMU 10 or later and OVMF of
edk2-stable202505 or later: older ones change the kernel's header in memory before it is hashed.
RTMR0 and RTMR3 are not computed.")]
pub struct TdxArgs {
    /// Firmware image (OVMF or TDVF) with TDX metadata
    #[arg(long, value_name = "FILE")]
    pub firmware: PathBuf,

    /// Kernel that the hypervisor hands to the firmware
    #[arg(long, value_name = "FILE")]
    pub kernel: Option<PathBuf>,

    /// Initial RAM disk
    #[arg(long, value_name = "FILE", requires = "kernel")]
    pub initrd: Option<PathBuf>,

    /// Kernel command line, as given to the hypervisor
    #[arg(
        long,
        value_name = "TEXT",
        requires = "kernel",
        allow_hyphen_values = true
    )]
    pub append: Option<String>,
}

/// Reads the files and computes.
pub(super) fn measure(args: &TdxArgs) -> Result<Measured, Failure> {
    let bytes = input::firmware(&args.firmware)?;
    let digest = Firmware::parse(&bytes)
        .and_then(|firmware| mrtd(&firmware))
        .map_err(|why| why.at(&args.firmware.display().to_string()))?;
    let mut measured = Measured::of("tdx");
    measured
        .assume("pages are added and measured one by one, in the order of the firmware's metadata");
    measured.value("mrtd", &digest);
    measured.not_computed(
        "rtmr0",
        "it depends on memory size, ACPI tables and boot variables that the hypervisor makes; take it from a \
         trusted start of the same machine type, or hold its events against rules",
    );
    match &args.kernel {
        Some(kernel) => boot(args, kernel)?.say(&mut measured),
        None => {
            let why = "it depends on what the firmware starts; give --kernel for direct boot";
            measured.not_computed("rtmr1", why);
            measured.not_computed("rtmr2", why);
        }
    }
    measured.not_computed(
        "rtmr3",
        "it is the running system's own; zeros if nothing extends it",
    );
    Ok(measured)
}

fn boot(args: &TdxArgs, path: &std::path::Path) -> Result<Boot, Failure> {
    let most = usize::try_from(input::KERNEL_MAX).unwrap_or(usize::MAX);
    let kernel = super::super::files::read(path, "kernel", most)?;
    let kernel = authenticode(&kernel).map_err(|why| why.at(&path.display().to_string()))?;
    let initrd = match &args.initrd {
        Some(path) => Some(input::digest(path, "initrd", input::INITRD_MAX, &SHA384)?.0),
        None => None,
    };
    let initrd = initrd.as_ref().map(|digest| digest.as_ref());
    Boot::new(kernel, initrd, args.append.as_deref().unwrap_or_default())
        .map_err(|why| why.at("--append"))
}

/// Measurement of the domain at its start.
pub(super) fn mrtd(firmware: &Firmware<'_>) -> Result<[u8; 48], MeasureError> {
    let mut context = Context::new(&SHA384);
    for section in sections::parse(firmware)? {
        for page in 0..section.pages() {
            let gpa = section.address + page * PAGE as u64;
            context.update(&block(b"MEM.PAGE.ADD", gpa));
            let from = page as usize * PAGE;
            let contents = section
                .measured
                .and_then(|bytes| bytes.get(from..from + PAGE));
            for (chunk, at) in contents.unwrap_or_default().chunks(CHUNK).zip(0u64..) {
                context.update(&block(b"MR.EXTEND", gpa + at * CHUNK as u64));
                context.update(chunk);
            }
        }
    }
    Ok(sized(context.finish().as_ref()))
}

/// 128 bytes: the operation's name, zeros, the address at offset 16, zeros.
fn block(name: &[u8], gpa: u64) -> [u8; 128] {
    let mut block = [0; 128];
    let (head, rest) = block.split_at_mut(16);
    for (to, from) in head.iter_mut().zip(name) {
        *to = *from;
    }
    for (to, from) in rest.iter_mut().zip(gpa.to_le_bytes()) {
        *to = from;
    }
    block
}

fn sha384(bytes: &[u8]) -> [u8; 48] {
    sized(digest(&SHA384, bytes).as_ref())
}

fn sized(digest: &[u8]) -> [u8; 48] {
    let mut sized = [0; 48];
    for (to, from) in sized.iter_mut().zip(digest) {
        *to = *from;
    }
    sized
}
