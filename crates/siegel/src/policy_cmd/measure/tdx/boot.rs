//! What a direct boot of Linux extends into RTMR1 and RTMR2.
//!
//! RTMR1 (PCRs 2 to 6): the firmware measures the kernel's image, then says that it starts it, ends its own phase with
//! a separator, and leaves. RTMR2 (PCRs 8 to 15): the kernel's EFI stub measures its options and its initrd.

use super::super::Event;
use super::super::Measured;
use super::super::error::MeasureError;
use super::{sha384, sized};

/// EV_EFI_BOOT_SERVICES_APPLICATION.
const APPLICATION: u32 = 0x8000_0003;
/// EV_EVENT_TAG.
const TAGGED: u32 = 6;
/// In the firmware's words, which are hashed as they are.
const STARTS: &[u8] = b"Calling EFI Application from Boot Option";
const SEPARATOR: &[u8] = &[0; 4];
const LEAVES: &[u8] = b"Exit Boot Services Invocation";
const LEFT: &[u8] = b"Exit Boot Services Returned with Success";
/// OVMF adds this to the options when it has an initrd.
const INITRD: &str = " initrd=initrd";

/// Digests of a direct boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct Boot {
    kernel: [u8; 48],
    options: [u8; 48],
    initrd: Option<[u8; 48]>,
}

impl Boot {
    /// `initrd` is its SHA-384. Options are hashed in UTF-16 with the zero that ends them.
    pub(in super::super) fn new(
        kernel: [u8; 48],
        initrd: Option<&[u8]>,
        cmdline: &str,
    ) -> Result<Self, MeasureError> {
        if !cmdline.is_ascii() || cmdline.contains('\0') {
            return Err(MeasureError::Argument(
                "a command line must be ASCII, without a zero byte",
            ));
        }
        if cmdline.is_empty() && initrd.is_none() {
            let why = "without command line and initrd, kernels differ in what they measure: give --append";
            return Err(MeasureError::Argument(why));
        }
        let more = if initrd.is_some() { INITRD } else { "" };
        let options: Vec<u8> = cmdline
            .bytes()
            .chain(more.bytes())
            .chain([0])
            .flat_map(|byte| [byte, 0])
            .collect();
        Ok(Self {
            kernel,
            options: sha384(&options),
            initrd: initrd.map(sized),
        })
    }

    pub(in super::super) fn rtmr1(&self) -> [u8; 48] {
        let [starts, separator, leaves, left] = [STARTS, SEPARATOR, LEAVES, LEFT].map(sha384);
        extended([self.kernel, starts, separator, leaves, left])
    }

    pub(in super::super) fn rtmr2(&self) -> [u8; 48] {
        extended([self.options].into_iter().chain(self.initrd))
    }

    pub(super) fn say(&self, measured: &mut Measured) {
        measured.assume(
            "RTMR1 and RTMR2: QEMU 10 or later hands the kernel over, OVMF of edk2-stable202505 or later starts \
             the file as it is, Linux 6.9 or later measures its options and initrd",
        );
        measured.value("rtmr1", &self.rtmr1());
        measured.value("rtmr2", &self.rtmr2());
        let event = |name, register, kind, any_of| Event {
            name,
            register,
            kind,
            any_of,
        };
        let kernel = vec![hex::encode(self.kernel)];
        let loaded = [self.options].into_iter().chain(self.initrd);
        let loaded = loaded.map(hex::encode).collect();
        measured
            .events
            .push(event("kernel", 1, APPLICATION, kernel));
        measured
            .events
            .push(event("options and initrd", 2, TAGGED, loaded));
    }
}

/// A register from zeros, after these events.
fn extended(events: impl IntoIterator<Item = [u8; 48]>) -> [u8; 48] {
    let fold = |register: [u8; 48], event: [u8; 48]| sha384(&[register, event].concat());
    events.into_iter().fold([0; 48], fold)
}
