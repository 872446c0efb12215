//! What Intel's chain says about the platform, and what a policy may demand of it. Same for TDX and SGX.

use std::fmt;

use dcap_qvl::{PckCertFlag, QuoteClaims};
use serde::{Deserialize, Deserializer, Serialize};
use siegel_ident::Timestamp;

use super::collateral::Dates;
use super::framing::Authority;
use crate::hardware::outcome::Outcomes;
use crate::hardware::{Check, Field, Freshness, Hex, Mark, Rule, RuleError};

/// TCB status in Intel's words.
pub type TcbStatus = String;

/// A flag of the PCK certificate: `true`, `false`, or `undefined` where the certificate has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Flag {
    /// Set.
    True,
    /// Not set.
    False,
    /// Certificates of the processor CA carry no flags.
    Undefined,
}

impl fmt::Display for Flag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::True => "true",
            Self::False => "false",
            Self::Undefined => "undefined",
        })
    }
}

impl Field for Flag {
    const ORDERED: bool = false;
    fn at_least(&self, _: &Self) -> bool {
        false
    }
}

impl From<PckCertFlag> for Flag {
    fn from(flag: PckCertFlag) -> Self {
        match flag {
            PckCertFlag::True => Self::True,
            PckCertFlag::False => Self::False,
            PckCertFlag::Undefined => Self::Undefined,
        }
    }
}

/// What was verified about the platform.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Platform {
    pub(crate) status: String,
    /// TD 1.5 only: the status of the TDX module that runs now, after an update while the TD ran.
    pub(crate) current_status: Option<String>,
    /// Of the platform, the QE and both TDX modules.
    pub(crate) advisories: Vec<String>,
    pub(crate) evaluation_number: u32,
    pub(crate) authority: Authority,
    pub(crate) fmspc: Hex<6>,
    pub(crate) ppid: String,
    pub(crate) dynamic_platform: Flag,
    pub(crate) cached_keys: Flag,
    pub(crate) smt: Flag,
    pub(crate) collateral_from: Timestamp,
    pub(crate) valid_until: Timestamp,
}

impl Platform {
    pub(crate) fn new(claims: &QuoteClaims, dates: Dates, authority: Authority) -> Self {
        let pck = &claims.platform.pck;
        // `dcap-qvl` judges by the module that launched the TD; what runs now counts as much.
        let current = claims.platform.current_tcb_level.as_ref();
        let mut advisories = claims.tcb.advisory_ids.clone();
        for id in current.iter().flat_map(|level| &level.advisory_ids) {
            if !advisories.contains(id) {
                advisories.push(id.clone());
            }
        }
        Self {
            status: claims.tcb.status.to_string(),
            current_status: current.map(|level| level.tcb_status.to_string()),
            advisories,
            evaluation_number: claims.tcb.eval_data_number,
            authority,
            fmspc: Hex(pck.fmspc),
            ppid: hex::encode(&pck.ppid),
            dynamic_platform: pck.dynamic_platform.into(),
            cached_keys: pck.cached_keys.into(),
            smt: pck.smt_enabled.into(),
            collateral_from: dates.oldest,
            valid_until: Timestamp(claims.earliest_expiration_date),
        }
    }
}

/// Advisories that a policy lives with: `{ only = ["INTEL-SA-00615"] }` or `{ ignore = "why" }`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AdvisoryRule {
    /// None but these.
    Only(Vec<String>),
    /// Any, for a stated reason; never an empty one.
    Ignore(String),
}

impl<'de> Deserialize<'de> for AdvisoryRule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "snake_case", rename = "AdvisoryRule")]
        enum Written {
            Only(Vec<String>),
            Ignore(String),
        }
        match Written::deserialize(deserializer)? {
            Written::Only(advisories) => Ok(Self::Only(advisories)),
            Written::Ignore(reason) if reason.trim().is_empty() => {
                Err(serde::de::Error::custom(RuleError::NoReason))
            }
            Written::Ignore(reason) => Ok(Self::Ignore(reason)),
        }
    }
}

