//! Logs that are as they should be, and logs that lie in one way each.

mod alarms;
mod births;
mod endorsements;
mod history;
mod lies;
mod log;
mod offers;
mod receipts;
mod search;
mod shared;
mod tiles;

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

/// An error finding with this id and invariant, whose message has these words.
fn found(report: &AuditReport, id: &str, invariant: &str, words: &str) -> bool {
    report.findings.iter().any(|finding| {
        finding.severity == Severity::Error
            && finding.id == id
            && finding.invariant.as_deref() == Some(invariant)
            && finding.message.contains(words)
    })
}
