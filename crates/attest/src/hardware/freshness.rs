//! How young what the vendor published has to be.

use serde::{Deserialize, Deserializer, Serialize};
use siegel_ident::{Seconds, Timestamp};

use super::outcome::Outcomes;
use super::{Check, RuleError};

/// A demand on the age of a revocation list or of collateral: `{ max_age_s = 2592000 }`, or
/// `{ ignore = "why" }`, which a production policy may not say.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Freshness {
    /// It must be there, and at most this old.
    MaxAgeS(Seconds),
    /// It may be absent or old, for a stated reason.
    Ignore(String),
}

impl Freshness {
    /// Whether the demand is made at all.
    pub fn is_demanded(&self) -> bool {
        matches!(self, Self::MaxAgeS(_))
    }

    /// Holds the time of issue of `what` against the demand.
    pub(crate) fn hold(
        &self,
        check: Check,
        what: &str,
        issued: Option<Timestamp>,
        now: Timestamp,
        outcomes: &mut Outcomes,
    ) {
        match (self, issued) {
            (Self::Ignore(reason), _) => {
                outcomes.ignored(check, format!("age of {what}: any ({reason})"))
            }
            (Self::MaxAgeS(_), None) => {
                outcomes.failed(check, format!("{what}: absent, and demanded"))
            }
            (Self::MaxAgeS(max), Some(issued)) => {
                let age = now.since(issued);
                // Windows of what is not valid yet are asked elsewhere, exactly.
                let ahead = issued > now.plus(crate::CLOCK_SKEW);
                let detail = match ahead {
                    true => format!("{what}: made at {issued}, which is after {now}"),
                    false => format!("age of {what}: found {age}, wanted at most {max}"),
                };
                outcomes.must(check, !ahead && age <= *max, detail);
                outcomes.until(issued.plus(*max));
            }
        }
    }
}

impl<'de> Deserialize<'de> for Freshness {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "snake_case", rename = "Freshness")]
        enum Written {
            MaxAgeS(Seconds),
            Ignore(String),
        }
        match Written::deserialize(deserializer)? {
            Written::MaxAgeS(max) => Ok(Self::MaxAgeS(max)),
            Written::Ignore(reason) if reason.trim().is_empty() => {
                Err(serde::de::Error::custom(RuleError::NoReason))
            }
            Written::Ignore(reason) => Ok(Self::Ignore(reason)),
        }
    }
}
