//! Logs that are as they should be, and logs that lie in one way each.

mod births;
mod history;
mod lies;
mod log;
mod receipts;
mod scene;

use siegel_policy::Severity;

use crate::AuditReport;

/// Ids of the error findings.
fn errors(report: &AuditReport) -> Vec<&str> {
    let errors = report
        .findings
        .iter()
        .filter(|f| f.severity == Severity::Error);
    errors.map(|finding| finding.id.as_str()).collect()
}

fn ids(report: &AuditReport) -> Vec<&str> {
    report
        .findings
        .iter()
        .map(|finding| finding.id.as_str())
        .collect()
}
