//! What a policy demands of an SNP guest. Every field must be named; `{ ignore = "why" }` is the only way to
//! leave one open.

use serde::{Deserialize, Serialize};

use super::bits::{AbiVersion, BitSet};
use super::report::SigningKey;
use super::tcb::Product;
use crate::hardware::{Freshness, Hex, Rule};

/// One accepted kind of guest on one kind of platform.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reference {
    /// For people; never empty.
    #[serde(deserialize_with = "crate::hardware::rule::name")]
    pub name: String,
    /// CPU generations (19). Milan's keys can be extracted (BadFuse).
    pub product: Rule<Product>,
    /// Version of the report (1). Version 2 does not name its CPU.
    pub report_version: Rule<u32>,
    /// VCEK or VLEK (4).
    pub signing_key: Rule<SigningKey>,
    /// The cloud provider of a VLEK (8).
    pub provider: Rule<String>,
    /// Chips (20).
    pub chip_id: Rule<Hex<64>>,
    /// Chips that are never accepted (20).
    pub denied_chips: Vec<Hex<64>>,
    /// The revocation list must be stapled, and this young (5).
    pub crl: Freshness,
    /// Minimum patch levels, held against reported, committed and launch TCB (9).
    pub tcb: TcbRules,
    /// Mitigations at launch (10).
    pub launch_mitigations: Rule<BitSet>,
    /// Mitigations now (10).
    pub current_mitigations: Rule<BitSet>,
    /// What the guest demanded (11). Debugging is always refused.
    pub guest_policy: GuestPolicyRules,
    /// How the platform is configured (12).
    pub platform: PlatformRules,
    /// Privilege level (13).
    pub vmpl: Rule<u32>,
    /// Migration agent (14); all ones means none.
    pub migration_agent: Rule<Hex<32>>,
    /// Launch digest (15).
    pub measurement: Rule<Hex<48>>,
    /// Host data (16). Where a configuration digest is expected, it must be that besides.
    pub host_data: Rule<Hex<32>>,
    /// Identity block (17).
    pub identity: IdentityRules,
}

/// Patch levels.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TcbRules {
    /// Turin only; ignore it elsewhere.
    pub fmc: Rule<u8>,
    /// Boot loader.
    pub boot_loader: Rule<u8>,
    /// PSP operating system.
    pub tee: Rule<u8>,
    /// SNP firmware.
    pub snp: Rule<u8>,
    /// Microcode.
    pub microcode: Rule<u8>,
}

/// Guest policy bits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GuestPolicyRules {
    /// Lowest firmware interface that may run the guest.
    pub abi: Rule<AbiVersion>,
    /// SMT is allowed.
    pub smt: Rule<bool>,
    /// A migration agent may be bound.
    pub migrate_ma: Rule<bool>,
    /// Only on one socket.
    pub single_socket: Rule<bool>,
    /// CXL is allowed.
    pub cxl_allowed: Rule<bool>,
    /// AES-256-XTS is demanded.
    pub aes_256_xts: Rule<bool>,
    /// RAPL must be off.
    pub rapl_disabled: Rule<bool>,
    /// Ciphertext hiding is demanded.
    pub ciphertext_hiding: Rule<bool>,
    /// Page swapping must be off.
    pub page_swap_disabled: Rule<bool>,
}

/// Platform bits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlatformRules {
    /// SMT is on.
    pub smt: Rule<bool>,
    /// Transparent memory encryption is on.
    pub tsme: Rule<bool>,
    /// ECC is on.
    pub ecc: Rule<bool>,
    /// RAPL is off.
    pub rapl_disabled: Rule<bool>,
    /// Ciphertext is hidden.
    pub ciphertext_hiding: Rule<bool>,
    /// Memory was checked for aliases (BadRAM).
    pub alias_check: Rule<bool>,
    /// All bits that have no name here, as a mask.
    pub other_bits: Rule<BitSet>,
}

/// Identity block.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IdentityRules {
    /// SHA-384 of the id key.
    pub id_key: Rule<Hex<48>>,
    /// SHA-384 of the author key.
    pub author_key: Rule<Hex<48>>,
    /// Family.
    pub family_id: Rule<Hex<16>>,
    /// Image.
    pub image_id: Rule<Hex<16>>,
    /// Security version.
    pub guest_svn: Rule<u32>,
}
