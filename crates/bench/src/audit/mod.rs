//! `siegel-bench audit`: a full audit of a large log, beside bare signature verification.

mod child;
mod folder;
mod history;

use std::time::Instant;

use clap::Args;
use serde::Serialize;

use crate::failure::Failure;
use crate::report::Report;
use history::Made;

/// Audit a large log, beside bare signature verification.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  siegel-bench audit
  siegel-bench audit --entries 100000
  siegel-bench audit --json | jq .audit.ratio

ratio is the time of bare signature verification over that of the whole audit, both on all cores: 1
would be an audit that costs nothing besides.")]
pub struct AuditArgs {
    /// Entries of the log
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    #[arg(value_parser = clap::value_parser!(u64).range(1_000..=20_000_000))]
    entries: u64,

    /// Where the log is made, in a folder that is removed [default: the system's temporary folder]
    #[arg(long, value_name = "FOLDER")]
    folder: Option<std::path::PathBuf>,

    /// Audit this log and print one object: the part that is measured, in a process of its own
    #[arg(long, value_name = "FOLDER", hide = true)]
    child: Option<std::path::PathBuf>,
}

/// What is reported.
#[derive(Debug, Serialize)]
struct Figures {
    entries: u64,
    /// So many of them.
    receipts: u64,
    /// From opening the log to the verdict.
    seconds: f64,
    entries_per_s: f64,
    /// Of the process that audits.
    peak_rss_bytes: u64,
    /// Of all its threads.
    cpu_seconds: f64,
    /// The same number of signatures, verified and nothing else, on as many threads as there are cores.
    verify_seconds: f64,
    /// `verify_seconds / seconds`.
    ratio: f64,
    /// How long it took to make the log; nobody's cost.
    making_seconds: f64,
    log_bytes: u64,
}

/// What stands beside every result.
const BASELINE: &str = "bare = ring's P-256 verification of the same kind of signed statements, all \
    threads, scaled from a sample; it reads, parses, hashes and remembers nothing. The audit is a \
    process of its own, over a folder: peak memory is that process' high-water mark (VmHWM).";

/// Makes the log, has it audited, and verifies as many signatures beside.
pub fn audit(args: &AuditArgs) -> Result<Report, Failure> {
    if let Some(folder) = &args.child {
        return child::audit(folder).map(|done| done.report());
    }
    let failed = |why: &dyn std::fmt::Display| {
        Failure::failed(
            "audit",
            "making the log",
            why,
            "is there space and memory for it?",
        )
    };
    let base = args.folder.clone().unwrap_or_else(std::env::temp_dir);
    let temporary = tempfile::tempdir_in(base).map_err(|why| failed(&why))?;
    let begun = Instant::now();
    eprintln!("audit: making a log of {} entries", args.entries);
    let made = Made::log(temporary.path(), args.entries).map_err(|why| failed(&why))?;
    let making_seconds = begun.elapsed().as_secs_f64();
    eprintln!("audit: made in {making_seconds:.0} s, auditing");
    let done = child::spawn(temporary.path())?;
    if (done.entries, done.receipts) != (args.entries, args.entries - made.before) {
        let why = format!("{} entries were audited", done.entries);
        return Err(Failure::failed("audit", "the audit", why, "report this"));
    }
    let verify_seconds = made
        .verify_alone(args.entries)
        .map_err(|why| failed(&why))?;
    let figures = Figures {
        entries: args.entries,
        receipts: args.entries - made.before,
        seconds: done.seconds,
        entries_per_s: args.entries as f64 / done.seconds,
        peak_rss_bytes: done.peak_rss_bytes,
        cpu_seconds: done.cpu_seconds,
        verify_seconds,
        ratio: verify_seconds / done.seconds,
        making_seconds,
        log_bytes: made.bytes,
    };
    report(&figures)
}

fn report(figures: &Figures) -> Result<Report, Failure> {
    let rows = [
        ("entries", figures.entries.to_string()),
        ("seconds", format!("{:.1}", figures.seconds)),
        (
            "entries per second",
            format!("{:.0}", figures.entries_per_s),
        ),
        ("processor seconds", format!("{:.1}", figures.cpu_seconds)),
        (
            "peak memory, MiB",
            format!("{:.0}", figures.peak_rss_bytes as f64 / 1_048_576.0),
        ),
        (
            "bare verification, seconds",
            format!("{:.1}", figures.verify_seconds),
        ),
        ("ratio", format!("{:.2}", figures.ratio)),
    ];
    let json = serde_json::to_value(figures);
    Ok(Report {
        name: "audit",
        figures: json.map_err(|why| Failure::failed("json", "audit", why, "report this"))?,
        notes: vec![BASELINE.to_owned()],
        heads: vec!["audit".to_owned(), String::new()],
        rows: rows
            .map(|(name, value)| vec![name.to_owned(), value])
            .to_vec(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: a log that is not what an auditor expects, which would be measured as something else.
    #[tokio::test(flavor = "multi_thread")]
    async fn the_log_that_is_audited_is_good() {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path().to_owned();
        let made = tokio::task::spawn_blocking(move || Made::log(&at, 1_300).unwrap());
        let made = made.await.unwrap();
        let path = dir.path().to_owned();
        let done = tokio::task::spawn_blocking(move || child::audit(&path).unwrap());
        let done = done.await.unwrap();
        assert_eq!((done.entries, done.receipts), (1_300, 1_300 - made.before));
        assert!(done.peak_rss_bytes > 1 << 20 && done.seconds > 0.0);
        assert!(made.verify_alone(1_300).unwrap() > 0.0);
    }
}
