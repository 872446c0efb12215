//! `siegel-bench train`: federated training by our own path, per client and round, with its parts.
//!
//! The workload is fedsim-v1, the one that the peers were measured on: 1,000 clients with 20
//! examples of 784 features and 10 classes, 100 clients a round, 50 rounds, one epoch in batches
//! of 10, clip norm 0.5.

mod data;
mod parts;
mod rounds;
mod uploads;
mod workload;

use clap::Args;
use serde::Serialize;
use siegel_seal::Suite;
use siegel_tensor::TensorError;

use crate::failure::Failure;
use crate::report::Report;
use crate::timing::microseconds;
use crate::train::workload::{TrainTrouble, Workload};

/// Federated training through open, leaf, clip, lattice, exact sum and noise.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  siegel-bench train
  siegel-bench train --json | jq .train.us_per_client_round
  siegel-bench train --hidden 64 --suite 2

One thread, fedsim-v1: every upload is opened once per run, its plaintext is kept, and what that
costs is spread over its uses. Time that the peer spends is not in the figures: run the peer beside
it for a ratio.")]
pub struct TrainArgs {
    /// Width of the hidden layer, 0 for logistic regression; may be given several times
    #[arg(long, value_name = "N", default_values_t = [0, 64])]
    hidden: Vec<u32>,

    /// Clients that upload
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    clients: u32,

    /// Clients drawn for a round, at most all of them
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    cohort: u32,

    /// Rounds of one run
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,

    /// KEM suite of the uploads: 1 (X25519) or 2 (X-Wing)
    #[arg(long, value_name = "N", default_value_t = 1)]
    suite: u16,
}

/// The figures of one model; all times in microseconds of processor time.
#[derive(Debug, Clone, Serialize)]
struct Figures {
    /// Width of the hidden layer.
    hidden: u32,
    /// Number of parameters.
    dimension: usize,
    /// The whole: (open × uploads + all of every round) per client and round.
    us_per_client_round: f64,
    /// One upload: its digest, and opening it. Once per upload and run.
    open_us: f64,
    /// What of `open_us` falls on one client-round.
    open_us_per_client_round: f64,
    /// The worker's part of one client-round: `gather_us` and `sum_us`.
    step_us: f64,
    /// Decoding the kept plaintext, and joining it to its unit.
    gather_us: f64,
    /// Training, clip, lattice, exact sum, and wiping what was gathered.
    sum_us: f64,
    /// Alone: decoding the record.
    decode_us: f64,
    /// Alone: local training.
    leaf_us: f64,
    /// Alone: clip and lattice.
    lattice_us: f64,
    /// Alone: adding integers.
    add_us: f64,
    /// The root's noise for all parameters.
    noise_us_per_round: f64,
    /// The root's adding of block sums and its model update.
    root_us_per_round: f64,
    /// Share of held-out examples that the initial model gets right.
    accuracy_before: f64,
    /// The same for the trained model.
    accuracy: f64,
}

/// Trains each model once.
pub fn train(args: &TrainArgs) -> Result<Report, Failure> {
    let suite = Suite::from_number(args.suite).ok_or_else(|| {
        let why = format!("no suite {}", args.suite);
        Failure::usage("bad-suite", "--suite", why, "1 (X25519) or 2 (X-Wing)")
    })?;
    if args.cohort > args.clients {
        let why = format!("{} of {} clients", args.cohort, args.clients);
        let help = "at most as many as there are clients";
        return Err(Failure::usage("bad-cohort", "--cohort", why, help));
    }
    eprintln!("train: {} clients seal their records", args.clients);
    let data = data::Data::new(args.clients as usize);
    let sealed = uploads::Uploads::seal(&data, suite).map_err(trouble)?;
    let mut figures = Vec::new();
    for &hidden in &args.hidden {
        eprintln!("train: hidden {hidden}, {} rounds", args.rounds);
        let workload = Workload::new(hidden, args.cohort, args.rounds).map_err(trouble)?;
        figures.push(measure(&workload, &data, &sealed).map_err(trouble)?);
    }
    report(args, &figures)
}

fn trouble(why: TrainTrouble) -> Failure {
    if matches!(why, TrainTrouble::Tensor(TensorError::Cpu)) {
        return Failure::machine("train", why);
    }
    let help = "the code under measurement is broken: run its tests";
    Failure::failed("train", "train", why, help)
}

