//! The verdict, first of all.

use siegel_audit::{AuditReport, Verdict};
use siegel_policy::{Severity, Utc};

use crate::text::{clean, counted};

/// What a reader must know before anything else.
pub(crate) struct Head {
    pub(crate) good: bool,
    pub(crate) word: &'static str,
    pub(crate) reason: String,
    pub(crate) labels: Vec<Label>,
    pub(crate) origin: String,
    pub(crate) size: String,
    pub(crate) at: String,
    /// What the log holds, by kind.
    pub(crate) entries: Vec<String>,
}

/// How far the verdict reaches.
pub(crate) struct Label {
    pub(crate) word: &'static str,
    pub(crate) why: &'static str,
}

impl Head {
    pub(crate) fn of(report: &AuditReport) -> Self {
        let good = report.verdict == Verdict::Good;
        let size = match report.log.size {
            None => "no checkpoint that verifies".to_owned(),
            Some(n) => match report.log.known {
                None => counted(n, "entry", "entries"),
                Some(before) => format!(
                    "{} ({before} at the last audit)",
                    counted(n, "entry", "entries")
                ),
            },
        };
        Self {
            good,
            word: if good { "Good" } else { "Not trustworthy" },
            reason: reason(report),
            labels: labels(report),
            origin: clean(&report.log.origin),
            size,
            at: Utc(report.at).to_string(),
            entries: entries(report),
        }
    }
}

fn reason(report: &AuditReport) -> String {
    let (errors, warnings) = (
        report.count(Severity::Error),
        report.count(Severity::Warning),
    );
    match (errors, warnings, report.log.size) {
        (0, _, Some(0)) => "The log is empty: there was nothing to audit.".to_owned(),
        (0, 0, _) => "Nothing in this log speaks against trust in it.".to_owned(),
        (0, n, _) => format!(
            "Nothing in this log speaks against trust in it. {} how far that reaches.",
            match n {
                1 => "1 warning says".to_owned(),
                n => format!("{n} warnings say"),
            }
        ),
        (n, ..) => format!(
            "{} trust in this log. Do not send data under its policies, and do not rely on its results.",
            match n {
                1 => "1 error speaks against".to_owned(),
                n => format!("{} speak against", counted(n, "error", "errors")),
            }
        ),
    }
}

/// The labels that go before everything (I1, I11).
fn labels(report: &AuditReport) -> Vec<Label> {
    let says = |word: &str| report.findings.iter().any(|f| f.message.contains(word));
    let is = |id: &str| report.findings.iter().any(|f| f.id == id);
    let simulation = report.policies.iter().any(|p| p.rules.is_simulation());
    let alone = report.policies.iter().any(|p| p.rules.is_unwitnessed());
    let mut labels = Vec::new();
    if simulation || says("INSECURE SIMULATION") || is("simulated-evidence") {
        labels.push(Label {
            word: "INSECURE SIMULATION",
            why: "No hardware protects anything here. Whoever runs the simulation can read every \
                  upload.",
        });
    }
    if says("SIMULATED WITNESSES") {
        labels.push(Label {
            word: "SIMULATED WITNESSES",
            why: "One person runs the log and all of its witnesses: they vouch for nothing.",
        });
    }
    if alone || report.log.witnesses_required == 0 {
        labels.push(Label {
            word: "UNWITNESSED",
            why: "Only the log's operator vouches that everyone sees the same log.",
        });
    }
    labels
}

fn entries(report: &AuditReport) -> Vec<String> {
    let counts = &report.entries;
    let all = [
        (counts.policies, "policy", "policies"),
        (counts.genesis, "birth of a cluster", "births of clusters"),
        (counts.receipts, "receipt", "receipts"),
        (counts.programs, "program", "programs"),
        (counts.endorsements, "endorsement", "endorsements"),
        (counts.key_offers, "key offer", "key offers"),
        (counts.other, "of unknown kind", "of unknown kind"),
        (counts.unreadable, "unreadable", "unreadable"),
        (
            counts.certified,
            "under a certificate",
            "under certificates",
        ),
        (counts.strangers, "of a stranger", "of strangers"),
    ];
    let there = all.into_iter().filter(|(count, ..)| *count > 0);
    there
        .map(|(count, one, many)| counted(count, one, many))
        .collect()
}
