//! The state machine of the key service: what each replica of a cluster computes from the same
//! sequence of entries.
//!
//! [`Ledger::apply`] is deterministic and cannot fail: a refusal is an [`Outcome`], and a refused
//! entry changes nothing but the clock and the table of seen requests. The ledger reads no clock and
//! draws no random values (I15): the proposer chose them and put them into the [`Entry`]. It holds
//! no secret: epoch and run secrets pass through as opaque [`Wrapped`] bytes.
//!
//! See `OVERVIEW.md` for the life of a run and the table of failures.

pub mod admission;
mod chain;
mod endings;
mod endorsements;
pub mod entry;
mod epochs;
pub mod event;
mod expiry;
mod grants;
mod ledger;
pub mod limits;
mod marks;
pub mod members;
pub mod outcome;
mod policies;
pub mod query;
pub mod receipt;
mod records;
pub mod refusal;
mod register;
mod releases;
mod requests;
mod snapshot;
mod state;
mod steps;
pub mod workload;
pub mod wrapped;

pub use admission::Joiner;
pub use endorsements::EndorsementProof;
pub use entry::{Entry, EntryError};
pub use event::{Event, FreshRun, ReleaseCommit, RunClaim, StepCommit};
pub use ledger::{GenesisError, Ledger};
pub use members::{Joining, Member, Members};
pub use outcome::{Applied, Done, Effect, Outcome};
pub use query::{
    EpochView, PipelineView, PolicyView, ReleaseView, RunPhase, RunView, SecretSource,
};
pub use receipt::{Fact, Receipt, ReceiptError};
pub use refusal::Refusal;
pub use workload::{Workload, WorkloadRole};
pub use wrapped::Wrapped;
