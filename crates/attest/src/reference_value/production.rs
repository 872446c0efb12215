//! What no reference value for production may leave open.

use siegel_ident::Seconds;

use super::ReferenceValue;
use crate::hardware::event_log::EventLogRule;
use crate::hardware::quote::{AdvisoryRule, QuoteRules};
use crate::hardware::snp::{Product, SigningKey};
use crate::hardware::{Field, Freshness, Rule, nitro, sgx, snp, tdx};

/// A field that a reference value for production leaves open, or allows to be what it must not be (I3).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("reference value {value}: field {field} {problem} in profile \"production\" (I3)")]
pub struct OpenField {
    /// Which reference value.
    pub value: String,
    /// The field, as it is written.
    pub field: &'static str,
    /// What it must be.
    pub problem: &'static str,
}

const EXACT: &str = "must be exact or any_of";
const DEMANDED: &str = "must not be ignored";
const AGED: &str =
    "must have a maximum age, and not a longer one than the vendor's own statements live";
const FLOOR: &str = "must not accept 0";

const DAY: u64 = 86_400;
/// AMD makes a new list within the year that one is valid.
const LIST_AGE_MAX: Seconds = Seconds(400 * DAY);
/// Intel makes new collateral each month.
const COLLATERAL_AGE_MAX: Seconds = Seconds(60 * DAY);
/// A document's certificate lives for three hours.
const DOCUMENT_AGE_MAX: Seconds = Seconds(DAY);

type Found = Result<(), (&'static str, &'static str)>;

impl ReferenceValue {
    /// Refuses what production cannot mean: simulated evidence (I11), code that may be anything, a revocation list
    /// or collateral of any age, a patch level without a minimum.
    ///
    /// # Errors
    /// The first [`OpenField`].
    pub fn check_production(&self) -> Result<(), OpenField> {
        let found = match self {
            Self::Simulated(_) => Err(("tee", "must be a real TEE")),
            Self::SevSnp(reference) => sev_snp(reference),
            Self::Tdx(reference) => tdx(reference),
            Self::Sgx(reference) => sgx(reference),
            Self::AwsNitro(reference) => aws_nitro(reference),
        };
        found.map_err(|(field, problem)| OpenField {
            value: self.to_string(),
            field,
            problem,
        })
    }
}

fn sev_snp(reference: &snp::Reference) -> Found {
    exact("measurement", &reference.measurement)?;
    aged("crl", &reference.crl, LIST_AGE_MAX)?;
    demanded("product", &reference.product)?;
    // Version 2 does not say on which CPU it was made.
    never(
        "report_version",
        &reference.report_version,
        &2,
        "must not accept 2",
    )?;
    if reference.signing_key.allows(&SigningKey::Vlek) {
        demanded("provider", &reference.provider)?;
    }
    let tcb = &reference.tcb;
    never("tcb.boot_loader", &tcb.boot_loader, &0, FLOOR)?;
    // Platforms in good order have a 0 there.
    demanded("tcb.tee", &tcb.tee)?;
    never("tcb.snp", &tcb.snp, &0, FLOOR)?;
    never("tcb.microcode", &tcb.microcode, &0, FLOOR)?;
    if reference.product.allows(&Product::Turin) {
        never("tcb.fmc", &tcb.fmc, &0, FLOOR)?;
    }
    exact("vmpl", &reference.vmpl)?;
    exact("platform.other_bits", &reference.platform.other_bits)?;
    let policy = &reference.guest_policy;
    never(
        "guest_policy.migrate_ma",
        &policy.migrate_ma,
        &true,
        "must not accept true",
    )?;
    // BadRAM: memory was checked for aliases at boot.
    let alias = &reference.platform.alias_check;
    never(
        "platform.alias_check",
        alias,
        &false,
        "must not accept false",
    )
}

fn tdx(reference: &tdx::Reference) -> Found {
    quote(&reference.quote)?;
    exact("mrtd", &reference.mrtd)?;
    demanded("xfam", &reference.xfam)?;
    exact("mrservicetd", &reference.mrservicetd)?;
    demanded("tee_tcb_svn", &reference.tee_tcb_svn)?;
    let registers = [
        ("rtmr0", &reference.rtmr0),
        ("rtmr1", &reference.rtmr1),
        ("rtmr2", &reference.rtmr2),
        ("rtmr3", &reference.rtmr3),
    ];
    (0..)
        .zip(registers)
        .try_for_each(
            |(register, (field, rule))| match named(&reference.event_log, register) {
                true => Ok(()),
                false => exact(field, rule),
            },
        )
}

/// The event log says what may be in the register: it must replay, and every event there has a digest that is demanded.
fn named(log: &EventLogRule, register: u8) -> bool {
    let EventLogRule::Replay(events) = log else {
        return false;
    };
    let mut there = events
        .iter()
        .filter(|event| event.register == register)
        .peekable();
    there.peek().is_some() && there.all(|event| !matches!(event.digest, Rule::Ignore(_)))
}

fn sgx(reference: &sgx::Reference) -> Found {
    quote(&reference.quote)?;
    exact("mrenclave", &reference.mrenclave)?;
    demanded("attributes", &reference.attributes)
}

fn quote(rules: &QuoteRules) -> Found {
    aged("quote.collateral", &rules.collateral, COLLATERAL_AGE_MAX)?;
    never(
        "quote.tcb_evaluation_number",
        &rules.tcb_evaluation_number,
        &0,
        FLOOR,
    )?;
    exact("quote.tcb_status", &rules.tcb_status)?;
    never(
        "quote.tcb_status",
        &rules.tcb_status,
        &"Revoked".to_owned(),
        "must not accept Revoked",
    )?;
    match rules.advisories {
        AdvisoryRule::Only(_) => Ok(()),
        AdvisoryRule::Ignore(_) => Err(("quote.advisories", DEMANDED)),
    }
}

fn aws_nitro(reference: &nitro::Reference) -> Found {
    aged("age", &reference.age, DOCUMENT_AGE_MAX)?;
    exact("pcr0", &reference.pcr0)?;
    exact("pcr1", &reference.pcr1)?;
    exact("pcr2", &reference.pcr2)
}

fn exact<T: Field>(field: &'static str, rule: &Rule<T>) -> Found {
    match rule {
        Rule::Exact(_) | Rule::AnyOf(_) => Ok(()),
        Rule::AtLeast(_) | Rule::Ignore(_) => Err((field, EXACT)),
    }
}

fn demanded<T: Field>(field: &'static str, rule: &Rule<T>) -> Found {
    match rule {
        Rule::Ignore(_) => Err((field, DEMANDED)),
        _ => Ok(()),
    }
}

fn never<T: Field>(field: &'static str, rule: &Rule<T>, value: &T, problem: &'static str) -> Found {
    match rule.allows(value) {
        true => Err((field, problem)),
        false => Ok(()),
    }
}

fn aged(field: &'static str, freshness: &Freshness, most: Seconds) -> Found {
    match freshness {
        Freshness::MaxAgeS(max) if *max <= most => Ok(()),
        Freshness::MaxAgeS(_) | Freshness::Ignore(_) => Err((field, AGED)),
    }
}
