//! Replays log, archive and receipts into findings and one verdict.
//!
//! [`audit`] trusts nothing but its [`AuditAnchors`]: it reads every entry, checks that together they
//! are the signed checkpoint, gets the bytes behind each entry from the archive by digest, and
//! holds the receipts of each cluster against its genesis, the logged policies and their budgets.
//!
//! What it cannot see: receipts that were never logged at the *end* of a chain (unless the anchors
//! say how many there must be), a log that shows others something else (witnesses are not built
//! yet), and whether anything happened outside the key service.

mod anchors;
mod findings;
mod gather;
mod item;
mod replay;
mod report;

pub use anchors::{AuditAnchors, ExpectedCluster, KnownCheckpoint};
pub use gather::{AuditError, audit};
pub use report::{
    AuditReport, Counts, LogReport, PipelineReport, PolicyReport, RunReport, RunState, Verdict,
};

#[cfg(test)]
mod tests;
