//! What a session between root and worker is for.

use siegel_ident::{Fencing, PolicyDigest, RunId, Transcript};

/// The part of a run that the dialling root names, in the clear, before it proves itself. The worker
/// holds it against what the key service granted, and the channel binds it: one that was opened for
/// an earlier incarnation of the root, or under another policy, is another channel (I3, I6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Purpose {
    /// Which run.
    pub run: RunId,
    /// Under which policy it was registered.
    pub policy: PolicyDigest,
    /// Of this incarnation of its root.
    pub fencing: Fencing,
}

/// The Noise prologue: the protocol's version, and the purpose or three empty fields.
pub(crate) fn prologue(purpose: Option<&Purpose>) -> Transcript {
    let start = Transcript::new("siegel/session/v1");
    match purpose {
        Some(purpose) => start
            .field(purpose.run.as_bytes())
            .field(purpose.policy.as_bytes())
            .u64(purpose.fencing.0),
        None => start.field(&[]).field(&[]).field(&[]),
    }
}