/// Demands on the platform and on Intel's statements about it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuoteRules {
    /// Version of the quote (21).
    pub version: Rule<u16>,
    /// TCB status (23): `UpToDate`, `SWHardeningNeeded`, …
    pub tcb_status: Rule<TcbStatus>,
    /// Advisories (23).
    pub advisories: AdvisoryRule,
    /// The oldest part of the collateral must be this young (24).
    pub collateral: Freshness,
    /// TCB evaluation data number (24): never an older one than was seen.
    pub tcb_evaluation_number: Rule<u32>,
    /// `platform` or `processor` (32).
    pub pck_ca: Rule<String>,
    /// Family, model, stepping, platform and custom SKU (32).
    pub fmspc: Rule<Hex<6>>,
    /// Provisioning id of the platform (32), lower-case hexadecimal.
    pub ppid: Rule<String>,
    /// The platform may be extended by packages.
    pub dynamic_platform: Rule<Flag>,
    /// Keys are cached by Intel's registration service.
    pub cached_keys: Rule<Flag>,
    /// SMT is on.
    pub smt: Rule<Flag>,
}

impl Platform {
    /// TDX and SGX count together: Intel raises both numbers at once.
    pub(crate) fn mark(&self) -> Mark {
        Mark {
            what: format!("intel/{}/tcb-evaluation", self.fmspc),
            value: self.evaluation_number.into(),
        }
    }

    pub(crate) fn claims(&self) -> Vec<(&'static str, String)> {
        vec![
            ("tcb_status", self.status.clone()),
            ("advisories", self.advisories.join(", ")),
            ("tcb_evaluation_number", self.evaluation_number.to_string()),
            ("pck_ca", self.authority.to_string()),
            ("fmspc", self.fmspc.to_string()),
            ("ppid", self.ppid.clone()),
            ("dynamic_platform", self.dynamic_platform.to_string()),
            ("cached_keys", self.cached_keys.to_string()),
            ("smt", self.smt.to_string()),
            ("collateral_from", self.collateral_from.to_string()),
        ]
    }

    pub(crate) fn hold_against(
        &self,
        rules: &QuoteRules,
        version: u16,
        now: Timestamp,
        outcomes: &mut Outcomes,
    ) {
        outcomes.passed(
            Check::QuoteSignature,
            format!(
                "quote, QE, PCK chain and collateral verify, valid until {}",
                self.valid_until
            ),
        );
        outcomes.rule(
            Check::QuoteFormat,
            "quote version",
            &rules.version,
            &version,
        );
        outcomes.rule(
            Check::QuoteStatus,
            "TCB status",
            &rules.tcb_status,
            &self.status,
        );
        if let Some(current) = &self.current_status {
            outcomes.rule(
                Check::QuoteStatus,
                "TCB status of the current module",
                &rules.tcb_status,
                current,
            );
        }
        self.advisories(&rules.advisories, outcomes);
        let from = Some(self.collateral_from);
        rules
            .collateral
            .hold(Check::QuoteCollateral, "collateral", from, now, outcomes);
        let check = Check::QuoteCollateral;
        outcomes.rule(
            check,
            "TCB evaluation data number",
            &rules.tcb_evaluation_number,
            &self.evaluation_number,
        );
        let check = Check::QuotePlatform;
        outcomes.rule(check, "PCK CA", &rules.pck_ca, &self.authority.to_string());
        outcomes.rule(check, "FMSPC", &rules.fmspc, &self.fmspc);
        outcomes.rule(check, "PPID", &rules.ppid, &self.ppid);
        outcomes.rule(
            check,
            "dynamic platform",
            &rules.dynamic_platform,
            &self.dynamic_platform,
        );
        outcomes.rule(check, "cached keys", &rules.cached_keys, &self.cached_keys);
        outcomes.rule(check, "SMT", &rules.smt, &self.smt);
    }

    fn advisories(&self, rule: &AdvisoryRule, outcomes: &mut Outcomes) {
        let found = self.advisories.join(", ");
        match rule {
            AdvisoryRule::Ignore(reason) => {
                outcomes.ignored(
                    Check::QuoteStatus,
                    format!("advisories: found [{found}], wanted anything ({reason})"),
                );
            }
            AdvisoryRule::Only(allowed) => {
                let good = self.advisories.iter().all(|one| allowed.contains(one));
                let detail = format!(
                    "advisories: found [{found}], wanted none but [{}]",
                    allowed.join(", ")
                );
                outcomes.must(Check::QuoteStatus, good, detail);
            }
        }
    }
}
