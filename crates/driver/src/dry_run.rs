//! The dry run: the driver with zeros in place of noisy results.

use std::collections::BTreeMap;

use siegel_ident::{Budget, Step};
use siegel_program::Plan;
use siegel_program::plan::{MAX_ROUNDS, check_params};

use crate::machine::Machine;
use crate::{Driver, DriverError, SNAPSHOT, kinds};

/// All that a driver knows besides its own text. All of it is public.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Public {
    /// Named integers from the operator; `rounds` is the number of steps (1 if absent).
    pub params: BTreeMap<String, i64>,
    /// How many uploads the run reads.
    pub blob_count: u64,
    /// What the run may cost: the pipeline's total.
    pub budget: Budget,
}

/// What a dry run found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DryRun {
    /// Every mechanism and the whole cost. A function of bundle and [`Public`] alone.
    pub plan: Plan,
    /// What the driver printed; public.
    pub notes: Vec<String>,
}

impl Driver {
    /// Runs all steps and releases without clients. Refuses a driver that fails, that uses client
    /// or private values as it may not (I5), that asks for more than the budget (I6), or for a sum or
    /// noise that does not fit the machine's numbers.
    pub fn dry_run(&self, public: &Public) -> Result<DryRun, DriverError> {
        public.check()?;
        let mut notes = Vec::new();
        let machine = Machine::pure(&self.bundle, true);
        let mut state = self.call_init(public, &machine)?;
        notes.append(&mut machine.end_planning().1);

        let mut steps = Vec::new();
        let mut left = public.budget;
        let mut checkpoint_bytes = state.to_bytes()?.len() as u64;
        for n in 1..=public.rounds() {
            let n = Step(n.into());
            let machine = Machine::planning(&self.bundle, n, public.budget, left);
            state = self.call_step(&state, n, &machine)?;
            let (asked, mut printed) = machine.end_planning();
            for intrinsic in &asked {
                intrinsic.check_range(public.blob_count)?;
                left = left
                    .pay(intrinsic.cost())
                    .map_err(|source| DriverError::Budget { step: n, source })?;
            }
            checkpoint_bytes = checkpoint_bytes.max(state.to_bytes()?.len() as u64);
            notes.append(&mut printed);

            let function = match n.0 == u64::from(public.rounds()) {
                true => Some("finish"),
                false => kinds::defines(&self.ast, SNAPSHOT).then_some(SNAPSHOT),
            };
            let machine = Machine::pure(&self.bundle, true);
            let released = function.map(|f| self.call_release(f, &state, &machine));
            notes.append(&mut machine.end_planning().1);
            let release = released.transpose()?.map(|released| released.release());
            steps.push((asked, release.transpose()?));
        }
        let plan = Plan::new(public.params.clone(), steps, checkpoint_bytes)?;
        Ok(DryRun { plan, notes })
    }
}

impl Public {
    /// The number of steps.
    pub fn rounds(&self) -> u32 {
        // `check` has bounded it; a driver never runs before.
        self.params
            .get("rounds")
            .map_or(1, |&rounds| u32::try_from(rounds).unwrap_or(0))
    }

    pub(crate) fn check(&self) -> Result<(), DriverError> {
        check_params(&self.params)?;
        let form = |what: &str| {
            Err(DriverError::Form {
                line: None,
                what: what.to_owned(),
            })
        };
        if !(1..=MAX_ROUNDS).contains(&self.rounds()) {
            return form("params: rounds must be 1 to 1,024");
        }
        if self.blob_count >= 1 << 53 {
            return form("too many uploads: at most 2^53 - 1");
        }
        Ok(())
    }
}
