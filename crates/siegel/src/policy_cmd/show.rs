//! `siegel policy show`: a policy in plain words.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use siegel_ident::PolicyDigest;
use siegel_policy::{AccessPolicy, Finding, explain, lint};

use super::{Outcome, files};
use crate::failure::Failure;

/// Explain a compiled policy in plain words.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  siegel policy show policy.json
  siegel policy show policy.json --json")]
pub struct ShowArgs {
    /// The compiled policy (canonical JSON)
    #[arg(value_name = "FILE.json")]
    pub file: PathBuf,
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
    findings: Vec<Finding>,
}

/// Reads and explains.
pub fn show(args: &ShowArgs) -> Result<Shown, Failure> {
    let policy = files::good_policy(&args.file)?;
    Ok(Shown {
        schema: "siegel/policy-show/v1",
        sha256: policy.digest(),
        explanation: explain(&policy),
        policy: policy.rules().clone(),
        findings: lint(&policy),
    })
}

impl Outcome for Shown {
    fn text(&self) -> String {
        format!("{}\nsha256 {}\n\n", self.explanation, self.sha256)
    }

    fn findings(&self) -> &[Finding] {
        &self.findings
    }
}
