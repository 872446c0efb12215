//! The attestation report of SEV-SNP: 1,184 bytes, read in place (SEV-SNP ABI, table "ATTESTATION_REPORT").
//!
//! What is signed is bytes `0..0x2a0` as they came. Nothing is ever re-encoded: a verifier that does so
//! accepts changes in bytes that it does not know.

use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::tcb::{Product, TcbVersion};
use super::{GuestPolicy, PlatformInfo};
use crate::hardware::{Check, Field, Hex, Rejection};

/// Length of a report in bytes.
pub const REPORT_LEN: usize = 0x4a0;
/// The signed part.
const SIGNED: Range<usize> = 0..0x2a0;
/// Little-endian R and S, 72 bytes each; P-384 fills 48 of them.
const SIGNATURE_R: usize = 0x2a0;
const SIGNATURE_S: usize = 0x2e8;
const AFTER_R: Range<usize> = SIGNATURE_R + 48..SIGNATURE_S;
const AFTER_S: Range<usize> = SIGNATURE_S + 48..REPORT_LEN;

/// Versions that this build reads. Version 2 does not name its CPU, so the certificate has to.
pub(crate) const VERSIONS: Range<u32> = 2..6;

/// Which kind of key signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SigningKey {
    /// Of one chip: Versioned Chip Endorsement Key.
    Vcek,
    /// Of a cloud provider: Versioned Loaded Endorsement Key.
    Vlek,
}

impl fmt::Display for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Vcek => "vcek",
            Self::Vlek => "vlek",
        })
    }
}

impl Field for SigningKey {
    const ORDERED: bool = false;
    fn at_least(&self, _: &Self) -> bool {
        false
    }
}

/// The fields of a report. Numbers are host integers, byte strings are as they came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Format version.
    pub version: u32,
    /// The guest's own security version, from its identity block.
    pub guest_svn: u32,
    /// What the guest demanded at launch.
    pub policy: GuestPolicy,
    /// Chosen by the guest's owner.
    pub family_id: Hex<16>,
    /// Chosen by the guest's owner.
    pub image_id: Hex<16>,
    /// Privilege level that asked; 0 is the most privileged.
    pub vmpl: u32,
    /// TCB that runs now.
    pub current_tcb: TcbVersion,
    /// How the platform is configured.
    pub platform: PlatformInfo,
    /// An author key signed the identity block's key.
    pub author_key: bool,
    /// The chip's own key is withheld: nothing can be signed with it.
    pub masked_chip_key: bool,
    /// The kind of key that signed.
    pub signing_key: SigningKey,
    /// What the guest chose.
    pub report_data: Hex<64>,
    /// Launch digest.
    pub measurement: Hex<48>,
    /// What the host gave at launch.
    pub host_data: Hex<32>,
    /// SHA-384 of the key that signed the identity block, or zeros.
    pub id_key_digest: Hex<48>,
    /// SHA-384 of the author key, or zeros.
    pub author_key_digest: Hex<48>,
    /// Of this guest, for its lifetime.
    pub report_id: Hex<32>,
    /// Of its migration agent; all ones if it has none.
    pub report_id_ma: Hex<32>,
    /// TCB that the signing key was derived from.
    pub reported_tcb: TcbVersion,
    /// CPUID family, model and stepping, from version 3 on.
    pub cpu: Option<(u8, u8, u8)>,
    /// The chip, or zeros if the host hides it.
    pub chip_id: Hex<64>,
    /// TCB below which the platform cannot go back.
    pub committed_tcb: TcbVersion,
    /// Firmware that runs now: major, minor, build.
    pub current_firmware: (u8, u8, u8),
    /// Firmware that cannot be rolled back: major, minor, build.
    pub committed_firmware: (u8, u8, u8),
    /// TCB when the guest was launched or imported.
    pub launch_tcb: TcbVersion,
    /// Mitigations at launch, from version 5 on.
    pub launch_mitigations: Option<u64>,
    /// Mitigations now, from version 5 on.
    pub current_mitigations: Option<u64>,
}

