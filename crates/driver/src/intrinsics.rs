//! The functions that a driver has besides Starlark's own.

// Starlark's named arguments are Rust's positional ones.
#![allow(clippy::too_many_arguments)]

use siegel_ident::NanoRho;
use siegel_program::{
    Alphabet, ClippedSumSpec, ClippedSumTerms, Histogram, HistogramSpec, Intrinsic, Kind, Released,
    Row, Table, Tensors,
};
use siegel_tensor::{Classifier, Model, NextChar};
use starlark::environment::{Globals, GlobalsBuilder};
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::float::UnpackFloat;
use starlark::values::none::NoneType;
use starlark::values::tuple::UnpackTuple;
use starlark::values::{UnpackValue, Value};

use crate::DriverError;
use crate::machine::{Machine, outside_step};
use crate::values::{Clients, ModelValue, NoisyCounts, ReleaseValue, TensorValue};

/// The DP intrinsics: the only functions that take client values (I5).
pub(crate) const DP_INTRINSICS: [&str; 2] = ["dp_histogram", "dp_clipped_sum"];
/// Names that a driver may not bind to something else.
pub(crate) const RESERVED: [&str; 9] = [
    "dp_histogram",
    "dp_clipped_sum",
    "next_char",
    "classifier",
    "initial",
    "zeros",
    "table",
    "tensors",
    "print",
];

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
            check_clients(clients)?;
            let rho = rho_of(machine, share)?;
            let most = u32::try_from(max_per_user).unwrap_or(0);
            let spec = HistogramSpec::new(machine.bundle, column, vocabulary, most, rho)?;
            let counts = machine.carry_out(&Intrinsic::Histogram(spec.clone()), &[])?;
            Ok(NoisyCounts::new(&machine.wire, spec, counts))
        })
    }

    /// The noisy sum of the users' model updates: each trains `model` from `at` on its own examples,
    /// and its update is clipped to L2 norm `clip`. In the parameters' own units.
    ///
    /// `scale` is the sensitivity in lattice units; `share` the share of the run's rho that it costs.
    fn dp_clipped_sum<'v>(
        #[starlark(require = pos)] clients: Value<'v>,
        #[starlark(require = named)] model: Value<'v>,
        #[starlark(require = named)] at: Value<'v>,
        #[starlark(require = named)] column: &str,
        #[starlark(require = named)] max_per_user: i32,
        #[starlark(require = named)] epochs: i32,
        #[starlark(require = named)] batch: i32,
        #[starlark(require = named)] rate: Value<'v>,
        #[starlark(require = named)] clip: Value<'v>,
        #[starlark(require = named)] scale: i32,
        #[starlark(require = named)] share: Value<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<TensorValue> {
        let machine = machine(eval)?;
        settle(machine, || {
            check_clients(clients)?;
            let (model, alphabet) = model_of(model)?;
            let at = tensor_of(at, &model, "dp_clipped_sum: at")?;
            let count = |value: i32| u32::try_from(value).unwrap_or(0);
            let terms = ClippedSumTerms {
                column,
                alphabet,
                model,
                max_items_per_user: count(max_per_user),
                epochs: count(epochs),
                batch: count(batch),
                rate_micro: micro(rate, "rate")?,
                clip_micro: micro(clip, "clip")?,
                scale: count(scale).into(),
                rho: rho_of(machine, share)?,
            };
            let spec = ClippedSumSpec::new(machine.bundle, terms)?;
            let unit = spec.unit()?;
            let params: Vec<f32> = at.values().iter().map(|x| *x as f32).collect();
            let noisy = machine.carry_out(&Intrinsic::ClippedSum(spec), &params)?;
            let values = noisy.iter().map(|q| *q as f64 * unit).collect();
            Ok(TensorValue::new(&machine.wire, values))
        })
    }

    /// A model that predicts the next character of a text (`siegel_tensor::NextChar`). The alphabet
    /// is an asset: one line of characters.
    fn next_char<'v>(
        #[starlark(require = named)] alphabet: &str,
        #[starlark(require = named)] context: i32,
        #[starlark(require = named)] embedding: i32,
        #[starlark(require = named)] hidden: i32,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<ModelValue> {
        let machine = machine(eval)?;
        settle(machine, || {
            let symbols = Alphabet::parse(machine.bundle.asset(alphabet)?)?.symbols();
            let count = |value: i32| u32::try_from(value).unwrap_or(0);
            let model = Model::NextChar(NextChar {
                alphabet: symbols,
                context: count(context),
                embedding: count(embedding),
                hidden: count(hidden),
            });
            checked(model, Some(alphabet.to_owned()))
        })
    }

    /// A model that predicts the class of a row of numbers (`siegel_tensor::Classifier`).
    fn classifier<'v>(
        #[starlark(require = named)] features: i32,
        #[starlark(require = named)] hidden: i32,
        #[starlark(require = named)] classes: i32,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<ModelValue> {
        let machine = machine(eval)?;
        settle(machine, || {
            // Negative: out of every bound.
            let count = |value: i32| u32::try_from(value).unwrap_or(u32::MAX);
            let model = Model::Classifier(Classifier {
                features: count(features),
                hidden: count(hidden),
                classes: count(classes),
            });
            checked(model, None)
        })
    }

    /// The model's published starting parameters: a function of `seed`.
    fn initial<'v>(
        #[starlark(require = pos)] model: Value<'v>,
        #[starlark(require = named)] seed: i32,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<TensorValue> {
        let machine = machine(eval)?;
        settle(machine, || {
            let seed = u64::try_from(seed).map_err(|_| form("initial: seed is negative"))?;
            let values = model_of(model)?.0.initial(seed);
            let values = values.into_iter().map(f64::from).collect();
            Ok(TensorValue::new(&machine.wire, values))
        })
    }

    /// Zero for each parameter of a model.
    fn zeros<'v>(
        #[starlark(require = pos)] model: Value<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<TensorValue> {
        let machine = machine(eval)?;
        settle(machine, || {
            let values = vec![0.0; model_of(model)?.0.dimension()];
            Ok(TensorValue::new(&machine.wire, values))
        })
    }

    /// A model with its parameters, for `finish` or `snapshot` to return: single precision.
    fn tensors<'v>(
        #[starlark(require = pos)] name: &str,
        #[starlark(require = pos)] model: Value<'v>,
        #[starlark(require = pos)] params: Value<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<ReleaseValue> {
        let machine = machine(eval)?;
        settle(machine, || {
            let (model, _) = model_of(model)?;
            let params = tensor_of(params, &model, "tensors: the third argument")?;
            let params: Vec<f32> = params.values().iter().map(|x| *x as f32).collect();
            let tensors = Tensors::of(name, &model, &params)?;
            Ok(released(machine, Released::Tensors(tensors)))
        })
    }

    /// A table of noisy counts with their labels and standard errors, for `finish` to return.
    fn table<'v>(
        #[starlark(require = pos)] name: &str,
        #[starlark(require = pos)] counts: Value<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<ReleaseValue> {
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
            Ok(released(machine, Released::Table(table)))
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
    let standard_error = Intrinsic::Histogram(spec.clone()).standard_error()?;
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

