//! Runs, newest first.

use siegel_audit::{AuditReport, RunReport, RunState};
use siegel_policy::Utc;

use crate::policies::anchor;
use crate::text::{clean, short};

/// More runs than this are only counted.
const MAX: usize = 500;
/// More releases of one run than this are only counted.
const MAX_RELEASES: usize = 3;

pub(crate) struct RunView {
    pub(crate) id: String,
    pub(crate) pipeline: String,
    pub(crate) policy: String,
    /// Where the policy stands on the page; empty if it is not there.
    pub(crate) anchor: String,
    pub(crate) program: String,
    pub(crate) uploads: u64,
    pub(crate) cost: String,
    pub(crate) steps: String,
    pub(crate) state: &'static str,
    pub(crate) began: String,
    pub(crate) ended: String,
    pub(crate) releases: Vec<String>,
    pub(crate) more_releases: usize,
}

pub(crate) fn views(report: &AuditReport) -> Vec<RunView> {
    let newest_first = report.runs.iter().rev().take(MAX);
    newest_first.map(|run| view(report, run)).collect()
}

fn view(report: &AuditReport, run: &RunReport) -> RunView {
    let logged = report.policies.iter().any(|p| p.sha256 == run.policy);
    let policy = run.policy.digest();
    let releases = run.releases.iter().take(MAX_RELEASES);
    RunView {
        id: run.run.to_string(),
        pipeline: clean(&run.pipeline),
        policy: short(&policy),
        anchor: match logged {
            true => anchor(&policy),
            false => String::new(),
        },
        program: short(&run.program.digest()),
        uploads: run.blob_count,
        cost: run.cost.rho_nano.to_string(),
        steps: format!("{} of {}", run.committed, run.steps),
        state: match run.state {
            RunState::Registered => "registered, nobody has its keys",
            RunState::Taken => "running",
            RunState::Finished => "finished",
            RunState::Abandoned => "abandoned, nothing returned",
            RunState::Expired => "expired, nothing returned",
            RunState::Cancelled => "cancelled, cost returned",
        },
        began: Utc(run.registered_at).to_string(),
        ended: run.ended_at.map_or(String::new(), |at| Utc(at).to_string()),
        releases: releases.map(|release| release.to_string()).collect(),
        more_releases: run.releases.len().saturating_sub(MAX_RELEASES),
    }
}
