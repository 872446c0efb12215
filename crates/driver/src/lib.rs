//! The driver of a program: three Starlark functions over explicit state (`init`, `step`, `finish`),
//! and a fourth for releases on the way (`snapshot`).
//!
//! The runtime owns the loop. A **dry run** calls them with zeros in place of noisy results and
//! yields the [`Plan`]: every mechanism the run will use, and its whole cost, before anything is
//! registered (I6). At run time the same driver must ask for exactly the plan, in its order.
//!
//! Client values have no handle that shows anything ([`kinds`], [`values`]): the only thing that
//! can be done with them is to hand them to a DP intrinsic (I5).

mod dry_run;
mod error;
mod evaluate;
mod fault;
mod intrinsics;
mod kinds;
// SAFETY: here and in `values` the only unsafe code is what `derive(ProvidesStaticType)` expands to,
// an impl of a marker trait that says which type stays when lifetimes are erased.
#[expect(unsafe_code, reason = "derive(ProvidesStaticType)")]
mod machine;
mod state;
#[cfg(test)]
mod tests;
#[expect(unsafe_code, reason = "derive(ProvidesStaticType)")]
mod values;

use siegel_ident::Step;
use siegel_program::{Bundle, Executor, Plan, Released};
use starlark::syntax::{AstModule, Dialect, DialectTypes};

pub use dry_run::{DryRun, Public};
pub use error::DriverError;
pub use evaluate::{MAX_CALL_DEPTH, MAX_HEAP, MAX_TICKS};
pub use state::State;

use machine::Machine;

/// The function that is called after each step but the last, if the driver has it: what it returns
/// is released.
pub(crate) const SNAPSHOT: &str = "snapshot";

/// A driver that parsed and whose text uses client values only where it may.
pub struct Driver {
    bundle: Bundle,
    ast: AstModule,
}

impl Driver {
    /// Reads the driver of a bundle. No `load`, no types, no statements but definitions at the top.
    pub fn load(bundle: &Bundle) -> Result<Self, DriverError> {
        let driver = Self::parse(bundle)?;
        kinds::check(&driver.ast)?;
        Ok(driver)
    }

    /// The state before the first step.
    pub fn init(&self, public: &Public) -> Result<State, DriverError> {
        public.check()?;
        self.call_init(public, &Machine::pure(&self.bundle, false))
    }

    /// Step `n` of the plan, counted from 1. Every intrinsic it calls must be the plan's next one,
    /// and it must call all of them; else it is stopped.
    pub fn step(
        &self,
        public: &Public,
        plan: &Plan,
        state: &State,
        n: Step,
        exec: &mut dyn Executor,
    ) -> Result<State, DriverError> {
        let step = plan.step(n).ok_or(DriverError::NoSuchStep {
            step: n,
            rounds: plan.rounds,
        })?;
        let machine = Machine::running(&self.bundle, n, public.budget, step, exec);
        let next = self.call_step(state, n, &machine)?;
        machine.end_run()?;
        next.check_size(plan)?;
        Ok(next)
    }

    /// What step `n` releases, if anything: the last step the result of `finish`, an earlier one
    /// that of `snapshot`, where the driver has it. Its shape must be the plan's (I12).
    pub fn release(
        &self,
        plan: &Plan,
        state: &State,
        n: Step,
    ) -> Result<Option<Released>, DriverError> {
        let step = plan.step(n).ok_or(DriverError::NoSuchStep {
            step: n,
            rounds: plan.rounds,
        })?;
        let Some(planned) = &step.release else {
            return Ok(None);
        };
        let function = match n.0 == u64::from(plan.rounds) {
            true => "finish",
            false => SNAPSHOT,
        };
        let machine = Machine::pure(&self.bundle, false);
        let released = self.call_release(function, state, &machine)?;
        match released.release()? == *planned {
            true => Ok(Some(released)),
            false => Err(DriverError::OtherRelease),
        }
    }

    fn parse(bundle: &Bundle) -> Result<Self, DriverError> {
        let dialect = Dialect {
            enable_load: false,
            enable_load_reexport: false,
            enable_types: DialectTypes::Disable,
            enable_top_level_stmt: false,
            enable_f_strings: false,
            enable_keyword_only_arguments: true,
            ..Dialect::Standard
        };
        let file = format!("{}.star", bundle.name());
        let ast = AstModule::parse(&file, bundle.driver().to_owned(), &dialect)
            .map_err(|e| DriverError::from_starlark("parse", &e, true))?;
        Ok(Self {
            bundle: bundle.clone(),
            ast,
        })
    }
}
