//! Privacy budgets as integers: they add and compare exactly (I6).

use std::fmt;

use serde::{Deserialize, Serialize};

/// zCDP ρ in units of 10⁻⁹ ("nano-zCDP").
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct NanoRho(pub u64);

impl NanoRho {
    /// ρ as a float, for showing only; decisions use the integer.
    pub fn as_f64(self) -> f64 {
        self.0 as f64 * 1e-9
    }
}

impl fmt::Display for NanoRho {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}.{:09}",
            self.0 / 1_000_000_000,
            self.0 % 1_000_000_000
        )
    }
}

/// δ in units of 2⁻⁶⁴, written in JSON as a decimal string since it does not fit 2⁵³.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Delta(pub u64);

impl Delta {
    /// δ as a float, for showing only.
    pub fn as_f64(self) -> f64 {
        self.0 as f64 * 2f64.powi(-64)
    }
}

impl Serialize for Delta {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(&self.0.to_string())
    }
}

impl<'de> Deserialize<'de> for Delta {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        use serde::de::Error as _;
        let text = String::deserialize(d)?;
        match text.parse::<u64>() {
            Ok(units) if units.to_string() == text => Ok(Self(units)),
            _ => Err(D::Error::custom(
                "δ₀ must be a plain decimal string in units of 2^-64",
            )),
        }
    }
}

/// What a mechanism costs or a pipeline has: ρ and the extra δ₀ of thresholding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// zCDP ρ.
    pub rho_nano: NanoRho,
    /// Extra δ₀, added on top of the conversion.
    pub delta0: Delta,
}

/// Why a sum or a debit did not go.
#[derive(Debug, Clone, Copy, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum BudgetError {
    /// The sum does not fit its type; refuse rather than wrap.
    #[error("privacy budget overflows its integer type")]
    Overflow,
    /// More ρ asked than is left.
    #[error("privacy budget exhausted: asked for rho = {asked}, left {left}")]
    Rho {
        /// What was asked.
        asked: NanoRho,
        /// What is left.
        left: NanoRho,
    },
    /// More δ₀ asked than is left.
    #[error("privacy budget exhausted: asked for delta0 = {} (2^-64), left {}", .asked.0, .left.0)]
    Delta {
        /// What was asked.
        asked: Delta,
        /// What is left.
        left: Delta,
    },
}

impl Budget {
    /// Nothing.
    pub const ZERO: Self = Self {
        rho_nano: NanoRho(0),
        delta0: Delta(0),
    };

    /// Exact sum, or a refusal.
    pub fn plus(self, other: Self) -> Result<Self, BudgetError> {
        Ok(Self {
            rho_nano: NanoRho(
                self.rho_nano
                    .0
                    .checked_add(other.rho_nano.0)
                    .ok_or(BudgetError::Overflow)?,
            ),
            delta0: Delta(
                self.delta0
                    .0
                    .checked_add(other.delta0.0)
                    .ok_or(BudgetError::Overflow)?,
            ),
        })
    }

    /// What is left after paying `cost`, or a refusal that says which part is short.
    pub fn pay(self, cost: Self) -> Result<Self, BudgetError> {
        let rho = self
            .rho_nano
            .0
            .checked_sub(cost.rho_nano.0)
            .ok_or(BudgetError::Rho {
                asked: cost.rho_nano,
                left: self.rho_nano,
            })?;
        let delta = self
            .delta0
            .0
            .checked_sub(cost.delta0.0)
            .ok_or(BudgetError::Delta {
                asked: cost.delta0,
                left: self.delta0,
            })?;
        Ok(Self {
            rho_nano: NanoRho(rho),
            delta0: Delta(delta),
        })
    }

    /// True if both parts are at most those of `limit`.
    pub fn within(self, limit: Self) -> bool {
        self.rho_nano <= limit.rho_nano && self.delta0 <= limit.delta0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(rho: u64, delta: u64) -> Budget {
        Budget {
            rho_nano: NanoRho(rho),
            delta0: Delta(delta),
        }
    }

    #[test]
    fn pays_exactly_and_refuses_one_unit_more() {
        assert_eq!(budget(5, 7).pay(budget(5, 7)), Ok(Budget::ZERO));
        assert!(matches!(
            budget(5, 7).pay(budget(6, 0)),
            Err(BudgetError::Rho { .. })
        ));
        assert!(matches!(
            budget(5, 7).pay(budget(0, 8)),
            Err(BudgetError::Delta { .. })
        ));
        assert_eq!(
            budget(u64::MAX, 0).plus(budget(1, 0)),
            Err(BudgetError::Overflow)
        );
    }

    #[test]
    fn delta_has_one_spelling() {
        assert!(serde_json::from_str::<Delta>("\"12\"").is_ok());
        for bad in ["\"012\"", "\"+12\"", "12", "\"\"", "\"1e3\""] {
            assert!(serde_json::from_str::<Delta>(bad).is_err(), "{bad}");
        }
    }
}
