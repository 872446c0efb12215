//! `siegel policy check`: findings about a compiled policy.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use siegel_ident::{PolicyDigest, Timestamp};
use siegel_policy::{Finding, PolicyError, Severity, lint};

use super::{Outcome, files};
use crate::failure::Failure;

/// Judge a compiled policy: findings, and exit 3 on an error.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  siegel policy check policy.json
  siegel policy check policy.json --json --now 1800000000")]
pub struct CheckArgs {
    /// The compiled policy (canonical JSON)
    #[arg(value_name = "FILE.json")]
    pub file: PathBuf,
}

/// What is to be said about a policy.
#[derive(Debug, Serialize)]
pub struct Checked {
    schema: &'static str,
    /// SHA-256 of the bytes; absent if they are no policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<PolicyDigest>,
    /// True without an error finding.
    pub ok: bool,
    findings: Vec<Finding>,
}

/// Reads and judges. Bytes that are no policy are an error finding, not a failure: to say so is
/// what this command is for.
pub fn check(args: &CheckArgs, now: Timestamp) -> Result<Checked, Failure> {
    let (sha256, findings) = match files::read_policy(&args.file)? {
        Ok(policy) => {
            let mut findings = lint(&policy);
            findings.extend(window(&policy, now));
            findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
            (Some(policy.digest()), findings)
        }
        Err(error) => (None, vec![malformed(&error)]),
    };
    let ok = !Finding::any_error(&findings);
    Ok(Checked {
        schema: "siegel/policy-check/v1",
        sha256,
        ok,
        findings,
    })
}

fn malformed(error: &PolicyError) -> Finding {
    Finding::new(
        Severity::Error,
        "policy-malformed",
        error.invariant(),
        error.to_string(),
    )
}

fn window(policy: &siegel_policy::AccessPolicy, now: Timestamp) -> Option<Finding> {
    let refusal = policy.check_window(now).err()?;
    let (id, invariant) = ("not-in-use", refusal.invariant());
    Some(Finding::new(
        Severity::Warning,
        id,
        invariant,
        refusal.to_string(),
    ))
}

impl Outcome for Checked {
    fn text(&self) -> String {
        let verdict = if self.ok {
            "no error"
        } else {
            "not trustworthy"
        };
        match self.sha256 {
            Some(digest) => format!("policy {digest}: {verdict}\n"),
            None => format!("not a policy: {verdict}\n"),
        }
    }

    fn findings(&self) -> &[Finding] {
        &self.findings
    }
}
