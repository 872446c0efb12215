//! The functions that a driver has besides Starlark's own.

use siegel_ident::NanoRho;
use siegel_program::{Histogram, HistogramSpec, Kind, Row, Table};
use starlark::environment::{Globals, GlobalsBuilder};
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::float::UnpackFloat;
use starlark::values::none::NoneType;
use starlark::values::tuple::UnpackTuple;
use starlark::values::{UnpackValue, Value};

use crate::DriverError;
use crate::machine::{Machine, outside_step};
use crate::values::{Clients, NoisyCounts, TableValue};

/// The DP intrinsics: the only functions that take client values (I5).
pub(crate) const DP_INTRINSICS: [&str; 1] = ["dp_histogram"];
/// Names that a driver may not bind to something else.
pub(crate) const RESERVED: [&str; 3] = ["dp_histogram", "table", "print"];

/// Starlark's standard functions and ours. No `load`, files, time or randomness.
pub(crate) fn globals() -> Globals {
    GlobalsBuilder::standard().with(ours).build()
}

#[starlark_module]
fn ours(builder: &mut GlobalsBuilder) {
    /// How many users have each word of a published vocabulary: noisy counts.
    ///
    /// `share` is the share of the run's rho that it costs, above 0 and at most 1.
    fn dp_histogram<'v>(
        #[starlark(require = pos)] clients: Value<'v>,
        #[starlark(require = named)] column: &str,
        #[starlark(require = named)] vocabulary: &str,
        #[starlark(require = named)] max_per_user: i32,
        #[starlark(require = named)] share: Value<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoisyCounts> {
        let machine = machine(eval)?;
        settle(machine, || {
            if Clients::from_value(clients).is_none() {
                return Err(form(
                    "dp_histogram: the first argument must be the clients of the step",
                ));
            }
            let rho = rho_of(machine, share)?;
            let most = u32::try_from(max_per_user).unwrap_or(0);
            let spec = HistogramSpec::new(machine.bundle, column, vocabulary, most, rho)?;
            let counts = machine.histogram(&spec)?;
            Ok(NoisyCounts::new(&machine.wire, spec, counts))
        })
    }

    /// A table of noisy counts with their labels and standard errors, for `finish` to return.
    fn table<'v>(
        #[starlark(require = pos)] name: &str,
        #[starlark(require = pos)] counts: Value<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<TableValue> {
        let machine = machine(eval)?;
        settle(machine, || {
            if Clients::from_value(counts).is_some() {
                let (kind, attempt) = (Kind::Client, "a release");
                return Err(DriverError::Kind {
                    kind,
                    attempt,
                    line: None,
                });
            }
            let held = NoisyCounts::from_value(counts).and_then(|noisy| noisy.counts.as_deref());
            let (spec, counts) = held.ok_or_else(|| {
                form("table: the second argument must be the result of dp_histogram")
            })?;
            let table = labelled(machine, name, spec, counts)?;
            Ok(TableValue {
                wire: machine.wire.clone(),
                table: Some(table.into()),
            })
        })
    }

    /// Notes a line in the dry run. At run time it goes nowhere.
    fn print<'v>(
        #[starlark(args)] args: UnpackTuple<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        let machine = machine(eval)?;
        settle(machine, || {
            let words: Vec<String> = args.items.iter().map(|value| value.to_str()).collect();
            machine.note(&words.join(" "));
            Ok(NoneType)
        })
    }
}

/// Runs an intrinsic; nothing happens after a wire was tripped, and our own error is kept as it is.
fn settle<T>(
    machine: &Machine<'_>,
    body: impl FnOnce() -> Result<T, DriverError>,
) -> starlark::Result<T> {
    let done = match machine.take_fault(None) {
        Some(fault) => Err(fault),
        None => body(),
    };
    done.map_err(|error| {
        machine.fail(error);
        starlark::Error::new_other(Refused)
    })
}

fn machine<'a, 'e>(eval: &Evaluator<'_, 'a, 'e>) -> starlark::Result<&'a Machine<'e>> {
    let found = eval
        .extra
        .and_then(|extra| extra.downcast_ref::<Machine<'e>>());
    found.ok_or_else(|| starlark::Error::new_other(Refused))
}

fn rho_of(machine: &Machine<'_>, share: Value<'_>) -> Result<NanoRho, DriverError> {
    let budget = machine.budget().ok_or_else(outside_step)?.rho_nano;
    if share.unpack_i32() == Some(1) {
        return Ok(budget);
    }
    match UnpackFloat::unpack_value(share).ok().flatten() {
        // Rounded down, so that shares which add up to 1 are within the budget; the plan adds up
        // the integers.
        Some(UnpackFloat(share)) if share > 0.0 && share <= 1.0 => Ok(NanoRho(
            ((budget.0 as f64 * share).floor() as u64).min(budget.0),
        )),
        _ => Err(form("share: expected a number above 0 and at most 1")),
    }
}

fn labelled(
    machine: &Machine<'_>,
    name: &str,
    spec: &HistogramSpec,
    counts: &[i64],
) -> Result<Table, DriverError> {
    let histogram = Histogram::new(spec, machine.bundle)?;
    let standard_error = spec.standard_error()?;
    let labels = histogram.vocabulary().labels().map(str::to_owned);
    let rows = labels.zip(counts).map(|(label, &count)| Row {
        label,
        count,
        standard_error,
    });
    Ok(Table {
        name: name.to_owned(),
        rows: rows.collect(),
    })
}

fn form(what: &str) -> DriverError {
    DriverError::Form {
        line: None,
        what: what.to_owned(),
    }
}

#[derive(Debug, thiserror::Error)]
#[error("refused")]
struct Refused;
