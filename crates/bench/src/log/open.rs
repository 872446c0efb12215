//! How a large log opens: without its entries, in memory that follows from its size.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use serde_json::Value;

use super::LogArgs;
use super::setting::{LogTrouble, Scratch, fill, key, open as open_log};
use crate::report::Report;

/// Fills a log and opens it in a process of its own, whose memory is then the log's.
pub fn open(args: &LogArgs) -> Result<Report, LogTrouble> {
    let scratch = Scratch::new(args.folder.as_deref())?;
    let folder = scratch.path().join("log");
    eprintln!("log: filling with {} entries", args.entries);
    let start = Instant::now();
    let runtime = tokio::runtime::Runtime::new()?;
    runtime.block_on(async { fill(&open_log(&folder)?, key()?, args.entries).await })?;
    drop(runtime);
    let fill_s = start.elapsed().as_secs_f64();
    let child = Command::new(std::env::current_exe()?)
        .args(["log", "--json", "--reopen"])
        .arg(&folder)
        .output()?;
    let printed: Option<Value> = serde_json::from_slice(&child.stdout).ok();
    let figures = printed.and_then(|mut printed| printed.get_mut("log").map(Value::take));
    let Some(Value::Object(mut figures)) = figures else {
        let said = String::from_utf8_lossy(&child.stdout);
        return Err(LogTrouble::Wrong(format!("opening it failed: {said}")));
    };
    figures.insert("fill_s".to_owned(), fill_s.into());
    Ok(report(Value::Object(figures)))
}

/// Opens the log in this folder.
pub fn reopen(folder: &Path) -> Result<Report, LogTrouble> {
    let before = resident_bytes().unwrap_or(0);
    let start = Instant::now();
    let log = open_log(folder)?;
    let open_s = start.elapsed().as_secs_f64();
    let (peak, now) = (peak_bytes().unwrap_or(0), resident_bytes().unwrap_or(0));
    let entries = log.size();
    let per_entry = now.saturating_sub(before) as f64 / entries.max(1) as f64;
    Ok(report(serde_json::json!({
        "entries": entries,
        "open_s": open_s,
        "bytes_per_entry": per_entry,
        "peak_bytes": peak,
    })))
}

fn resident_bytes() -> Option<u64> {
    status("VmRSS:")
}

fn peak_bytes() -> Option<u64> {
    status("VmHWM:")
}

fn status(name: &str) -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

fn report(figures: Value) -> Report {
    let cell = |name: &str| match figures.get(name).and_then(Value::as_f64) {
        Some(value) => format!("{value:.3}"),
        None => "-".to_owned(),
    };
    let rows = [
        "entries",
        "fill_s",
        "open_s",
        "bytes_per_entry",
        "peak_bytes",
    ];
    Report {
        name: "log",
        rows: rows
            .iter()
            .map(|name| vec![(*name).to_owned(), cell(name)])
            .collect(),
        notes: vec![
            "opened in a process of its own: checkpoint and hash tiles read, root compared, index of entries made; \
             the entries themselves are not read."
                .to_owned(),
        ],
        heads: ["", ""].map(str::to_owned).to_vec(),
        figures,
    }
}
