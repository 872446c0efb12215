//! The operator's errands between key service, log, depot and root.
//!
//! The operator is not trusted. It publishes and carries documents that others have signed, starts
//! runs, and fetches what the key service opens. It can delay all of it; what it carries is checked
//! where it arrives.

mod endorse;
mod error;
mod nonce;
mod operator;
mod proof;
mod publish;
mod receipts;
mod release;
mod run;

pub use error::OperatorError;
pub use operator::Operator;
pub use proof::LogView;
pub use publish::Published;
pub use receipts::{CarriedReceipt, ReceiptTrail};
pub use run::{CommittedStep, FinishedRun, RunEvent, RunOrder};
