//! `siegel policy show`: a policy in plain words, and who vouches for what it lets in.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use siegel_ident::{PolicyDigest, Timestamp};
use siegel_policy::{AccessPolicy, Finding, explain, lint};

use super::endorsed::{self, Endorsed, Source};
use super::{Outcome, files};
use crate::failure::Failure;

/// Explain a compiled policy in plain words, and who has endorsed what until when.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  siegel policy show policy.json
  siegel policy show siegel-runs/1f0c9a2b7d3e4f50/policy.json --json
  siegel policy show policy.json --log http://127.0.0.1:8090 --anchors anchors.json

Endorsements are read from the log. Without --log and --anchors, `log` and `anchors.json` beside the
file are taken if both are there, as in the folder of a simulation.")]
pub struct ShowArgs {
    /// The compiled policy (canonical JSON)
    #[arg(value_name = "FILE.json")]
    pub file: PathBuf,

    /// The log that has the endorsements: a URL, or a log's folder
    #[arg(long, value_name = "URL|FOLDER")]
    pub log: Option<String>,

    /// Your trust anchors for that log (JSON), as for `siegel audit`
    #[arg(long, value_name = "FILE")]
    pub anchors: Option<PathBuf>,
}

/// A policy and its explanation.
#[derive(Debug, Serialize)]
pub struct Shown {
    schema: &'static str,
    /// SHA-256 of the bytes.
    pub sha256: PolicyDigest,
    /// In plain words.
    pub explanation: String,
    policy: AccessPolicy,
    /// Everything that the policy lets in, with its endorsements; `null` if they were not looked up.
    pub endorsed: Option<Vec<Endorsed>>,
    findings: Vec<Finding>,
}

/// Reads and explains; `now` is what endorsements are held against.
pub async fn show(args: &ShowArgs, now: Timestamp) -> Result<Shown, Failure> {
    let policy = files::good_policy(&args.file)?;
    let mut findings = lint(&policy);
    let mut endorsed = None;
    if let Some(source) = Source::of(args)? {
        let (found, more) = endorsed::look_up(&policy, &source, now).await?;
        endorsed = Some(found);
        findings.extend(more);
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    }
    Ok(Shown {
        schema: "siegel/policy-show/v1",
        sha256: policy.digest(),
        explanation: explain(&policy),
        policy: policy.rules().clone(),
        endorsed,
        findings,
    })
}

impl Outcome for Shown {
    fn text(&self) -> String {
        let endorsed = endorsed::text(self.endorsed.as_deref());
        let (explanation, sha256) = (&self.explanation, self.sha256);
        format!("{explanation}\n{endorsed}\nsha256 {sha256}\n\n")
    }

    fn findings(&self) -> &[Finding] {
        &self.findings
    }
}
