//! How a measurement fails: exit codes and the error object of `--json`, as in `siegel`.

use serde::Serialize;

/// Something failed while measuring.
const FAILED: u8 = 1;
/// The command line is wrong.
const USAGE: u8 = 2;
/// This machine cannot run what is to be measured.
const MACHINE_CANNOT: u8 = 4;

/// A failure as a person and a program see it.
#[derive(Debug, Clone, Serialize)]
pub struct Failure {
    /// The process's exit code.
    #[serde(skip)]
    pub exit: u8,
    /// Stable, kebab-case.
    pub code: &'static str,
    /// No measurement enforces an invariant; the key is there because every command has it.
    pub invariant: Option<&'static str>,
    /// Which measurement or argument.
    #[serde(rename = "where")]
    pub at: String,
    /// What was wrong.
    pub message: String,
    /// What to do about it.
    pub help: &'static str,
}

impl Failure {
    /// A measurement failed (exit 1).
    pub fn failed(code: &'static str, at: &str, why: impl ToString, help: &'static str) -> Self {
        Self::new(FAILED, code, at, why, help)
    }

    /// Wrong use (exit 2).
    pub fn usage(code: &'static str, at: &str, why: impl ToString, help: &'static str) -> Self {
        Self::new(USAGE, code, at, why, help)
    }

    /// The machine lacks what the code needs (exit 4).
    pub fn machine(at: &str, why: impl ToString) -> Self {
        let help = "measure on another machine";
        Self::new(MACHINE_CANNOT, "machine-cannot", at, why, help)
    }

    fn new(exit: u8, code: &'static str, at: &str, why: impl ToString, help: &'static str) -> Self {
        Self {
            exit,
            code,
            invariant: None,
            at: at.to_owned(),
            message: why.to_string(),
            help,
        }
    }

    /// Prints it: one JSON object on stdout with `--json`, else plain text on stderr.
    pub fn print(&self, json: bool) {
        if json {
            println!("{}", serde_json::json!({ "error": self }));
            return;
        }
        eprintln!("error: {}", self.message);
        eprintln!("  where: {} ({})", self.at, self.code);
        if !self.help.is_empty() {
            eprintln!("  help:  {}", self.help);
        }
    }
}
