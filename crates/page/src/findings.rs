//! Findings, worst first, and the invariants that they name.

use siegel_audit::AuditReport;
use siegel_policy::Severity;

use crate::invariants::meaning;
use crate::text::clean;

/// All findings of one severity.
pub(crate) struct Group {
    /// For the style, never the only sign.
    pub(crate) class: &'static str,
    pub(crate) mark: &'static str,
    pub(crate) title: &'static str,
    pub(crate) why: &'static str,
    pub(crate) rows: Vec<Row>,
}

pub(crate) struct Row {
    pub(crate) id: String,
    pub(crate) invariant: String,
    pub(crate) message: String,
}

pub(crate) fn groups(report: &AuditReport) -> Vec<Group> {
    [Severity::Error, Severity::Warning, Severity::Info]
        .into_iter()
        .map(|severity| group(report, severity))
        .filter(|group| !group.rows.is_empty())
        .collect()
}

fn group(report: &AuditReport, severity: Severity) -> Group {
    let (mark, title, why) = match severity {
        Severity::Error => ("✕", "Errors", "Each of these alone makes the verdict."),
        Severity::Warning => (
            "!",
            "Warnings",
            "They do not change the verdict. They say how far it reaches.",
        ),
        Severity::Info => ("i", "Notes", "Good to know."),
    };
    let of = report.findings.iter().filter(|f| f.severity == severity);
    Group {
        class: severity.as_str(),
        mark,
        title,
        why,
        rows: of
            .map(|finding| Row {
                id: clean(&finding.id),
                invariant: clean(finding.invariant.as_deref().unwrap_or("")),
                message: clean(&finding.message),
            })
            .collect(),
    }
}

/// Those that a finding names, in words.
pub(crate) fn invariants(report: &AuditReport) -> Vec<(&'static str, &'static str)> {
    let named = report
        .findings
        .iter()
        .filter_map(|f| f.invariant.as_deref());
    let mut all: Vec<_> = named.filter_map(meaning).collect();
    all.sort_by_key(|(name, _)| (name.len(), *name));
    all.dedup();
    all
}
