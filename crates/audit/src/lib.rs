//! Replays log, archive and receipts into findings and one verdict.
//!
//! [`audit`] trusts nothing but its [`AuditAnchors`]: it reads every entry, checks that together they
//! are the signed checkpoint, gets the bytes behind each entry from the archive by digest, and
//! holds each cluster's receipts against its genesis, the evidence of its keys, the logged policies,
//! their endorsements and their budgets. `OVERVIEW.md` has the picture, the findings, and what an
//! audit cannot see.

mod anchors;
mod audit;
mod findings;
mod follow;
mod read;
mod replay;
mod report;
mod search;
#[cfg(any(test, feature = "test-util"))]
pub mod testing;
mod voices;
mod witnessed;

pub use anchors::{AuditAnchors, ExpectedCluster, KnownCheckpoint};
pub use audit::{Audit, AuditError, Audited, audit};
pub use follow::{Ahead, Evidence, Place, Seen, SignedNote, State, StateError, StateFolder};
pub use report::{
    AccountReport, AuditReport, Counts, EndorsedReport, FindingGroup, LogReport, PipelineReport,
    PolicyReport, RunReport, RunState, Verdict,
};
pub use search::{Found, Search, SearchError, search};
pub use voices::{Voices, voices};
pub use witnessed::WitnessReport;

#[cfg(test)]
mod tests;
