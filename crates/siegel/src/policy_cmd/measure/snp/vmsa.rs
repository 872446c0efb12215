//! The first state of a virtual CPU: its save area (VMSA), a page that is measured at launch.
//!
//! Offsets are those of the save area in AMD's manual (volume 2, appendix B). Every hypervisor fills it in its own
//! way; what is not named here is zero.

use super::super::firmware::PAGE;
use super::{Launch, Vmm};

/// Where the first virtual CPU starts.
pub(super) const RESET_VECTOR: u32 = 0xFFFF_FFF0;

/// A virtual CPU by the name that QEMU gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cpu {
    /// CPUID function 1, EAX.
    pub signature: u32,
}

/// Name, highest version that is known to have this signature, signature.
const CPUS: [(&str, u32, u32); 6] = [
    ("EPYC", 4, signature(23, 1, 2)),
    ("EPYC-IBPB", 0, signature(23, 1, 2)),
    ("EPYC-Rome", 3, signature(23, 49, 0)),
    ("EPYC-Milan", 2, signature(25, 1, 1)),
    ("EPYC-Genoa", 1, signature(25, 17, 0)),
    ("EPYC-Turin", 2, signature(26, 0, 0)),
];

impl Cpu {
    /// `EPYC-Milan`, or with its version, `EPYC-Milan-v2`.
    pub(in super::super) fn named(name: &str) -> Result<Self, String> {
        let (model, version) = match name.rsplit_once("-v") {
            Some((model, version)) => (model, version.parse().ok().filter(|version| *version > 0)),
            None => (name, Some(0)),
        };
        CPUS.iter()
            .find(|(known, last, _)| *known == model && version.is_some_and(|version| version <= *last))
            .map(|(_, _, signature)| Self { signature: *signature })
            .ok_or_else(|| {
                let known = CPUS.map(|(name, ..)| name).join(", ");
                format!("not a known model ({known}, with or without -v1, …); give --vcpu-signature instead")
            })
    }
}

/// Family, model and stepping as CPUID packs them; families over 15 take two fields.
pub(in super::super) const fn signature(family: u32, model: u32, stepping: u32) -> u32 {
    let (low, high) = if family > 15 {
        (15, family - 15)
    } else {
        (family, 0)
    };
    (high & 0xFF) << 20 | (model >> 4 & 15) << 16 | low << 8 | (model & 15) << 4 | stepping & 15
}

/// What hypervisors do differently.
struct Differences {
    code: u16,
    stack: u16,
    task: u16,
    pat: u64,
    rdx: u64,
    mxcsr: u32,
    fcw: u16,
}

fn differences(launch: &Launch, start: u32) -> Differences {
    let qemu = Differences {
        code: 0x9b,
        stack: 0x93,
        task: 0x8b,
        pat: 0x0007_0406_0007_0406,
        rdx: launch.signature.into(),
        mxcsr: 0x1f80,
        fcw: 0x37f,
    };
    // Others leave RDX as KVM resets it (family 6), and the floating point unit alone. EC2 does so since 2026; before,
    // it had 0 there.
    let other = Differences {
        rdx: 0x600,
        mxcsr: 0,
        fcw: 0,
        ..qemu
    };
    match launch.vmm {
        Vmm::Qemu => qemu,
        Vmm::Ec2 => Differences {
            code: if start == RESET_VECTOR { 0x9a } else { 0x9b },
            stack: 0x92,
            task: 0x83,
            ..other
        },
        Vmm::Gce => Differences {
            pat: 0x0007_0106,
            ..other
        },
    }
}

/// The page of a virtual CPU that starts at `start`.
pub(super) fn save_area(launch: &Launch, start: u32) -> [u8; PAGE] {
    let with = differences(launch, start);
    let mut page = [0; PAGE];
    let data = segment(0, 0x93, 0xFFFF, 0);
    put(&mut page, 0x000, &data); // ES
    put(
        &mut page,
        0x010,
        &segment(0xF000, with.code, 0xFFFF, start & 0xFFFF_0000),
    ); // CS
    put(&mut page, 0x020, &segment(0, with.stack, 0xFFFF, 0)); // SS
    put(&mut page, 0x030, &data); // DS
    put(&mut page, 0x040, &data); // FS
    put(&mut page, 0x050, &data); // GS
    put(&mut page, 0x060, &segment(0, 0, 0xFFFF, 0)); // GDTR
    put(&mut page, 0x070, &segment(0, 0x82, 0xFFFF, 0)); // LDTR
    put(&mut page, 0x080, &segment(0, 0, 0xFFFF, 0)); // IDTR
    put(&mut page, 0x090, &segment(0, with.task, 0xFFFF, 0)); // TR
    put(&mut page, 0x0D0, &0x1000u64.to_le_bytes()); // EFER: SVME
    put(&mut page, 0x148, &0x40u64.to_le_bytes()); // CR4: MCE
    put(&mut page, 0x158, &0x10u64.to_le_bytes()); // CR0: ET
    put(&mut page, 0x160, &0x400u64.to_le_bytes()); // DR7
    put(&mut page, 0x168, &0xFFFF_0FF0u64.to_le_bytes()); // DR6
    put(&mut page, 0x170, &2u64.to_le_bytes()); // RFLAGS
    put(&mut page, 0x178, &u64::from(start & 0xFFFF).to_le_bytes()); // RIP
    put(&mut page, 0x268, &with.pat.to_le_bytes()); // PAT
    put(&mut page, 0x310, &with.rdx.to_le_bytes()); // RDX
    put(&mut page, 0x3B0, &launch.guest_features.to_le_bytes());
    put(&mut page, 0x3E8, &1u64.to_le_bytes()); // XCR0: x87
    put(&mut page, 0x408, &with.mxcsr.to_le_bytes()); // MXCSR
    put(&mut page, 0x410, &with.fcw.to_le_bytes()); // x87 control word
    page
}

fn segment(selector: u16, attributes: u16, limit: u32, base: u32) -> [u8; 16] {
    let mut bytes = [0; 16];
    put(&mut bytes, 0, &selector.to_le_bytes());
    put(&mut bytes, 2, &attributes.to_le_bytes());
    put(&mut bytes, 4, &limit.to_le_bytes());
    put(&mut bytes, 8, &u64::from(base).to_le_bytes());
    bytes
}

/// Every offset here is a constant inside of `into`.
fn put(into: &mut [u8], at: usize, bytes: &[u8]) {
    for (to, from) in into.iter_mut().skip(at).zip(bytes) {
        *to = *from;
    }
}
