//! The audit of the run's own log.

use std::path::Path;

use siegel_audit::{AuditAnchors, ExpectedCluster, Verdict};
use siegel_fleet::deployment::Deployment;
use siegel_fleet::kills::Kill;
use siegel_ident::{Budget, ClusterId, Digest, Seconds};
use siegel_policy::{Finding, Policy, Severity};
use siegel_rekor::LogReader;

use super::folder;
use super::report::AuditPart;
use crate::failure::Failure;

const YEAR: Seconds = Seconds(365 * 86_400);

/// What the audit found.
pub(super) struct Audited {
    pub(super) part: AuditPart,
    pub(super) spent: Budget,
}

pub(super) async fn audit(
    deployment: &Deployment,
    policy: &Policy,
    dir: &Path,
) -> Result<Audited, Failure> {
    let failed = |why: &dyn std::fmt::Display| Failure::failed("audit", "the log", why, "");
    let cluster = &deployment.cluster;
    let receipts = deployment.trail.carried().len() as u64;
    let anchors = write_anchors(deployment, policy, Some(receipts), dir)?;
    // The operator's own client waits for a log that is being restarted.
    // The audit wants the witnesses too; one that was killed is back soon.
    let witnessed = deployment.operator.checkpoint().await;
    witnessed.map_err(|why| failed(&why))?;
    let reader = LogReader::Http(deployment.operator.log().clone());
    let report = siegel_audit::audit(&reader, &anchors, cluster.clock().now())
        .await
        .map_err(|why| failed(&why))?;
    let mut findings = report.findings;
    if cluster.in_process() {
        findings.push(Finding::new(
            Severity::Warning,
            "in-process",
            "I11",
            "all parts ran in one process: each measures as the command itself",
        ));
    }
    let budget = report
        .budgets
        .iter()
        .find(|budget| budget.pipeline == policy.pipeline);
    let spent = budget.map_or(Budget::ZERO, |budget| budget.spent);
    Ok(Audited {
        part: AuditPart {
            ok: report.verdict == Verdict::Good,
            findings,
        },
        spent,
    })
}

/// Ordered kills that came to nothing: a warning, since whoever ordered them believes that the run
/// has survived them.
pub(super) fn unfired(kills: &[Kill]) -> impl Iterator<Item = Finding> + '_ {
    kills.iter().map(|kill| {
        let why = format!(
            "--kill {kill} never happened: the run was over before its moment came{}",
            match kill.who.is_kms() {
                true => ", or before the replacement of another node had caught up",
                false => "",
            }
        );
        Finding::new(Severity::Warning, "kill-not-fired", "I8", why)
    })
}

/// The anchors to audit this log with. Written early, so that an interrupted run can be audited
/// too, and again at the end with the number of receipts.
pub(super) fn write_anchors(
    deployment: &Deployment,
    policy: &Policy,
    receipts: Option<u64>,
    dir: &Path,
) -> Result<AuditAnchors, Failure> {
    let cluster = &deployment.cluster;
    // A finished run is a snapshot: its log is not cosigned any more, and may be audited for a year.
    let mut anchors = AuditAnchors::of(deployment.log_anchors().aged(YEAR));
    let id = ClusterId::of(cluster.genesis());
    anchors.clusters.push(ExpectedCluster { id, receipts });
    anchors.endorsers = deployment.pinned(policy);
    anchors.publishers = vec![deployment.operator.publisher().digest()];
    anchors.simulation_root = cluster.config().simulation_root.map(Digest::from_bytes);
    let text = serde_json::to_vec_pretty(&anchors)
        .map_err(|why| Failure::failed("json", "anchors.json", why, ""))?;
    folder::write(dir, "anchors.json", &text)?;
    Ok(anchors)
}
