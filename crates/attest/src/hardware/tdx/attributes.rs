//! TD attributes (TDX Module ABI, "ATTRIBUTES"): what the host asked for when it made the TD.

use dcap_qvl::quote::TDReport10;

use super::reference::AttributeRules;
use crate::hardware::outcome::Outcomes;
use crate::hardware::{Check, Hex, Rejection};

/// The 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TdAttributes(pub u64);

/// Bits with a meaning of their own below, by number.
const KNOWN: [u32; 12] = [0, 4, 5, 6, 16, 17, 27, 28, 29, 30, 31, 63];
const TPA: u32 = 62;

impl TdAttributes {
    const fn bit(self, at: u32) -> bool {
        self.0 >> at & 1 == 1
    }
    /// The host may debug the TD.
    pub const fn debug(self) -> bool {
        self.bit(0)
    }
    /// The TD may be profiled by the host (bits 4 to 6).
    pub const fn profiled(self) -> bool {
        self.0 & 0x70 != 0
    }
    /// Violations of pending pages do not reach the TD as exceptions.
    pub const fn sept_ve_disable(self) -> bool {
        self.bit(28)
    }
    /// The TD may be migrated.
    pub const fn migratable(self) -> bool {
        self.bit(29)
    }
    /// What has no name in [`AttributeRules`] and is not held otherwise.
    fn other(self) -> u64 {
        KNOWN
            .iter()
            .chain([&TPA])
            .fold(self.0, |rest, bit| rest & !(1 << bit))
    }
}

/// Where the attributes stand in a TD report, 1.0 or 1.5: after versions, three measurements of the module.
const OFFSET: usize = 16 + 48 + 48 + 8;

/// `dcap-qvl` verifies no TD that may be migrated, that gets exceptions on pending pages, or that has bits without a
/// meaning. Asked first, so that the refusal has its own name; whether the quote is authentic stays open.
pub(super) fn check_appraisable(report: &[u8]) -> Result<(), Rejection> {
    let bad = |detail: &str| Err(Rejection::new(Check::TdxAttributes, detail));
    let bytes = report.get(OFFSET..OFFSET + 8);
    let Some(bytes) = bytes.and_then(|bytes| bytes.try_into().ok()) else {
        return bad("the report is too short to have attributes");
    };
    let attributes = TdAttributes(u64::from_le_bytes(bytes));
    match attributes {
        _ if !attributes.sept_ve_disable() => bad("SEPT_VE_DISABLE: found off, wanted on (I3)"),
        _ if attributes.migratable() => bad("migratable: found on, wanted off (I3)"),
        _ if attributes.other() != 0 => bad("other bits: found some, wanted none"),
        _ => Ok(()),
    }
}

/// Debugging, profiling, migration and unknown bits are always refused; the others are the policy's.
pub(super) fn hold(body: &TDReport10, rules: &AttributeRules, outcomes: &mut Outcomes) {
    let attributes = TdAttributes(u64::from_le_bytes(body.td_attributes));
    let check = Check::TdxAttributes;
    let on = |bit: bool| if bit { "on" } else { "off" };
    for (name, found) in [
        ("debugging", attributes.debug()),
        ("profiling", attributes.profiled()),
        ("migratable", attributes.migratable()),
    ] {
        outcomes.must(
            check,
            !found,
            format!("{name}: found {}, wanted off (I3)", on(found)),
        );
    }
    let sept = attributes.sept_ve_disable();
    outcomes.must(
        check,
        sept,
        format!("SEPT_VE_DISABLE: found {}, wanted on (I3)", on(sept)),
    );
    for (name, rule, bit) in [
        ("single-step defence", &rules.icssd, 16),
        ("service TD extension", &rules.servtd_ext, 17),
        ("LASS", &rules.lass, 27),
        ("PKS", &rules.pks, 30),
        ("Key Locker", &rules.key_locker, 31),
        ("TDX Connect provisioning agent", &rules.tpa, TPA),
        ("PERFMON", &rules.perfmon, 63),
    ] {
        outcomes.rule(check, name, rule, &attributes.bit(bit));
    }
    let other = attributes.other();
    outcomes.must(
        check,
        other == 0,
        format!(
            "other bits: found {}, wanted none",
            Hex(other.to_be_bytes())
        ),
    );
}
