//! `siegel audit`: replay a log into findings and one verdict.

use std::path::PathBuf;

use clap::Args;
use siegel_audit::{AuditAnchors, AuditReport, Verdict};
use siegel_rekor::LogReader;

use crate::failure::{Exit, Failure};
use crate::say::say_line;

/// Replay a log and its receipts into findings and one verdict.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  siegel audit siegel-runs/1f0c9a2b7d3e4f50/log --anchors siegel-runs/1f0c9a2b7d3e4f50/anchors.json
  siegel audit http://127.0.0.1:8090 --anchors anchors.json --json

The anchors are yours: the log's name and key, and what you know of it from elsewhere. `simulate`
writes those of its own log to anchors.json; an auditor of a real log gets them another way.
Exit 3: verified, and not trustworthy.")]
pub struct AuditArgs {
    /// The log: a URL, or a log's folder
    #[arg(value_name = "URL|FOLDER")]
    pub log: String,

    /// Your trust anchors (JSON)
    #[arg(long, value_name = "FILE")]
    pub anchors: PathBuf,
}

/// Largest anchors file, in bytes.
const ANCHORS_MAX: usize = 1 << 20;

/// Runs the audit and prints its report.
pub async fn audit(args: AuditArgs, json: bool) -> Result<Exit, Failure> {
    let anchors = read_anchors(&args.anchors)?;
    let at = args.log.as_str();
    let reader = LogReader::new(at)
        .map_err(|why| Failure::usage("no-such-log", at, why, "name a log's URL or its folder"))?;
    let report = siegel_audit::audit(&reader, &anchors)
        .await
        .map_err(|why| {
            Failure::failed("audit", at, why, "is the log there, and is it this one?")
        })?;
    print(&report, json)?;
    Ok(match report.verdict {
        Verdict::Good => Exit::Ok,
        Verdict::NotTrustworthy => Exit::NotTrustworthy,
    })
}

fn read_anchors(path: &std::path::Path) -> Result<AuditAnchors, Failure> {
    let at = path.display().to_string();
    let help = "see `siegel audit --help`";
    let bytes = std::fs::read(path)
        .map_err(|why| Failure::usage("cannot-read", &at, format!("anchors: {why}"), help))?;
    if bytes.len() > ANCHORS_MAX {
        return Err(Failure::usage(
            "bad-anchors",
            &at,
            "the anchors file is over 1 MiB",
            help,
        ));
    }
    serde_json::from_slice(&bytes)
        .map_err(|why| Failure::usage("bad-anchors", &at, format!("anchors: {why}"), help))
}

fn print(report: &AuditReport, json: bool) -> Result<(), Failure> {
    if json {
        let text = serde_json::to_string_pretty(report)
            .map_err(|why| Failure::failed("json", "audit", why, ""))?;
        return say_line(&text);
    }
    let size = report
        .log
        .size
        .map_or("no valid checkpoint".to_owned(), |n| format!("{n} entries"));
    let mut lines = vec![format!("log {}: {size}", report.log.origin)];
    for policy in &report.policies {
        lines.push(format!(
            "policy {} {:?}: pipeline {}, ε = {}, δ = {}, {}",
            policy.sha256,
            policy.name,
            policy.pipeline,
            policy.epsilon,
            policy.delta,
            if policy.registered {
                "registered"
            } else {
                "not registered"
            }
        ));
    }
    for run in &report.runs {
        lines.push(format!(
            "run {}: {} uploads, ρ = {}",
            run.run, run.blob_count, run.cost.rho_nano
        ));
    }
    for budget in &report.budgets {
        lines.push(format!(
            "budget of {}: ρ {} of {} spent",
            budget.pipeline, budget.spent.rho_nano, budget.total.rho_nano
        ));
    }
    for finding in &report.findings {
        lines.push(finding.to_string());
    }
    let verdict = if report.ok { "good" } else { "not trustworthy" };
    lines.push(format!("verdict: {verdict}"));
    say_line(&lines.join("\n"))
}
