//! Collects findings, bounded: a log full of strangers' rubbish gives a report that can be read (I14).
//!
//! The first few of a kind are listed in their own words. The others are counted, and the report says
//! in which log entries the first of them are.

use std::collections::BTreeMap;

use siegel_policy::{Finding, Severity};

use crate::report::FindingGroup;

/// Findings of one kind that are listed.
const LISTED: usize = 10;
/// Entries of a kind that are named by their index.
const INDICES: usize = 20;
/// Longest message, in characters: some of it may come from the log.
const MESSAGE: usize = 2000;

/// Findings that differ in nothing but their words.
type Key = (Severity, String, Option<String>);

#[derive(Default)]
pub(crate) struct Findings {
    list: Vec<Finding>,
    groups: BTreeMap<Key, Group>,
    entry: Option<u64>,
}

#[derive(Default)]
struct Group {
    count: u64,
    listed: u64,
    /// The first entries that they are about, where they are about any.
    entries: Vec<u64>,
    /// Where the last listed one is.
    last: usize,
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

    /// From now on it is about this log entry, or about none.
    pub(crate) fn about(&mut self, entry: Option<u64>) {
        self.entry = entry;
    }

    pub(crate) fn add(&mut self, mut finding: Finding) {
        let key = (
            finding.severity,
            finding.id.clone(),
            finding.invariant.clone(),
        );
        let group = self.groups.entry(key).or_default();
        group.count += 1;
        if group.entries.len() < INDICES {
            group.entries.extend(self.entry);
        }
        if group.listed < LISTED as u64 {
            if let Some((end, _)) = finding.message.char_indices().nth(MESSAGE) {
                finding.message.truncate(end);
                finding.message.push('…');
            }
            group.listed += 1;
            group.last = self.list.len();
            self.list.push(finding);
        }
    }

    /// As many more of a kind, which nobody kept.
    pub(crate) fn more(&mut self, severity: Severity, id: &str, invariant: &str, count: u64) {
        let invariant = Some(invariant.to_owned()).filter(|i| !i.is_empty());
        let key = (severity, id.to_owned(), invariant);
        self.groups.entry(key).or_default().count += count;
    }

    /// All of them, worst first, else in the order they were found; and how many there are of each kind
    /// of which not all are listed.
    pub(crate) fn finish(self) -> (Vec<Finding>, Vec<FindingGroup>) {
        let mut list: Vec<(usize, Finding)> = self.list.into_iter().enumerate().collect();
        let mut grouped = Vec::new();
        for ((severity, id, invariant), group) in self.groups.into_iter().rev() {
            let rest = group.count - group.listed;
            if rest == 0 {
                continue;
            }
            let message = format!("{rest} more of this kind{}", places(&group));
            let summary = Finding {
                id: id.clone(),
                severity,
                invariant: invariant.clone(),
                message,
            };
            list.push((group.last, summary));
            grouped.push(FindingGroup {
                id,
                severity,
                invariant,
                count: group.count,
                entries: group.entries,
            });
        }
        // Stable: a summary stays behind the last one that is listed.
        list.sort_by_key(|(at, finding)| (std::cmp::Reverse(finding.severity), *at));
        let findings = list.into_iter().map(|(_, finding)| finding).collect();
        (findings, grouped)
    }
}

fn places(group: &Group) -> String {
    let known = group.entries.iter().skip(group.listed as usize);
    let known: Vec<_> = known.map(u64::to_string).collect();
    if known.is_empty() {
        return String::new();
    }
    let all = group.entries.len() as u64 == group.count;
    let dots = if all { "" } else { ", …" };
    format!(", in log entries {}{dots}", known.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// I14. Catches: a report that grows with the log, one that hides how much it leaves out, and one
    /// in which a flood of one kind hides another.
    #[test]
    fn i14_a_flood_is_counted_and_hides_nothing() {
        let mut findings = Findings::default();
        for index in 0..5000 {
            findings.about(Some(index));
            findings.error("a", "I1", format!("log entry {index}"));
        }
        findings.about(None);
        findings.error("b", "I1", "é".repeat(3000));
        findings.info("c", "good to know");
        findings.more(Severity::Info, "c", "", 2);
        let (list, groups) = findings.finish();
        assert_eq!(list.len(), LISTED + 4);
        assert_eq!(list[LISTED + 3].message, "2 more of this kind");
        assert_eq!(list[0].message, "log entry 0");
        let rest =
            "4990 more of this kind, in log entries 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, …";
        assert_eq!(
            (list[LISTED].id.as_str(), list[LISTED].message.as_str()),
            ("a", rest)
        );
        assert_eq!(list[LISTED].invariant.as_deref(), Some("I1"));
        let cut = &list[LISTED + 1];
        assert_eq!((cut.id.as_str(), cut.message.chars().count()), ("b", 2001));
        let group = FindingGroup {
            id: "a".to_owned(),
            severity: Severity::Error,
            invariant: Some("I1".to_owned()),
            count: 5000,
            entries: (0..INDICES as u64).collect(),
        };
        assert_eq!((&groups[0], groups.len()), (&group, 2));
        assert_eq!((groups[1].id.as_str(), groups[1].count), ("c", 3));
    }
}
