//! Why a proof does not hold.

use siegel_attest::DocumentError;
use siegel_ident::json::JsonError;
use siegel_ident::{BlobDigest, ClusterId, InputRoot};
use siegel_ledger::ReceiptError;
use siegel_translog::ProofError;
use siegel_translog::merkle::MerkleError;

/// What is wrong with a proof, or with what it was to be made from.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ParticipationError {
    /// Not canonical JSON of this shape, or too long (I2).
    #[error("participation document: {0}")]
    Json(#[from] JsonError),
    /// Another schema.
    #[error("participation document: schema is {found:?}, expected {expected:?}")]
    Schema {
        /// As written.
        found: String,
        /// As it must be.
        expected: &'static str,
    },
    /// Something that must be text is not.
    #[error("the {0} is not UTF-8")]
    NotText(&'static str),
    /// The genesis does not parse.
    #[error("genesis: {0}")]
    Genesis(#[from] DocumentError),
    /// The receipt does not parse.
    #[error("{0}")]
    Receipt(#[from] ReceiptError),
    /// The receipt is of another cluster than the genesis.
    #[error("the receipt is of cluster {receipt}, the genesis makes cluster {genesis} (I2)")]
    OtherCluster {
        /// In the receipt.
        receipt: ClusterId,
        /// SHA-256 of the genesis.
        genesis: ClusterId,
    },
    /// The cluster is none of those that the verifier knows.
    #[error("cluster {0} is none of those in your anchors: anyone can make a cluster (I1)")]
    UnknownCluster(ClusterId),
    /// The cluster was born in another log.
    #[error("the cluster writes to another log ({found:?}) than the one in your anchors (I1)")]
    OtherLog {
        /// Its log.
        found: String,
    },
    /// The receipt is not proved to be in the log, or the cluster did not sign it.
    #[error("the receipt's proof: {0}")]
    Proof(#[from] ProofError),
    /// The receipt tells of something else.
    #[error("the receipt is not the registration of a run: it has no list of uploads")]
    NotARegistration,
    /// More uploads than a run can have.
    #[error("{count} uploads are more than a run can have ({max})", max = crate::MAX_BLOBS)]
    TooMany {
        /// How many are stated.
        count: u64,
    },
    /// The list to prove from is not one that a run can have.
    #[error("the list of uploads is not strictly ascending at place {at}: no worker takes it (I2)")]
    Unsorted {
        /// Zero-based.
        at: usize,
    },
    /// The list to prove from is not a whole number of digests.
    #[error("a list of uploads has 32 bytes for each, this one has {len} bytes")]
    ListLength {
        /// Its length.
        len: usize,
    },
    /// The proof leads to another root, or does not fit its place.
    #[error("Merkle path: {0}")]
    Merkle(#[from] MerkleError),
    /// The proof is about another blob.
    #[error("the proof is about blob {found}, asked was {asked}")]
    OtherBlob {
        /// Asked for.
        asked: BlobDigest,
        /// In the proof.
        found: BlobDigest,
    },
    /// A neighbour is on the wrong side.
    #[error("the neighbours in the proof do not stand on both sides of {blob}")]
    NotAround {
        /// Asked for.
        blob: BlobDigest,
    },
    /// There is room between the neighbours.
    #[error("the neighbours leave places {from} to {to} open: the blob could stand there")]
    NotAdjacent {
        /// One past the left one.
        from: u64,
        /// The right one.
        to: u64,
    },
    /// No neighbours under a root that is not the empty one.
    #[error("the proof says that the list is empty, its root {root} says otherwise")]
    NotEmpty {
        /// The root.
        root: InputRoot,
    },
}
