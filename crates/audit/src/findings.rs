//! Collects findings, bounded: a log full of rubbish gives a report that can be read.

use siegel_policy::{Finding, Severity};

/// More findings than this are only counted.
const MAX: usize = 1000;

#[derive(Default)]
pub(crate) struct Findings {
    list: Vec<Finding>,
    /// Worst severity and number of those beyond [`MAX`].
    more: Option<(Severity, u64)>,
}

impl Findings {
    pub(crate) fn error(&mut self, id: &str, invariant: &str, message: impl Into<String>) {
        self.add(Finding::new(Severity::Error, id, invariant, message));
    }

    pub(crate) fn warning(&mut self, id: &str, invariant: &str, message: impl Into<String>) {
        self.add(Finding::new(Severity::Warning, id, invariant, message));
    }

    pub(crate) fn info(&mut self, id: &str, message: impl Into<String>) {
        self.add(Finding::new(Severity::Info, id, "", message));
    }

    pub(crate) fn add(&mut self, finding: Finding) {
        if self.list.len() < MAX {
            self.list.push(finding);
            return;
        }
        let (worst, count) = self.more.unwrap_or((finding.severity, 0));
        self.more = Some((worst.max(finding.severity), count + 1));
    }

    /// All of them, worst first, else in the order they were found.
    pub(crate) fn finish(mut self) -> Vec<Finding> {
        if let Some((worst, count)) = self.more {
            let message = format!("{count} further findings are not listed");
            self.list
                .push(Finding::new(worst, "more-findings", "", message));
        }
        self.list
            .sort_by_key(|finding| std::cmp::Reverse(finding.severity));
        self.list
    }
}