fn measure(
    workload: &Workload,
    data: &data::Data,
    sealed: &uploads::Uploads,
) -> Result<Figures, TrainTrouble> {
    let (opened, open_s) = sealed.open()?;
    let run = rounds::run(workload, &opened)?;
    let parts = parts::alone(workload, &opened, &run.params)?;
    let uses = f64::from(workload.cohort) * f64::from(workload.rounds);
    let share = open_s / uses;
    let cohort = f64::from(workload.cohort);
    let per_client = |round_s: f64| microseconds(round_s / cohort);
    let initial = workload.initial();
    Ok(Figures {
        hidden: workload.hidden,
        dimension: workload.dimension(),
        us_per_client_round: microseconds(share) + per_client(run.whole_s),
        open_us: microseconds(open_s / opened.len() as f64),
        open_us_per_client_round: microseconds(share),
        step_us: per_client(run.gather_s + run.sum_s),
        gather_us: per_client(run.gather_s),
        sum_us: per_client(run.sum_s),
        decode_us: per_client(parts.decode_s),
        leaf_us: per_client(parts.leaf_s),
        lattice_us: per_client(parts.lattice_s),
        add_us: per_client(parts.add_s),
        noise_us_per_round: microseconds(run.noise_s),
        root_us_per_round: microseconds(run.root_s),
        accuracy_before: workload.accuracy(&initial, data)?,
        accuracy: workload.accuracy(&run.params, data)?,
    })
}

fn report(args: &TrainArgs, figures: &[Figures]) -> Result<Report, Failure> {
    let json = |why| Failure::failed("json", "train", why, "report this");
    // The first model's figures stand at the top, all models in `models`.
    let mut object = match figures.first() {
        Some(first) => serde_json::to_value(first).map_err(json)?,
        None => serde_json::Value::Null,
    };
    if let Some(object) = object.as_object_mut() {
        let models = serde_json::to_value(figures).map_err(json)?;
        object.insert("models".to_owned(), models);
    }
    let line = |what: &'static str, of: &dyn Fn(&Figures) -> String| {
        let mut cells = vec![what.to_owned()];
        cells.extend(figures.iter().map(of));
        cells
    };
    let us = |of: fn(&Figures) -> f64| move |figures: &Figures| format!("{:.1}", of(figures));
    let share = |of: fn(&Figures) -> f64| move |figures: &Figures| format!("{:.3}", of(figures));
    let rows = vec![
        line("parameters", &|f| f.dimension.to_string()),
        line("µs per client-round", &us(|f| f.us_per_client_round)),
        line("  open, its share", &us(|f| f.open_us_per_client_round)),
        line("  step of the worker", &us(|f| f.step_us)),
        line("    decode and gather", &us(|f| f.gather_us)),
        line("      decode alone", &us(|f| f.decode_us)),
        line("    train, clip, sum, wipe", &us(|f| f.sum_us)),
        line("      leaf alone", &us(|f| f.leaf_us)),
        line("      clip and lattice alone", &us(|f| f.lattice_us)),
        line("      exact sum alone", &us(|f| f.add_us)),
        line("µs per upload, open", &us(|f| f.open_us)),
        line("µs per round, noise", &us(|f| f.noise_us_per_round)),
        line(
            "µs per round, total and update",
            &us(|f| f.root_us_per_round),
        ),
        line("held-out accuracy before", &share(|f| f.accuracy_before)),
        line("held-out accuracy", &share(|f| f.accuracy)),
    ];
    let hidden = figures.iter().map(|f| format!("hidden {}", f.hidden));
    Ok(Report {
        name: "train",
        figures: object,
        notes: notes(args),
        heads: std::iter::once("fedsim-v1".to_owned())
            .chain(hidden)
            .collect(),
        rows,
    })
}

fn notes(args: &TrainArgs) -> Vec<String> {
    let TrainArgs {
        clients,
        cohort,
        rounds,
        suite,
        ..
    } = args;
    let uses = f64::from(*cohort) * f64::from(*rounds) / f64::from(*clients);
    vec![
        format!(
            "fedsim-v1: {clients} clients x 20 examples x 784 features, 10 classes, {cohort} \
             clients a round, {rounds} rounds, 1 epoch, batch 10, rate 0.05, clip 0.5. One thread; \
             processor time; medians over rounds."
        ),
        format!(
            "Every upload (suite {suite}) is hashed and opened once per run and its plaintext kept: \
             {clients} openings over {} client-rounds, {uses:.1} uses each. Sealing, storage, sessions \
             and the sealing of block sums are not in it.",
            u64::from(*cohort) * u64::from(*rounds)
        ),
        "\"alone\" is measured apart on the same data after the run; what is missing to the line above \
         is copying, keyed hashing and wiping."
            .to_owned(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_that_cannot_is_exit_4() {
        assert_eq!(trouble(TensorError::Cpu.into()).exit, 4);
        assert_eq!(trouble(TensorError::Rate.into()).exit, 1);
    }
}
