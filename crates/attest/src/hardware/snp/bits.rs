//! The two bit fields of a report: what the guest demanded, and how the platform is configured.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::hardware::{Field, Hex};

/// Guest policy (SEV-SNP ABI, table "Guest Policy").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GuestPolicy(pub u64);

impl GuestPolicy {
    /// Lowest API version of firmware that may run the guest: major, minor.
    pub const fn abi(self) -> AbiVersion {
        AbiVersion {
            major: (self.0 >> 8) as u8,
            minor: self.0 as u8,
        }
    }
    /// SMT is allowed.
    pub const fn smt(self) -> bool {
        self.bit(16)
    }
    /// Bit 17 is reserved and must be one.
    pub const fn always_one(self) -> bool {
        self.bit(17)
    }
    /// A migration agent may be bound.
    pub const fn migrate_ma(self) -> bool {
        self.bit(18)
    }
    /// The host may debug the guest: read and change its memory.
    pub const fn debug(self) -> bool {
        self.bit(19)
    }
    /// Only on one socket.
    pub const fn single_socket(self) -> bool {
        self.bit(20)
    }
    /// CXL memory and devices are allowed.
    pub const fn cxl_allowed(self) -> bool {
        self.bit(21)
    }
    /// AES-256-XTS is demanded for memory.
    pub const fn aes_256_xts(self) -> bool {
        self.bit(22)
    }
    /// Running average power limit must be off.
    pub const fn rapl_disabled(self) -> bool {
        self.bit(23)
    }
    /// Ciphertext hiding is demanded.
    pub const fn ciphertext_hiding(self) -> bool {
        self.bit(24)
    }
    /// Page swapping must be off.
    pub const fn page_swap_disabled(self) -> bool {
        self.bit(25)
    }
    /// Bits that no version up to 5 defines.
    pub const fn unknown(self) -> u64 {
        self.0 >> 26
    }
    const fn bit(self, at: u32) -> bool {
        self.0 >> at & 1 == 1
    }
}

/// Platform information (SEV-SNP ABI, table "PLATFORM_INFO").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlatformInfo(pub u64);

impl PlatformInfo {
    /// SMT is on.
    pub const fn smt(self) -> bool {
        self.bit(0)
    }
    /// Transparent memory encryption is on.
    pub const fn tsme(self) -> bool {
        self.bit(1)
    }
    /// Memory has error correction.
    pub const fn ecc(self) -> bool {
        self.bit(2)
    }
    /// Running average power limit is off.
    pub const fn rapl_disabled(self) -> bool {
        self.bit(3)
    }
    /// Ciphertext is hidden from the host.
    pub const fn ciphertext_hiding(self) -> bool {
        self.bit(4)
    }
    /// Memory was checked for aliases at boot (BadRAM, AMD-SB-3015).
    pub const fn alias_check(self) -> bool {
        self.bit(5)
    }
    /// The bits above, which this build does not know; real Turin machines set bit 6.
    pub const fn unknown(self) -> BitSet {
        BitSet(self.0 & !0x3f)
    }
    const fn bit(self, at: u32) -> bool {
        self.0 >> at & 1 == 1
    }
}

/// A version of the firmware's interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AbiVersion {
    /// Major.
    pub major: u8,
    /// Minor.
    pub minor: u8,
}

impl fmt::Display for AbiVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl Field for AbiVersion {
    const ORDERED: bool = true;
    fn at_least(&self, least: &Self) -> bool {
        self >= least
    }
}

/// A set of bits; "at least" means that all of these are set. Written as 16 lower-case hexadecimal digits: TOML and
/// JSON have no integers of 64 bits that every reader reads alike (I2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BitSet(pub u64);

impl fmt::Display for BitSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl Serialize for BitSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for BitSet {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Hex::<8>::deserialize(deserializer).map(|Hex(bytes)| Self(u64::from_be_bytes(bytes)))
    }
}

impl Field for BitSet {
    const ORDERED: bool = true;
    fn at_least(&self, least: &Self) -> bool {
        self.0 & least.0 == least.0
    }
}
