//! Why the depot refused, and how that looks on the wire.

use prost::Message as _;
use siegel_ident::Digest;
use siegel_store::StoreError;
use siegel_wire::v1::Refusal;
use tonic::{Code, Status};

use crate::segment::SegmentError;

/// Nothing is stored where one of these is answered to a put (I14).
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DepotError {
    /// A kind that does not exist.
    #[error(
        "object kind {number} is not known: send 1 (upload), 2 (sealed), 3 (program), 4 (plan) or \
         5 (inputs)"
    )]
    Kind {
        /// The number on the wire.
        number: i32,
    },
    /// A digest field of the wrong length.
    #[error("field {field} must have 32 bytes, got {len}")]
    DigestLength {
        /// Which field.
        field: &'static str,
        /// Its length.
        len: usize,
    },
    /// The bytes are not those that the digest names (I2).
    #[error("the bytes have SHA-256 {got}, but were sent as {claimed}: send them again")]
    DigestMismatch {
        /// What the sender said.
        claimed: Digest,
        /// What came.
        got: Digest,
    },
    /// A stream that ends before its first chunk.
    #[error("the stream has no first chunk with kind and digest")]
    EmptyStream,
    /// Too many bytes.
    #[error("object is longer than the {max} bytes allowed")]
    TooLong {
        /// The bound in bytes.
        max: usize,
    },
    /// A request for more uploads than one may name.
    #[error("{asked} uploads asked for at once, at most {max} are allowed: ask again for the rest")]
    TooMany {
        /// How many.
        asked: usize,
        /// The bound.
        max: usize,
    },
    /// The sender stopped sending.
    #[error("no data for {seconds} s: the put was dropped")]
    Idle {
        /// The bound.
        seconds: u64,
    },
    /// The connection broke in the middle of a put.
    #[error("the put broke off: {0}")]
    Broken(String),
    /// Not an upload.
    #[error("not an upload: {0}")]
    Upload(#[from] siegel_seal::OpenError),
    /// Nothing under this digest.
    #[error("no {prefix} object {digest}", prefix = kind.prefix())]
    NotFound {
        /// The kind asked for.
        kind: crate::Kind,
        /// The digest asked for.
        digest: Digest,
    },
    /// ENOSPC or a quota.
    #[error("the depot's store is full: free some space and send again; nothing was stored")]
    StoreFull,
    /// Any other trouble with the store.
    #[error("{0}; send again later")]
    Store(#[source] StoreError),
    /// The depot ends while a put waits.
    #[error("the depot is ending: send again later; nothing is known to be stored")]
    Closing,
    /// A path in the store that the depot did not write.
    #[error("the store holds {path:?}, which no depot wrote: use an own folder for the depot")]
    Foreign {
        /// Its path.
        path: String,
    },
    /// A segment of uploads that is not as it was written.
    #[error(
        "the store's {path:?} is damaged: {why}; bring it back from a copy, or move it away if its \
         uploads may be lost"
    )]
    Damaged {
        /// Its path.
        path: String,
        /// What is wrong with it.
        why: SegmentError,
    },
    /// The service could not run.
    #[error("the depot's service failed: {0}")]
    Service(String),
}

impl DepotError {
    fn codes(&self) -> (Code, &'static str) {
        match self {
            Self::Kind { .. } => (Code::InvalidArgument, "unknown-kind"),
            Self::DigestLength { .. } => (Code::InvalidArgument, "malformed-digest"),
            Self::DigestMismatch { .. } => (Code::InvalidArgument, "digest-mismatch"),
            Self::EmptyStream => (Code::InvalidArgument, "empty-stream"),
            Self::TooLong { .. } => (Code::InvalidArgument, "too-long"),
            Self::TooMany { .. } => (Code::InvalidArgument, "too-many"),
            Self::Upload(_) => (Code::InvalidArgument, "malformed-upload"),
            Self::Idle { .. } => (Code::DeadlineExceeded, "idle"),
            Self::Broken(_) => (Code::Cancelled, "broken-stream"),
            Self::NotFound { .. } => (Code::NotFound, "not-found"),
            Self::StoreFull => (Code::ResourceExhausted, "store-full"),
            Self::Store(_) | Self::Closing => (Code::Unavailable, "store-failed"),
            Self::Foreign { .. } | Self::Damaged { .. } | Self::Service(_) => {
                (Code::Internal, "internal")
            }
        }
    }

    /// The gRPC status, with a typed `Refusal` in its details.
    pub fn to_status(&self) -> Status {
        let (code, name) = self.codes();
        let invariant = match self {
            Self::DigestMismatch { .. } => "I2",
            Self::Upload(_) | Self::TooLong { .. } | Self::TooMany { .. } => "I14",
            _ => "",
        };
        let message = self.to_string();
        let refusal = Refusal {
            code: name.into(),
            invariant: invariant.into(),
            r#where: "depot".into(),
            message: message.clone(),
            leader_id: 0,
        };
        Status::with_details(code, message, refusal.encode_to_vec().into())
    }
}

impl From<StoreError> for DepotError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Full => Self::StoreFull,
            error => Self::Store(error),
        }
    }
}
