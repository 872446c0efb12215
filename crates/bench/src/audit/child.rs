//! The audit that is measured, in a process of its own.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use siegel_audit::testing::NOW;
use siegel_audit::{AuditAnchors, audit as full_audit};
use siegel_rekor::LogReader;

use super::history::ANCHORS;
use crate::failure::Failure;
use crate::report::Report;

/// What the child says.
#[derive(Debug, Serialize, Deserialize)]
pub struct Done {
    pub entries: u64,
    pub receipts: u64,
    pub seconds: f64,
    pub cpu_seconds: f64,
    pub peak_rss_bytes: u64,
}

impl Done {
    /// As the report that the child prints.
    pub fn report(&self) -> Report {
        Report {
            name: "child",
            figures: serde_json::to_value(self).unwrap_or_default(),
            notes: Vec::new(),
            heads: Vec::new(),
            rows: Vec::new(),
        }
    }
}

fn failed(why: impl ToString) -> Failure {
    Failure::failed(
        "audit",
        "the audit",
        why,
        "run it again with --entries 1000",
    )
}

/// Audits the log in this process; anything but a good verdict is a failure.
pub fn audit(folder: &Path) -> Result<Done, Failure> {
    let anchors = std::fs::read(folder.join(ANCHORS)).map_err(failed)?;
    let anchors: AuditAnchors = serde_json::from_slice(&anchors).map_err(failed)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(failed)?;
    let begun = Instant::now();
    let log = LogReader::new(&folder.display().to_string()).map_err(failed)?;
    let report = runtime
        .block_on(full_audit(&log, &anchors, NOW))
        .map_err(failed)?;
    let seconds = begun.elapsed().as_secs_f64();
    if !report.ok {
        let first = report.findings.first().map(ToString::to_string);
        return Err(failed(format!(
            "not trustworthy: {}",
            first.unwrap_or_default()
        )));
    }
    let entries = report.log.size.unwrap_or(0);
    Ok(Done {
        entries,
        receipts: report.entries.receipts,
        seconds,
        cpu_seconds: cpu_seconds(),
        peak_rss_bytes: peak_rss_bytes()?,
    })
}

/// Runs [`audit`] in a new process.
pub fn spawn(folder: &Path) -> Result<Done, Failure> {
    let this = std::env::current_exe().map_err(failed)?;
    let output = Command::new(this)
        .args(["audit", "--json", "--child"])
        .arg(folder)
        .output()
        .map_err(failed)?;
    let said: serde_json::Value = serde_json::from_slice(&output.stdout).map_err(failed)?;
    let done = said.get("child").cloned();
    let done = done.ok_or_else(|| failed(&said))?;
    serde_json::from_value(done).map_err(failed)
}

fn peak_rss_bytes() -> Result<u64, Failure> {
    let status = std::fs::read_to_string("/proc/self/status").map_err(failed)?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kib.map(|kib| kib * 1024)
        .ok_or_else(|| failed("/proc/self/status has no VmHWM"))
}

/// Processor time of all threads of this process.
fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
