//! `siegel audit`: replay a log into findings and one verdict.

use std::path::{Path, PathBuf};

use clap::Args;
use siegel_audit::{AuditAnchors, AuditReport, EndorsedReport, Verdict};
use siegel_ident::Timestamp;
use siegel_policy::Utc;
use siegel_rekor::LogReader;

use crate::failure::{Exit, Failure};
use crate::say::say_line;

/// Replay a log and its receipts into findings and one verdict.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  siegel audit siegel-runs/1f0c9a2b7d3e4f50
  siegel audit siegel-runs/1f0c9a2b7d3e4f50/log --anchors anchors.json
  siegel audit http://127.0.0.1:8090 --anchors anchors.json --json

The anchors are yours: the log's name and key, and what you know of it from elsewhere. `simulate`
writes those of its own log to anchors.json; an auditor of a real log gets them another way.
Exit 2: there is no such log. Exit 3: verified, and not trustworthy; also a log that is damaged.")]
pub struct AuditArgs {
    /// The log: a URL, a log's folder, or the folder of a run
    #[arg(value_name = "URL|FOLDER")]
    pub log: String,

    /// Your trust anchors (JSON) [default: anchors.json in the folder of a run]
    #[arg(long, value_name = "FILE")]
    pub anchors: Option<PathBuf>,
}

/// Largest anchors file, in bytes.
const ANCHORS_MAX: usize = 1 << 20;

/// Runs the audit and prints its report.
pub async fn audit(args: AuditArgs, json: bool, now: Timestamp) -> Result<Exit, Failure> {
    let (log, anchors) = places(args)?;
    let anchors = read_anchors(&anchors)?;
    let at = log.as_str();
    let reader = LogReader::new(at)
        .map_err(|why| Failure::usage("no-such-log", at, why, "name a log's URL or its folder"))?;
    let report = siegel_audit::audit(&reader, &anchors, now)
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

/// Where log and anchors are: the folder of a run has both.
fn places(args: AuditArgs) -> Result<(String, PathBuf), Failure> {
    let run = Path::new(&args.log);
    let is_run = !run.join("checkpoint").exists() && run.join("log").is_dir();
    let anchors = match (args.anchors, is_run) {
        (Some(anchors), _) => anchors,
        (None, true) => run.join("anchors.json"),
        (None, false) if !args.log.contains("://") && !run.exists() => {
            let message = "there is no such folder";
            let help = "name a log's URL or folder, or the folder of a run";
            return Err(Failure::usage("no-such-log", &args.log, message, help));
        }
        (None, false) => {
            return Err(Failure::usage(
                "no-anchors",
                &args.log,
                "only the folder of a run has anchors of its own",
                "give yours: --anchors FILE",
            ));
        }
    };
    let log = match is_run {
        true => run.join("log").display().to_string(),
        false => args.log,
    };
    Ok((log, anchors))
}

/// The trust anchors in a file.
pub fn read_anchors(path: &Path) -> Result<AuditAnchors, Failure> {
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
        lines.extend(policy.endorsed.iter().map(endorsed));
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
