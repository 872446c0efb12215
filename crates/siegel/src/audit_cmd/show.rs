//! A report for programs, and for people.

use std::fmt::Write as _;

use comfy_table::{Cell, ContentArrangement, Table, presets};
use siegel_audit::{AuditReport, EndorsedReport, LogReport};
use siegel_policy::{Finding, Severity, Utc};

use crate::failure::Failure;

/// Width of the table of findings where the terminal does not say one.
const WIDTH: u16 = 110;

/// One object.
pub(super) fn json(report: &AuditReport) -> Result<String, Failure> {
    serde_json::to_string_pretty(report).map_err(|why| Failure::failed("json", "audit", why, ""))
}

/// All of it in words; the last line is the verdict.
pub(super) fn text(report: &AuditReport) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write(&mut out, report);
    out
}

fn write(out: &mut String, report: &AuditReport) -> std::fmt::Result {
    writeln!(out, "log {}: {}", report.log.origin, size(&report.log))?;
    for policy in &report.policies {
        let registered = match policy.registered {
            true => "registered",
            false => "not registered",
        };
        writeln!(
            out,
            "policy {} {:?}: pipeline {}, ε = {}, δ = {}, {registered}",
            policy.sha256, policy.name, policy.pipeline, policy.epsilon, policy.delta,
        )?;
        for thing in &policy.endorsed {
            writeln!(out, "{}", endorsed(thing))?;
        }
    }
    for run in &report.runs {
        let (run, blobs, cost) = (run.run, run.blob_count, run.cost.rho_nano);
        writeln!(out, "run {run}: {blobs} uploads, ρ = {cost}")?;
    }
    for budget in &report.budgets {
        let (spent, total) = (budget.spent.rho_nano, budget.total.rho_nano);
        writeln!(
            out,
            "budget of {}: ρ {spent} of {total} spent",
            budget.pipeline
        )?;
    }
    out.push_str(&findings(&report.findings));
    for evidence in &report.evidence {
        writeln!(out, "evidence {}: {}", evidence.name(), evidence.message)?;
    }
    write!(out, "verdict: {}", verdict(report.ok))
}

/// Size and, where it is known, what it was before.
pub(super) fn size(log: &LogReport) -> String {
    match (log.size, log.known) {
        (None, _) => "no valid checkpoint".to_owned(),
        (Some(now), None) => format!("{now} entries"),
        (Some(now), Some(before)) => format!("{now} entries ({before} at the last audit)"),
    }
}

pub(super) fn verdict(ok: bool) -> &'static str {
    match ok {
        true => "good",
        false => "not trustworthy",
    }
}

/// A table, worst first; nothing if there are none.
pub(super) fn findings(findings: &[Finding]) -> String {
    if findings.is_empty() {
        return String::new();
    }
    let mut table = Table::new();
    table
        .load_preset(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_header(["", "finding", "", "what"]);
    if table.width().is_none() {
        table.set_width(WIDTH);
    }
    for severity in [Severity::Error, Severity::Warning, Severity::Info] {
        for finding in findings.iter().filter(|f| f.severity == severity) {
            table.add_row([
                Cell::new(severity),
                Cell::new(&finding.id),
                Cell::new(finding.invariant.as_deref().unwrap_or("")),
                Cell::new(printable(&finding.message)),
            ]);
        }
    }
    let mut text = String::from("\n");
    for line in table.to_string().lines() {
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text.push('\n');
    text
}

/// Words from a log, without what would move a terminal's cursor (I14).
pub(super) fn printable(message: &str) -> String {
    let plain = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    message.chars().map(plain).collect()
}

/// Who vouches for one thing, until when, and what it was built from.
fn endorsed(thing: &EndorsedReport) -> String {
    let mut line = format!(
        "  {} {} endorsed by {} until {}",
        thing.role,
        thing.digest,
        thing.endorser,
        Utc(thing.until)
    );
    if let Some(commit) = &thing.commit {
        line.push_str(&format!(", commit {commit}"));
    }
    if let Some(recipe) = &thing.recipe {
        line.push_str(&format!(", recipe {recipe}"));
    }
    line
}
