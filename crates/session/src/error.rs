//! Why a handshake or a frame was refused.

use siegel_attest::{DocumentError, Refusal, Role};
use siegel_ident::lp::LpError;
use siegel_ident::{ClusterId, Seconds, Timestamp};

/// A channel that must not be used any further. After any of these the handshake or the failing
/// half of the session answers only [`SessionError::Broken`]: dial again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// A frame was altered, replayed, reordered, cut, or meant for another channel; or a message is
    /// not cut and padded in its one way.
    #[error("frame {frame}: not the next frame of this channel ({what})")]
    Frame {
        /// Counted from 0 in each direction, the proof being 0; in the Noise part, the message.
        frame: u64,
        /// What is wrong.
        what: &'static str,
    },
    /// A handshake message is cut, overlong or followed by more.
    #[error("handshake message: {0}")]
    Shape(#[from] LpError),
    /// A handshake message with a value that has no meaning.
    #[error("handshake message: field {field:?} has no valid value")]
    Field {
        /// Which field.
        field: &'static str,
    },
    /// These two roles never talk like this; the caller has mixed up its expectation.
    #[error("a {own} does not {verb} with this expectation: a mistake of the caller")]
    Setup {
        /// Our role.
        own: Role,
        /// "dial" or "accept".
        verb: &'static str,
    },
    /// A purpose where none belongs, or none where it is needed. An absent field is a refusal.
    #[error("the purpose of the session is {problem} (I3)")]
    Purpose {
        /// "missing" or "not expected here".
        problem: &'static str,
    },
    /// The peer has another role than expected (role confusion).
    #[error("the peer is a {found}, which a {own} does not expect here (I3)")]
    Role {
        /// Our role.
        own: Role,
        /// Its role.
        found: Role,
    },
    /// The peer presents our own signing key (reflection).
    #[error("the peer presents our own signing key: reflected, or a node dialled itself (I3)")]
    Reflection,
    /// The KMS node at one end has no cluster yet.
    #[error("the KMS node has not been founded yet: try again later")]
    NotFounded,
    /// The peer belongs to another cluster.
    #[error("the peer belongs to cluster {found}, expected {expected} (I3)")]
    Cluster {
        /// The one it names.
        found: ClusterId,
        /// The one expected.
        expected: ClusterId,
    },
    /// The KMS's run record does not name these keys.
    #[error("the keys of this {role} are not in the run record of the KMS (I3)")]
    NotVouched {
        /// Its role.
        role: Role,
    },
    /// Evidence where none belongs, or none where it is needed. An absent field is a refusal.
    #[error("evidence of the {role} is {problem} (I3)")]
    Evidence {
        /// The peer's role.
        role: Role,
        /// "missing" or "not expected here".
        problem: &'static str,
    },
    /// The signature is not by the presented key over this channel (relay, replay, reflection).
    #[error("the {role} did not sign this channel, direction and challenge (I3)")]
    Signature {
        /// The peer's role.
        role: Role,
    },
    /// The peer took too long to answer the challenge.
    #[error("the challenge was answered after {age}, at most {max} are allowed (I3)")]
    Stale {
        /// How old it was.
        age: Seconds,
        /// The bound.
        max: Seconds,
    },
    /// The peer's evidence was refused.
    #[error("evidence refused: {0}")]
    Appraisal(#[from] Refusal),
    /// Our own cluster configuration is not valid.
    #[error(transparent)]
    Config(#[from] DocumentError),
    /// A message longer than the bound, ours or the peer's.
    #[error("message of {len} bytes, at most {max} are allowed")]
    MessageTooLong {
        /// Its length.
        len: usize,
        /// The bound.
        max: usize,
    },
    /// The session is as old as it may get. A fresh handshake shows fresh evidence.
    #[error("the session ended at {ended} (seconds since 1970): dial a new one")]
    Expired {
        /// When.
        ended: Timestamp,
    },
    /// This direction has carried as many frames as one key may.
    #[error("the session has carried {frames} frames, its limit: dial a new one")]
    Exhausted {
        /// The limit.
        frames: u64,
    },
    /// The caller gave a frame or a quote when the other was due.
    #[error("a {got} is not due at this point of the handshake: a mistake of the caller")]
    OutOfTurn {
        /// "frame" or "quote".
        got: &'static str,
    },
    /// Used after an earlier error, or after the end.
    #[error("the session is over: closed, or broken by an earlier error")]
    Broken,
    /// The crypto library refused a key or a start value that it should accept.
    #[error("cryptographic library: {what}")]
    Crypto {
        /// Which step.
        what: &'static str,
    },
}
