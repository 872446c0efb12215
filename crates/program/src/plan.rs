//! What a run will do and cost, fixed before any key is released for it (I6).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use siegel_ident::{Budget, Digest, Step, json};
use siegel_policy::RunParameters;

use crate::bundle::is_name;
use crate::{Intrinsic, ProgramError, Release};

const DOCUMENT: &str = "plan";
const SCHEMA: &str = "siegel/plan/v1";

/// Longest plan, in bytes.
pub const MAX_PLAN: usize = 1 << 20;
/// Most steps of a run.
pub const MAX_ROUNDS: u32 = RunParameters::MAX_STEPS as u32;
/// Most intrinsics of one step.
pub const MAX_INTRINSICS: usize = 64;
/// Most public parameters.
pub const MAX_PARAMS: usize = 64;
/// Largest sealed release or checkpoint, in bytes of plaintext.
pub const MAX_SEALED: u64 = 64 << 20;

/// The parameters that a run registers, as canonical JSON: every intrinsic of every step. A driver
/// that does anything else at run time is stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    schema: String,
    /// Public parameters of the driver, as given.
    pub params: BTreeMap<String, i64>,
    /// Number of steps.
    pub rounds: u32,
    /// One per step, in order.
    pub steps: Vec<StepPlan>,
    /// The whole cost: what the ledger debits.
    pub total: Budget,
    /// Fixed size of every sealed checkpoint's plaintext, in bytes (I12).
    pub checkpoint_bytes: u64,
}

/// One step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepPlan {
    /// The DP intrinsics, in the order in which the driver calls them.
    pub intrinsics: Vec<Intrinsic>,
    /// Their sum, paid when the step commits.
    pub cost: Budget,
    /// What the step releases; null for nothing. The last step releases something.
    #[serde(deserialize_with = "json::present")]
    pub release: Option<Release>,
}

impl Plan {
    /// Adds up the costs of the steps.
    pub fn new(
        params: BTreeMap<String, i64>,
        steps: Vec<(Vec<Intrinsic>, Option<Release>)>,
        checkpoint_bytes: u64,
    ) -> Result<Self, ProgramError> {
        let priced = |(intrinsics, release): (Vec<Intrinsic>, Option<Release>)| {
            let cost = sum(intrinsics.iter().map(Intrinsic::cost))?;
            Ok(StepPlan {
                intrinsics,
                cost,
                release,
            })
        };
        let steps: Vec<StepPlan> = steps
            .into_iter()
            .map(priced)
            .collect::<Result<_, ProgramError>>()?;
        let plan = Self {
            schema: SCHEMA.into(),
            params,
            rounds: steps.len() as u32,
            total: sum(steps.iter().map(|step| step.cost))?,
            steps,
            checkpoint_bytes,
        };
        plan.check()?;
        Ok(plan)
    }

    /// Reads canonical JSON and checks every sum again: a plan whose total is not that of its
    /// steps, or whose steps are not those of their intrinsics, does not parse.
    pub fn parse(bytes: &[u8]) -> Result<Self, ProgramError> {
        let plan: Self =
            json::from_canonical(bytes, MAX_PLAN).map_err(ProgramError::document(DOCUMENT))?;
        plan.check()?;
        Ok(plan)
    }

    /// Canonical JSON.
    pub fn to_bytes(&self) -> Result<Vec<u8>, ProgramError> {
        json::to_canonical(self).map_err(ProgramError::document(DOCUMENT))
    }

    /// What the key service registers: digest of this plan's bytes, cost of each step, their sum.
    pub fn run_parameters(&self) -> Result<RunParameters, ProgramError> {
        let steps = self.steps.iter().map(|step| step.cost).collect();
        RunParameters::new(Digest::of(&self.to_bytes()?), steps)
            .map_err(|e| ProgramError::invalid(DOCUMENT, e.to_string()))
    }

    /// The intrinsic number `index` of step `step` (counted from 1). A worker computes this one
    /// and no other: the plan is from the KMS, the question only from the root.
    pub fn intrinsic(&self, step: Step, index: u32) -> Option<&Intrinsic> {
        self.step(step)?.intrinsics.get(index as usize)
    }

    /// Step number `step`, counted from 1.
    pub fn step(&self, step: Step) -> Option<&StepPlan> {
        self.steps
            .get(usize::try_from(step.0.checked_sub(1)?).ok()?)
    }

    fn check(&self) -> Result<(), ProgramError> {
        let fail = |what: &str| Err(ProgramError::invalid(DOCUMENT, what));
        if self.schema != SCHEMA {
            return Err(ProgramError::Schema {
                document: DOCUMENT,
                expected: SCHEMA,
            });
        }
        check_params(&self.params)?;
        if !(1..=MAX_ROUNDS).contains(&self.rounds) || self.steps.len() != self.rounds as usize {
            return fail("rounds: expected 1 to 1,024, and one step for each");
        }
        for step in &self.steps {
            if step.intrinsics.len() > MAX_INTRINSICS {
                return fail("a step of more than 64 intrinsics");
            }
            step.intrinsics.iter().try_for_each(Intrinsic::check)?;
            step.release.iter().try_for_each(Release::check)?;
            if sum(step.intrinsics.iter().map(Intrinsic::cost))? != step.cost {
                return fail("a step's cost is not the sum of its intrinsics");
            }
        }
        if sum(self.steps.iter().map(|step| step.cost))? != self.total {
            return fail("the total is not the sum of the steps");
        }
        if self.total.rho_nano.0 >= 1 << 53 {
            return fail("a total of 2^53 nano-rho or more");
        }
        if self.steps.last().is_none_or(|last| last.release.is_none()) {
            return fail("the last step releases nothing");
        }
        if self.checkpoint_bytes > MAX_SEALED {
            return fail("a checkpoint of more than 64 MiB");
        }
        Ok(())
    }
}

/// Refuses parameters that are not a few named integers below 2⁵³ (RFC 8785 keeps only those).
pub fn check_params(params: &BTreeMap<String, i64>) -> Result<(), ProgramError> {
    let fine = |(name, value): (&String, &i64)| is_name(name) && value.unsigned_abs() < 1 << 53;
    if params.len() > MAX_PARAMS || !params.iter().all(fine) {
        let what = "params: expected at most 64 names (a-z, 0-9, -) with integers below 2^53";
        return Err(ProgramError::invalid(DOCUMENT, what));
    }
    Ok(())
}

fn sum(costs: impl Iterator<Item = Budget>) -> Result<Budget, ProgramError> {
    let mut total = Budget::ZERO;
    for cost in costs {
        total = total
            .plus(cost)
            .map_err(|e| ProgramError::invalid(DOCUMENT, e.to_string()))?;
    }
    Ok(total)
}
