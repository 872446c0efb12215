//! Measures one hot path at a time, beside the raw library or the peer, in the same run.
//!
//! One module per measurement. Each returns one report: a table for people, and with `--json` one
//! object on stdout. See `OVERVIEW.md`.

// In a binary nothing is reachable from outside; `pub` here says what a module offers its siblings.
#![allow(unreachable_pub)]

mod attest;
mod audit;
mod failure;
mod log;
mod machine;
mod report;
mod seal;
mod timing;
mod train;

use clap::{Parser, Subcommand};

use crate::failure::Failure;
use crate::machine::Machine;
use crate::report::Report;

/// Measure one hot path of Siegel beside the raw library or the peer, in the same run.
#[derive(Debug, Parser)]
#[command(
    name = "siegel-bench",
    version,
    propagate_version = true,
    max_term_width = 100,
    after_help = "\
Examples:
  cargo run --release -p siegel-bench -- seal
  cargo run --release -p siegel-bench -- seal --json --seconds 20
  cargo run --release -p siegel-bench -- log
  cargo run --release -p siegel-bench -- log --open --entries 1000000 --json
  cargo run --release -p siegel-bench -- train
  cargo run --release -p siegel-bench -- audit
  cargo run --release -p siegel-bench -- attest --json

Exit codes: 0 good, 1 failed, 2 wrong use, 4 this machine cannot."
)]
struct Cli {
    /// One JSON object on stdout; progress goes to stderr
    #[arg(long, global = true)]
    json: bool,

    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Seal and open uploads, beside raw hpke and ring
    Seal(seal::SealArgs),
    /// Append to a transparency log, and prove, beside raw fsync
    Log(log::LogArgs),
    /// Audit a large log, beside bare signature verification
    Audit(audit::AuditArgs),
    /// Appraise real SNP and TDX evidence, beside bare signature checks
    Attest(attest::AttestArgs),
    /// Train a model over many clients, per client and round
    Train(train::TrainArgs),
}

fn main() -> std::process::ExitCode {
    let cli = Cli::parse();
    let machine = Machine::look();
    for warning in machine.warnings() {
        eprintln!("WARNING: {warning}");
    }
    match run(&cli.what).and_then(|report| report.print(&machine, cli.json)) {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(failure) => {
            failure.print(cli.json);
            std::process::ExitCode::from(failure.exit)
        }
    }
}

fn run(what: &What) -> Result<Report, Failure> {
    match what {
        What::Seal(args) => seal::seal(args),
        What::Log(args) => log::log(args),
        What::Audit(args) => audit::audit(args),
        What::Attest(args) => attest::attest(args),
        What::Train(args) => train::train(args),
    }
}
