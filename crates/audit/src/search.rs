//! Artifacts of one kind in a log, for those who need no verdict on the rest of it.

use std::sync::Arc;

use siegel_ident::{KeyDigest, Timestamp};
use siegel_rekor::{LogReader, RekorError};
use siegel_translog::{LogAnchors, ProofError};

use crate::read::{self, ReadError, Signed, Unread, fetch, signed};

/// What a search found in a log that is the pinned one, read to its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Search {
    /// Artifacts of the kind, in the order of the log.
    pub found: Vec<Found>,
    /// Entries that the checkpoint covers.
    pub size: u64,
    /// Entries of which signed statement or artifact are withheld or broken: one of them could have
    /// been of the kind.
    pub unreadable: u64,
}

/// One artifact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Place in the log.
    pub log_index: u64,
    /// Who signed the statement.
    pub signer: KeyDigest,
    /// The artifact's exact bytes, as the statement names them (I2).
    pub bytes: Vec<u8>,
}

/// Why a log cannot be searched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SearchError {
    /// The anchors cannot be enforced, as when they ask for witnesses.
    #[error("anchors: {0}")]
    Anchors(#[source] ProofError),
    /// The checkpoint is not one of the pinned log.
    #[error("the log's checkpoint is not one of the pinned log: {0}")]
    Checkpoint(#[source] ProofError),
    /// The entries are not those that the checkpoint covers (I1).
    #[error("the log's entries are not those of its checkpoint: withheld or rewritten (I1)")]
    Rewritten,
    /// The log or its archive cannot be reached.
    #[error("cannot read the log: {0}")]
    Source(#[from] RekorError),
    /// A thread of this search died.
    #[error("the search broke off: {0}")]
    Broken(String),
}

impl SearchError {
    /// True where the log itself is not to be trusted, false where it could not be read.
    pub fn not_trustworthy(&self) -> bool {
        matches!(self, Self::Checkpoint(_) | Self::Rewritten)
    }
}

impl From<ReadError> for SearchError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Source(e) => Self::Source(e),
            e @ ReadError::Broken(_) => Self::Broken(e.to_string()),
        }
    }
}

/// Reads a log to its end and returns the artifacts whose statement has this predicate type: of a log
/// whose entries together are what its signed checkpoint covers (I1).
///
/// # Errors
/// [`SearchError`].
pub async fn search(
    log: &LogReader,
    anchors: &LogAnchors,
    predicate_type: &str,
    now: Timestamp,
) -> Result<Search, SearchError> {
    anchors.check().map_err(SearchError::Anchors)?;
    let note = log.checkpoint().await?;
    let checkpoint = anchors
        .verify_checkpoint(&note, now)
        .map_err(SearchError::Checkpoint)?;
    let mut search = Search {
        size: checkpoint.size,
        ..Search::default()
    };
    let wanted = Arc::<str>::from(predicate_type);
    let open = move |log, index, body| find(log, index, body, wanted.clone());
    let take = |found| match found {
        Ok(found) => search.found.extend(found),
        Err(Unreadable) => search.unreadable += 1,
    };
    let reading = read::read(log, checkpoint.size, open, take).await?;
    match reading.is_whole(&checkpoint) {
        true => Ok(search),
        false => Err(SearchError::Rewritten),
    }
}

/// Something is wrong with the entry.
struct Unreadable;

async fn find(
    log: LogReader,
    index: u64,
    body: Vec<u8>,
    wanted: Arc<str>,
) -> Result<Result<Option<Found>, Unreadable>, RekorError> {
    match artifact(&log, index, &body, &wanted).await {
        Ok(found) => Ok(Ok(found)),
        Err(Unread::Entry(_)) => Ok(Err(Unreadable)),
        Err(Unread::Source(why)) => Err(why),
    }
}

async fn artifact(
    log: &LogReader,
    index: u64,
    body: &[u8],
    wanted: &str,
) -> Result<Option<Found>, Unread> {
    let Signed { signer, statement } = signed(log, index, body).await?;
    if statement.predicate_type != wanted {
        return Ok(None);
    }
    let bytes = fetch(log, index, &statement.digest, "artifact", "I1").await?;
    Ok(Some(Found {
        log_index: index,
        signer: signer.digest(),
        bytes,
    }))
}
