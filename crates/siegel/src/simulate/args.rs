//! The options of `siegel simulate`.

use std::path::PathBuf;

use clap::Args;

/// Simulate federated uploads through the real path, all on this machine.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  siegel simulate
  siegel simulate --data reports.jsonl --json
  siegel simulate --clients 200 --seed 7 --workers 4 --out runs/seven

A JSONL line is {\"client\": \"alice\", \"text\": \"some words\"}; lines of one client join.
Everything is an INSECURE SIMULATION: the launcher stands in for the TEE.")]
pub struct SimulateArgs {
    /// A shipped program by name, or a program bundle or .star file
    #[arg(long, default_value = "word-histogram", value_name = "NAME|FILE")]
    pub program: String,

    /// A policy in TOML instead of the program's own
    #[arg(long, value_name = "FILE")]
    pub policy: Option<PathBuf>,

    /// `synthetic`, or a JSONL file
    #[arg(long, default_value = "synthetic", value_name = "synthetic|FILE.jsonl")]
    pub data: String,

    /// Synthetic: how many (default 1,000). With a file: at most this many
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub clients: Option<u64>,

    /// Rounds of the program (word-histogram: 1)
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub rounds: u64,

    /// Worker processes
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=64))]
    pub workers: u64,

    /// Nodes of the key service (only 3 for now)
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u64).range(3..=3))]
    pub kms: u64,

    /// Fix all randomness. The privacy statement is then void, and outputs say so
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,

    /// Where the run's files go (default: siegel-runs/<run id>)
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Run exactly the node binaries in this folder
    #[arg(long, value_name = "DIR", conflicts_with = "in_process")]
    pub binaries: Option<PathBuf>,

    /// All parts in this process, over pipes in memory
    #[arg(long)]
    pub in_process: bool,
}
