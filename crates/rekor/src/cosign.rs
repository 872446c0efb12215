//! Who cosigns a checkpoint before the log publishes it.

use siegel_ident::Digest;

/// Asks witnesses for their lines. The log's writer calls it for every checkpoint, before the
/// checkpoint is saved; whoever is away is left out, since only the verifier can enforce a quorum (I1).
pub trait Cosigner: Send + Sync {
    /// Signature lines, each with its newline, in the order in which they go into the note. Blocks for
    /// a bounded time; an empty answer is no error.
    fn cosign(&self, request: CosignRequest<'_>) -> Vec<String>;
}

/// A checkpoint that is about to be published.
#[derive(Clone, Copy)]
pub struct CosignRequest<'a> {
    /// The note with the log's own line and no other.
    pub note: &'a str,
    /// Its number of entries.
    pub size: u64,
    /// The proof that the tree of so many entries is a prefix of this one; `None` if it is larger.
    pub consistency: &'a dyn Fn(u64) -> Option<Vec<Digest>>,
}
