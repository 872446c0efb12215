//! What is wrong with a policy file, and on which line.

use std::collections::BTreeMap;

use super::file::{Located, PolicyFile};
use crate::PolicyError;

/// Why a policy file was refused. Lines count from 1.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AuthorError {
    /// Not TOML, or an unknown, missing or mistyped key. The message shows line and column.
    #[error("policy file: {message}")]
    Toml {
        /// Line, if it is known.
        line: Option<usize>,
        /// What the parser says.
        message: String,
    },
    /// A binary or program that was not given.
    #[error("policy file, line {line}: {kind} {name:?} is not among those given ({known})")]
    Unknown {
        /// Line of the name.
        line: usize,
        /// "binary" or "program".
        kind: &'static str,
        /// The name in the file.
        name: String,
        /// The names that were given.
        known: String,
    },
    /// A value out of range.
    #[error("policy file, line {line}: {message}")]
    Value {
        /// Line of the value.
        line: usize,
        /// What is wrong, and what is expected.
        message: String,
    },
    /// A rule of the policy itself.
    #[error("policy file{}: {error}", at(*.line))]
    Policy {
        /// Line of the key that the rule is about, if there is one.
        line: Option<usize>,
        /// The rule.
        error: PolicyError,
    },
}

impl AuthorError {
    /// The line, if it is known.
    pub const fn line(&self) -> Option<usize> {
        match self {
            Self::Toml { line, .. } | Self::Policy { line, .. } => *line,
            Self::Unknown { line, .. } | Self::Value { line, .. } => Some(*line),
        }
    }
}

fn at(line: Option<usize>) -> String {
    line.map(|line| format!(", line {line}"))
        .unwrap_or_default()
}

/// The text of the file, for finding lines.
#[derive(Clone, Copy)]
pub(super) struct Source<'a>(pub(super) &'a str);

impl Source<'_> {
    pub(super) fn read(self) -> Result<PolicyFile, AuthorError> {
        toml::from_str(self.0).map_err(|e| AuthorError::Toml {
            line: e.span().map(|span| self.line(span.start)),
            message: e.to_string().trim_end().to_owned(),
        })
    }

    pub(super) fn look_up<T: Clone>(
        self,
        kind: &'static str,
        name: &Located<String>,
        known: &BTreeMap<String, T>,
    ) -> Result<T, AuthorError> {
        known
            .get(name.get_ref())
            .cloned()
            .ok_or_else(|| AuthorError::Unknown {
                line: self.line(name.span().start),
                kind,
                name: name.get_ref().clone(),
                known: known.keys().cloned().collect::<Vec<_>>().join(", "),
            })
    }

    pub(super) fn value<T>(self, value: &Located<T>, message: String) -> AuthorError {
        AuthorError::Value {
            line: self.line(value.span().start),
            message,
        }
    }

    pub(super) fn rule(self, error: PolicyError) -> AuthorError {
        AuthorError::Policy {
            line: error.field().and_then(|f| self.line_of(f)),
            error,
        }
    }

    /// The line of the key that fills this field of the policy.
    fn line_of(self, field: &str) -> Option<usize> {
        let (table, key) = match field {
            "kms.reference_values" => ("roles", "kms"),
            "roles.root.reference_values" => ("roles", "root"),
            "roles.worker.reference_values" => ("roles", "worker"),
            "key_ttl" => ("", "key_ttl_seconds"),
            "input.columns.name" => ("input", "columns"),
            other => other.split_once('.').unwrap_or(("", other)),
        };
        let mut current = "";
        for (index, line) in self.0.lines().enumerate() {
            let line = line.trim();
            if let Some(header) = line.strip_prefix('[').and_then(|l| l.strip_suffix(']')) {
                current = header.trim();
            }
            let found = line
                .split_once('=')
                .is_some_and(|(left, _)| left.trim() == key);
            if current == table && found {
                return Some(index + 1);
            }
        }
        None
    }

    fn line(self, offset: usize) -> usize {
        self.0.bytes().take(offset).filter(|b| *b == b'\n').count() + 1
    }
}
