//! The transparency log: durable appends over HTTP, proofs, and how a large log opens.

mod appends;
mod open;
mod setting;

use std::path::PathBuf;

use clap::Args;

use crate::failure::Failure;
use crate::report::Report;

/// What to measure.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Appends: each client posts one signed entry after the other to a log in a folder; an entry counts when
its answer is there, after entry and checkpoint were synced. Beside it, the raw rate of write and fsync
of the same bytes in the same folder, one after the other.
Proofs: of entries that are in a log of --entries, one after the other: by a call, and over HTTP.
With --open: fills a log with --entries and opens it in a process of its own.")]
pub struct LogArgs {
    /// Clients that append at the same time
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=1024))]
    clients: u32,
    /// How long they append, in seconds
    #[arg(long, value_name = "S", default_value_t = 6, value_parser = clap::value_parser!(u64).range(1..=600))]
    seconds: u64,
    /// Entries in the log beforehand
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    entries: u32,
    /// A folder on the disk to measure; a new one is made in it, and removed
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Measure how the log opens: time and memory
    #[arg(long)]
    open: bool,
    /// Only open the log in this folder
    #[arg(long, hide = true, value_name = "DIR", conflicts_with_all = ["folder", "open"])]
    reopen: Option<PathBuf>,
}

/// Measures.
pub fn log(args: &LogArgs) -> Result<Report, Failure> {
    let measured = match (&args.reopen, args.open) {
        (Some(folder), _) => open::reopen(folder),
        (None, true) => open::open(args),
        (None, false) => appends::appends(args),
    };
    measured.map_err(|why| {
        let help = "look at the disk of --folder, and at the tests of siegel-rekor";
        Failure::failed("log", "log", why, help)
    })
}
