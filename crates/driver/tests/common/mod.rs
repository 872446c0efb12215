//! A small program around any `step`.
// Not every test binary uses all of it.
#![allow(dead_code)]

use std::collections::BTreeMap;

use siegel_driver::{Driver, DriverError, DryRun, Public, State};
use siegel_ident::{Budget, Delta, NanoRho, Step};
use siegel_program::{
    Bundle, ClippedSumSpec, Executor, HistogramSpec, Plan, Released, Stop, Table,
};

pub(crate) const RHO: u64 = 90_000_000;

/// The call that every honest test program makes.
pub(crate) const ASK: &str =
    r#"dp_histogram(clients, column = "words", vocabulary = "w.txt", max_per_user = 2, share = 1)"#;

pub(crate) fn bundle(driver: &str) -> Bundle {
    let words = "ant\nbee\ncow\n".to_owned();
    Bundle::new("test", driver, [("w.txt".to_owned(), words)].into()).unwrap()
}

/// A program with this body of `step`, indented by four.
pub(crate) fn with_step(body: &str) -> String {
    let body: String = body.lines().map(|line| format!("    {line}\n")).collect();
    format!(
        "def init(public):\n    return None\n\ndef step(state, n, clients):\n{body}\n\
         def finish(state):\n    return table(\"t\", state)\n"
    )
}

pub(crate) fn public(rounds: i64) -> Public {
    Public {
        params: BTreeMap::from([("rounds".to_owned(), rounds)]),
        blob_count: 1000,
        budget: Budget {
            rho_nano: NanoRho(RHO),
            delta0: Delta(0),
        },
    }
}

pub(crate) fn dry(driver: &str) -> Result<DryRun, DriverError> {
    Driver::load(&bundle(driver))?.dry_run(&public(1))
}

/// Answers every intrinsic with these integers.
pub(crate) struct Fixed(pub(crate) Vec<i64>, pub(crate) usize);

impl Executor for Fixed {
    fn dp_histogram(&mut self, spec: &HistogramSpec) -> Result<Vec<i64>, Stop> {
        self.1 += 1;
        assert_eq!(self.0.len(), spec.bins as usize);
        Ok(self.0.clone())
    }

    fn dp_clipped_sum(&mut self, spec: &ClippedSumSpec, params: &[f32]) -> Result<Vec<i64>, Stop> {
        self.1 += 1;
        assert_eq!(self.0.len(), spec.dimension());
        assert_eq!(params.len(), spec.dimension());
        Ok(self.0.clone())
    }
}

/// What the last step releases, which must be a table.
pub(crate) fn table(driver: &Driver, plan: &Plan, state: &State) -> Result<Table, DriverError> {
    match driver.release(plan, state, Step(plan.rounds.into()))? {
        Some(Released::Table(table)) => Ok(table),
        other => panic!("{other:?}"),
    }
}