impl Report {
    /// Reads a report. `product` is the CPU generation that the certificate names: it decides the layout of
    /// TCB versions where the report does not say (version 2), and must agree where it does.
    ///
    /// # Errors
    /// [`Check::SnpFormat`], [`Check::SnpAlgorithm`], [`Check::SnpSigningKey`], [`Check::SnpProduct`].
    pub(crate) fn parse(raw: &Raw<'_>, product: Product) -> Result<Self, Rejection> {
        let bytes = raw.0;
        let version = raw.u32(0);
        let algorithm = raw.u32(0x34);
        if algorithm != 1 {
            let found = format!("signature algorithm {algorithm}, expected 1");
            return Err(Rejection::new(Check::SnpAlgorithm, found));
        }
        let flags = raw.u32(0x48);
        let cpu = (version >= 3).then(|| (bytes[0x188], bytes[0x189], bytes[0x18a]));
        check_product(cpu, product)?;
        let tcb = |at| {
            let unknown = || {
                let detail = format!("reserved bytes of the TCB version at {at:#x} are not zero");
                Rejection::new(Check::SnpFormat, detail)
            };
            TcbVersion::read(raw.array(at), product).ok_or_else(unknown)
        };
        let mitigations = |at| (version >= 5).then(|| raw.u64(at));
        Ok(Self {
            version,
            guest_svn: raw.u32(4),
            policy: GuestPolicy(raw.u64(8)),
            family_id: Hex(raw.array(0x10)),
            image_id: Hex(raw.array(0x20)),
            vmpl: raw.u32(0x30),
            current_tcb: tcb(0x38)?,
            platform: PlatformInfo(raw.u64(0x40)),
            author_key: flags & 1 != 0,
            masked_chip_key: flags & 2 != 0,
            signing_key: signing_key(flags >> 2 & 7)?,
            report_data: Hex(raw.array(0x50)),
            measurement: Hex(raw.array(0x90)),
            host_data: Hex(raw.array(0xc0)),
            id_key_digest: Hex(raw.array(0xe0)),
            author_key_digest: Hex(raw.array(0x110)),
            report_id: Hex(raw.array(0x140)),
            report_id_ma: Hex(raw.array(0x160)),
            reported_tcb: tcb(0x180)?,
            cpu,
            chip_id: Hex(raw.array(0x1a0)),
            committed_tcb: tcb(0x1e0)?,
            current_firmware: (bytes[0x1ea], bytes[0x1e9], bytes[0x1e8]),
            committed_firmware: (bytes[0x1ee], bytes[0x1ed], bytes[0x1ec]),
            launch_tcb: tcb(0x1f0)?,
            launch_mitigations: mitigations(0x1f8),
            current_mitigations: mitigations(0x200),
        })
    }
}

/// The raw bytes, once their length, version and padding were checked.
pub(crate) struct Raw<'a>(&'a [u8; REPORT_LEN]);

impl<'a> Raw<'a> {
    /// # Errors
    /// [`Check::SnpFormat`].
    pub(crate) fn new(bytes: &'a [u8]) -> Result<Self, Rejection> {
        let bad = |detail: String| Rejection::new(Check::SnpFormat, detail);
        let found = bytes.len();
        let array = bytes
            .try_into()
            .map_err(|_| bad(format!("{found} bytes, expected {REPORT_LEN}")))?;
        let raw = Self(array);
        let version = raw.u32(0);
        if !VERSIONS.contains(&version) {
            return Err(bad(format!(
                "report version {version}, this build reads 2 to 5"
            )));
        }
        let reserved = [
            0x4c..0x50,
            // CPUID stands here from version 3 on, mitigation vectors below from version 5 on.
            if version >= 3 {
                0x18b..0x1a0
            } else {
                0x188..0x1a0
            },
            0x1eb..0x1ec,
            0x1ef..0x1f0,
            if version >= 5 {
                0x208..0x2a0
            } else {
                0x1f8..0x2a0
            },
            AFTER_R,
            AFTER_S,
        ];
        for range in reserved {
            if bytes[range.clone()].iter().any(|byte| *byte != 0) {
                return Err(bad(format!(
                    "reserved bytes {:#x}..{:#x} are not zero",
                    range.start, range.end
                )));
            }
        }
        match raw.u32(0x48) >> 5 {
            0 => Ok(raw),
            _ => Err(bad("reserved bits at 0x48 are not zero".to_owned())),
        }
    }

    /// The signed bytes, as they came.
    pub(crate) fn signed(&self) -> &'a [u8] {
        &self.0[SIGNED]
    }

    /// R and S, big-endian, 48 bytes each; [`Raw::new`] saw to the padding above.
    pub(crate) fn signature(&self) -> [u8; 96] {
        let mut signature = [0u8; 96];
        let (r, s) = signature.split_at_mut(48);
        r.copy_from_slice(&self.0[SIGNATURE_R..SIGNATURE_R + 48]);
        s.copy_from_slice(&self.0[SIGNATURE_S..SIGNATURE_S + 48]);
        r.reverse();
        s.reverse();
        signature
    }

    fn array<const N: usize>(&self, at: usize) -> [u8; N] {
        let mut out = [0u8; N];
        out.copy_from_slice(&self.0[at..at + N]);
        out
    }

    fn u32(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.array(at))
    }

    fn u64(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.array(at))
    }
}

fn signing_key(code: u32) -> Result<SigningKey, Rejection> {
    match code {
        0 => Ok(SigningKey::Vcek),
        1 => Ok(SigningKey::Vlek),
        7 => Err(Rejection::new(
            Check::SnpSigningKey,
            "the report says that it is not signed",
        )),
        code => Err(Rejection::new(
            Check::SnpSigningKey,
            format!("unknown signing key {code}"),
        )),
    }
}

fn check_product(cpu: Option<(u8, u8, u8)>, product: Product) -> Result<(), Rejection> {
    let Some((family, model, stepping)) = cpu else {
        return Ok(());
    };
    match Product::of_cpu(family, model) {
        Some(found) if found == product => Ok(()),
        found => {
            let name = found.map_or("unknown", Product::as_str);
            let detail = format!(
                "CPU family {family} model {model} stepping {stepping} is {name}, certificate is for {product}"
            );
            Err(Rejection::new(Check::SnpProduct, detail))
        }
    }
}