fn check_clients(clients: Value<'_>) -> Result<(), DriverError> {
    match Clients::from_value(clients) {
        Some(_) => Ok(()),
        None => Err(form(
            "a DP intrinsic's first argument must be the clients of the step",
        )),
    }
}

fn checked(model: Model, alphabet: Option<String>) -> Result<ModelValue, DriverError> {
    model.check().map_err(|e| form(&e.to_string()))?;
    Ok(ModelValue {
        model: Some(model),
        alphabet,
    })
}

fn model_of<'v>(value: Value<'v>) -> Result<(Model, Option<&'v str>), DriverError> {
    let found = ModelValue::from_value(value);
    let found = found.and_then(|held| Some((held.model?, held.alphabet.as_deref())));
    found.ok_or_else(|| form("expected a model: next_char(…) or classifier(…)"))
}

/// A tensor with one number per parameter of the model.
fn tensor_of<'v>(
    value: Value<'v>,
    model: &Model,
    what: &str,
) -> Result<&'v TensorValue, DriverError> {
    let found = TensorValue::from_value(value);
    let found = found.filter(|tensor| tensor.values().len() == model.dimension());
    found.ok_or_else(|| form(&format!("{what} must be a tensor of the model's length")))
}

/// A positive number in millionths, rounded to the nearest.
fn micro(value: Value<'_>, what: &str) -> Result<u64, DriverError> {
    match UnpackFloat::unpack_value(value).ok().flatten() {
        Some(UnpackFloat(number)) if number > 0.0 && number <= 1e9 => {
            Ok((number * 1e6).round() as u64)
        }
        _ => Err(form(&format!("{what}: expected a number above 0"))),
    }
}

fn released(machine: &Machine<'_>, released: Released) -> ReleaseValue {
    ReleaseValue {
        wire: machine.wire.clone(),
        released: Some(released.into()),
    }
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
