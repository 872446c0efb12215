//! How a command ends: exit codes and the error object of `--json`.

use serde::Serialize;

use crate::say::{note, say_line};

/// Exit codes of every command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// All well.
    Ok = 0,
    /// Something failed.
    Failed = 1,
    /// The command line or its input is wrong.
    Usage = 2,
    /// Verified, and not trustworthy: an error finding.
    NotTrustworthy = 3,
    /// This machine cannot: wrong CPU, no toolchain, no binaries.
    MachineCannot = 4,
}

/// A failure as a person and a program see it.
#[derive(Debug, Clone, Serialize)]
pub struct Failure {
    /// The process's exit code.
    #[serde(skip)]
    pub exit: u8,
    /// Stable, kebab-case.
    pub code: Box<str>,
    /// "I3", where an invariant stopped it.
    pub invariant: Option<Box<str>>,
    /// File, field, process or phase.
    #[serde(rename = "where")]
    pub at: Box<str>,
    /// What was wrong.
    pub message: Box<str>,
    /// What to do about it.
    pub help: Box<str>,
}

impl Failure {
    /// A failure of a phase (exit 1).
    pub fn failed(code: &str, at: &str, message: impl ToString, help: &str) -> Self {
        Self::new(Exit::Failed, code, at, message, help)
    }

    /// Wrong use (exit 2).
    pub fn usage(code: &str, at: &str, message: impl ToString, help: &str) -> Self {
        Self::new(Exit::Usage, code, at, message, help)
    }

    /// A failure with its exit code.
    pub fn new(exit: Exit, code: &str, at: &str, message: impl ToString, help: &str) -> Self {
        Self {
            exit: exit as u8,
            code: code.into(),
            invariant: None,
            at: at.into(),
            message: message.to_string().into(),
            help: help.into(),
        }
    }

    /// Names the invariant that stopped it.
    #[must_use]
    pub fn under(mut self, invariant: &str) -> Self {
        self.invariant = (!invariant.is_empty()).then(|| invariant.into());
        self
    }

    /// Prints it: one JSON object on stdout with `--json`, else plain text on stderr.
    pub fn print(&self, json: bool) {
        if json {
            // If this cannot be written either, the exit code is all that is left to say.
            let _ = say_line(&serde_json::json!({ "error": self }).to_string());
            return;
        }
        let invariant = self
            .invariant
            .as_deref()
            .map(|i| format!(" [{i}]"))
            .unwrap_or_default();
        note(&format!("error{invariant}: {}", self.message));
        note(&format!("  where: {} ({})", self.at, self.code));
        if !self.help.is_empty() {
            note(&format!("  help:  {}", self.help));
        }
    }
}
