//! What a run is registered with: the digest of its plan, and what each of its steps may cost.
//!
//! A root computes it from the plan; the key service debits `total` before any key is released and
//! pays each step from `steps` (I6). Its SHA-256 stands in the receipts, so an auditor can hold
//! plan, allotment and debit against each other.

use serde::{Deserialize, Serialize};
use siegel_ident::json::{JsonError, from_canonical, to_canonical};
use siegel_ident::{Budget, BudgetError, Digest};

/// Why parameters were refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunParametersError {
    /// Not canonical JSON of this shape, or too long.
    #[error("run parameters: {0}")]
    Json(#[from] JsonError),
    /// Another schema.
    #[error("run parameters: schema is {0:?}, expected {expected:?}", expected = RunParameters::SCHEMA)]
    Schema(String),
    /// No step, or too many.
    #[error("run parameters: {found} steps, a run has 1 to {max}", max = RunParameters::MAX_STEPS)]
    Steps {
        /// How many were given.
        found: usize,
    },
    /// A ρ that canonical JSON cannot hold.
    #[error("run parameters: rho_nano of {field} does not fit 2^53")]
    Number {
        /// `total`, or which step, counted from 1.
        field: String,
    },
    /// The steps cannot be added up.
    #[error("run parameters: sum of the steps: {0}")]
    Sum(#[from] BudgetError),
    /// The total is not the sum of the steps.
    #[error(
        "run parameters: total is rho = {}, delta0 = {}, its steps sum to rho = {}, delta0 = {}",
        .stated.rho_nano, .stated.delta0.0, .sum.rho_nano, .sum.delta0.0
    )]
    Total {
        /// As written.
        stated: Budget,
        /// As added up.
        sum: Budget,
    },
}

/// Canonical JSON `siegel/run-parameters/v1`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunParameters {
    /// [`RunParameters::SCHEMA`].
    pub schema: String,
    /// SHA-256 of the plan's exact bytes.
    pub plan: Digest,
    /// Cost of each step, in order.
    pub steps: Vec<Budget>,
    /// Exactly their sum: what is debited.
    pub total: Budget,
}

impl RunParameters {
    /// `schema` of the document.
    pub const SCHEMA: &'static str = "siegel/run-parameters/v1";
    /// Length of the document in bytes.
    pub const MAX_BYTES: usize = 64 * 1024;
    /// Steps of a run.
    pub const MAX_STEPS: usize = 1024;

    /// Parameters of a plan whose steps cost `steps`.
    ///
    /// # Errors
    /// As [`RunParameters::parse`].
    pub fn new(plan: Digest, steps: Vec<Budget>) -> Result<Self, RunParametersError> {
        let total = sum(&steps)?;
        let parameters = Self {
            schema: Self::SCHEMA.to_owned(),
            plan,
            steps,
            total,
        };
        parameters.check()?;
        Ok(parameters)
    }

    /// Reads canonical bytes; the caller hashes and keeps those (I2).
    ///
    /// # Errors
    /// Anything but the canonical bytes of parameters whose total is the exact sum of 1 to
    /// [`RunParameters::MAX_STEPS`] steps.
    pub fn parse(bytes: &[u8]) -> Result<Self, RunParametersError> {
        let parameters: Self = from_canonical(bytes, Self::MAX_BYTES)?;
        parameters.check()?;
        Ok(parameters)
    }

    /// The canonical bytes.
    ///
    /// # Errors
    /// None for a value that was parsed or made by [`RunParameters::new`].
    pub fn to_bytes(&self) -> Result<Vec<u8>, RunParametersError> {
        Ok(to_canonical(self)?)
    }

    fn check(&self) -> Result<(), RunParametersError> {
        if self.schema != Self::SCHEMA {
            return Err(RunParametersError::Schema(
                self.schema.chars().take(80).collect(),
            ));
        }
        if self.steps.is_empty() || self.steps.len() > Self::MAX_STEPS {
            return Err(RunParametersError::Steps {
                found: self.steps.len(),
            });
        }
        let too_big = |cost: &Budget| cost.rho_nano.0 >= 1 << 53;
        if let Some(at) = self.steps.iter().position(too_big) {
            return Err(RunParametersError::Number {
                field: format!("step {}", at + 1),
            });
        }
        if too_big(&self.total) {
            return Err(RunParametersError::Number {
                field: "total".to_owned(),
            });
        }
        let sum = sum(&self.steps)?;
        if sum != self.total {
            return Err(RunParametersError::Total {
                stated: self.total,
                sum,
            });
        }
        Ok(())
    }
}

fn sum(steps: &[Budget]) -> Result<Budget, BudgetError> {
    steps
        .iter()
        .try_fold(Budget::ZERO, |sum, step| sum.plus(*step))
}

#[cfg(test)]
mod tests {
    use super::*;
    use siegel_ident::{Delta, NanoRho};

    fn cost(rho: u64, delta: u64) -> Budget {
        Budget {
            rho_nano: NanoRho(rho),
            delta0: Delta(delta),
        }
    }

    // I6: catches a total that is believed instead of added up.
    #[test]
    fn i6_total_is_the_exact_sum() {
        let good = RunParameters::new(Digest::of(b"plan"), vec![cost(3, 1), cost(0, 0)]).unwrap();
        assert_eq!(
            RunParameters::parse(&good.to_bytes().unwrap()).unwrap(),
            good
        );
        for total in [cost(2, 1), cost(4, 1), cost(3, 0), cost(3, 2)] {
            let bytes = RunParameters {
                total,
                ..good.clone()
            }
            .to_bytes()
            .unwrap();
            assert!(matches!(
                RunParameters::parse(&bytes),
                Err(RunParametersError::Total { .. })
            ));
        }
    }

    // I6, I14: catches a sum that wraps, and step lists without a bound.
    #[test]
    fn i14_bounds() {
        let plan = Digest::of(b"plan");
        assert!(matches!(
            RunParameters::new(plan, vec![cost(0, u64::MAX), cost(0, 1)]),
            Err(RunParametersError::Sum(_))
        ));
        assert!(matches!(
            RunParameters::new(plan, vec![cost(1 << 53, 0)]),
            Err(RunParametersError::Number { .. })
        ));
        for count in [0, RunParameters::MAX_STEPS + 1] {
            assert!(matches!(
                RunParameters::new(plan, vec![cost(1, 0); count]),
                Err(RunParametersError::Steps { .. })
            ));
        }
        assert!(RunParameters::new(plan, vec![cost(1 << 40, 1 << 63); 1]).is_ok());
    }

    // I2: catches a reader that takes more than one spelling.
    #[test]
    fn i2_only_canonical_bytes_parse() {
        let good = RunParameters::new(Digest::of(b"plan"), vec![cost(3, 1)]).unwrap();
        let text = String::from_utf8(good.to_bytes().unwrap()).unwrap();
        for (from, to) in [
            ("v1", "v2"),
            ("{\"plan\"", "{ \"plan\""),
            ("\"total\"", "\"extra\":0,\"total\""),
            ("\"steps\"", "\"step\""),
        ] {
            let bad = text.replacen(from, to, 1);
            assert_ne!(bad, text);
            assert!(RunParameters::parse(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
