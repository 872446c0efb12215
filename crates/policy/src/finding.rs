//! Findings: what a check has to say about something that parses.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How bad it is. Ordered: an error is the largest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Good to know.
    Info,
    /// Should be looked at; does not change a verdict.
    Warning,
    /// Not trustworthy: the verdict is no (exit 3).
    Error,
}

impl Severity {
    /// The word used in documents.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    /// Stable, kebab-case: what kind of finding.
    pub id: String,
    /// How bad.
    pub severity: Severity,
    /// The invariant it is about, as `I11`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invariant: Option<String>,
    /// What was found, and what to do.
    pub message: String,
}

impl Finding {
    /// A finding; `invariant` may be empty.
    pub fn new(severity: Severity, id: &str, invariant: &str, message: impl Into<String>) -> Self {
        Self {
            id: id.to_owned(),
            severity,
            invariant: Some(invariant.to_owned()).filter(|i| !i.is_empty()),
            message: message.into(),
        }
    }

    /// True if any of them is an error.
    pub fn any_error(findings: &[Self]) -> bool {
        findings.iter().any(|f| f.severity == Severity::Error)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:7} {}", self.severity, self.id)?;
        if let Some(invariant) = &self.invariant {
            write!(f, " ({invariant})")?;
        }
        write!(f, ": {}", self.message)
    }
}
