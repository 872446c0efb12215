//! What the box of a grant is bound to: one function, called by the KMS and by the receiver. (The
//! box of a block's sum gets its `info` from `siegel_program::BlockSum::seal_info`.)

use siegel_ident::{RunId, Transcript};

/// Whom the KMS grants keys to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrantRole {
    /// `RootKeys`.
    Root,
    /// `WorkerKeys`.
    Worker,
}

impl GrantRole {
    /// The name, equal to that in evidence.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Root => "root",
            Self::Worker => "worker",
        }
    }
}

/// `info` of the box of a grant: it opens only as this role's keys of this run at this receiver.
pub fn grant_info(run: RunId, role: GrantRole, receiver_signing_key: &[u8]) -> Transcript {
    Transcript::new("siegel/grant/v1")
        .field(run.as_bytes())
        .field(role.as_str().as_bytes())
        .field(receiver_signing_key)
}
