//! What each check found: the list that an appraisal carries, and that a refusal explains itself with.

use serde::Serialize;
use siegel_ident::Timestamp;

use super::{Check, Field, Rule};

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// Asked and satisfied.
    Passed,
    /// Asked and not satisfied: the evidence is refused.
    Failed,
    /// The reference value says that it does not matter, and why.
    Ignored,
}

/// One thing that was asked, and the answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// Which check.
    pub check: Check,
    /// How it ended.
    pub status: Status,
    /// What was found and what was wanted, in plain words.
    pub detail: String,
}

/// Collects outcomes. Policy checks are all asked, so that an author sees everything that is wrong at once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcomes {
    asked: Vec<Outcome>,
    until: Option<Timestamp>,
}

impl Outcomes {
    pub(crate) fn passed(&mut self, check: Check, detail: impl Into<String>) {
        self.push(check, Status::Passed, detail.into());
    }

    pub(crate) fn failed(&mut self, check: Check, detail: impl Into<String>) {
        self.push(check, Status::Failed, detail.into());
    }

    pub(crate) fn ignored(&mut self, check: Check, detail: impl Into<String>) {
        self.push(check, Status::Ignored, detail.into());
    }

    /// Passed if `good`; `detail` must read well either way: "debugging: off, must be off".
    pub(crate) fn must(&mut self, check: Check, good: bool, detail: impl Into<String>) {
        let status = if good { Status::Passed } else { Status::Failed };
        self.push(check, status, detail.into());
    }

    /// Holds the field called `name` against its rule.
    pub(crate) fn rule<T: Field>(&mut self, check: Check, name: &str, rule: &Rule<T>, found: &T) {
        let detail = format!("{name}: found {found}, wanted {rule}");
        match rule {
            Rule::Ignore(_) => self.ignored(check, detail),
            _ => self.must(check, rule.allows(found), detail),
        }
    }

    /// As [`Outcomes::rule`], for a field that the evidence may not have. An absent field satisfies no rule
    /// but `ignore`.
    pub(crate) fn rule_if<T: Field>(
        &mut self,
        check: Check,
        name: &str,
        rule: &Rule<T>,
        found: Option<&T>,
    ) {
        match (rule, found) {
            (_, Some(found)) => self.rule(check, name, rule, found),
            (Rule::Ignore(_), None) => {
                self.ignored(check, format!("{name}: absent, wanted {rule}"))
            }
            (_, None) => self.failed(check, format!("{name}: absent, wanted {rule}")),
        }
    }

    /// The first failure.
    pub(crate) fn failure(&self) -> Option<&Outcome> {
        self.asked
            .iter()
            .find(|outcome| outcome.status == Status::Failed)
    }

    /// How many checks failed.
    pub(crate) fn failures(&self) -> usize {
        self.asked
            .iter()
            .filter(|outcome| outcome.status == Status::Failed)
            .count()
    }

    /// What passed because it was young enough will be too old from here on.
    pub(crate) fn until(&mut self, end: Timestamp) {
        self.until = Some(self.until.map_or(end, |until| until.min(end)));
    }

    /// The earliest of these ends, or `end`.
    pub(crate) fn ends_before(&self, end: Timestamp) -> Timestamp {
        self.until.map_or(end, |until| until.min(end))
    }

    pub(crate) fn into_vec(self) -> Vec<Outcome> {
        self.asked
    }

    fn push(&mut self, check: Check, status: Status, detail: String) {
        // Names and reasons are an author's words, claims the presenter's: nothing that could move a cursor.
        let plain = |c: char| if c.is_control() { '?' } else { c };
        self.asked.push(Outcome {
            check,
            status,
            detail: detail.chars().map(plain).collect(),
        });
    }
}
