//! Access policies: what may be done with an upload, by whom, at what privacy cost.
//!
//! A policy is canonical JSON and is named by the SHA-256 of its exact bytes; [`AccessPolicy::parse`]
//! is the only way from bytes to rules, and it keeps the bytes (I2). Whatever is not said is not
//! allowed: no field has a default (I3). [`lint`](lint()) finds what parses but is unwise,
//! [`explain`](explain()) says a policy in plain words. See `OVERVIEW.md`.

pub mod access;
#[cfg(feature = "author")]
pub mod author;
pub mod decimal;
pub mod error;
pub mod explain;
pub mod finding;
pub mod limits;
pub mod lint;
pub mod matching;
pub mod not_allowed;
pub mod run_parameters;

mod check;

pub use access::{
    AccessPolicy, Adjacency, Bounds, Column, ColumnKind, InputSchema, KmsRule, LogRule, Mechanism,
    Policy, Privacy, Recipient, RoleRule, Roles, Unit,
};
pub use check::{COUNTERS, KEY_TTL_MAX, KEY_TTL_MIN, NUMBER_LIMIT, POLICY_MAX};
pub use decimal::Decimal;
pub use error::PolicyError;
pub use explain::{Utc, explain, promises};
pub use finding::{Finding, Severity};
pub use limits::ClientLimits;
pub use lint::{lint, lint_together};
pub use not_allowed::NotAllowed;
pub use run_parameters::{RunParameters, RunParametersError};

#[cfg(any(test, feature = "test-util"))]
pub mod testing;
