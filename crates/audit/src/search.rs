//! Artifacts of one kind in a log, for those who need no verdict on the rest of it.

use siegel_ident::{KeyDigest, Timestamp};
use siegel_rekor::{LogReader, RekorError};
use siegel_translog::{
    Checkpoint, HashedRekord, LogAnchors, ProofError, SpkiKey, Statement, Tree, dsse, merkle,
};

/// Entries read at a time.
const CHUNK: u64 = 1024;
/// Entries whose bytes are fetched at the same time.
const AT_ONCE: usize = 32;

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
    /// A task of this search died.
    #[error("the search broke off: {0}")]
    Broken(#[from] tokio::task::JoinError),
}

impl SearchError {
    /// True where the log itself is not to be trusted, false where it could not be read.
    pub fn not_trustworthy(&self) -> bool {
        matches!(self, Self::Checkpoint(_) | Self::Rewritten)
    }
}

/// Reads a log to its end and returns the artifacts whose statement has this predicate type. That the
/// entries together are what the signed checkpoint covers is checked first (I1).
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
    let bodies = read(log, &checkpoint).await?;
    let mut search = Search {
        size: checkpoint.size,
        ..Search::default()
    };
    for (index, chunk) in (0..).step_by(AT_ONCE).zip(bodies.chunks(AT_ONCE)) {
        let tasks: Vec<_> = (index..)
            .zip(chunk.iter().cloned())
            .map(|(index, body)| {
                let (log, wanted) = (log.clone(), predicate_type.to_owned());
                tokio::spawn(async move { open(&log, index, &body, &wanted).await })
            })
            .collect();
        for task in tasks {
            match task.await? {
                Ok(found) => search.found.extend(found),
                Err(Unread::Entry) => search.unreadable += 1,
                Err(Unread::Source(why)) => return Err(why.into()),
            }
        }
    }
    Ok(search)
}

/// The entries' bodies, which have exactly the checkpoint's root.
async fn read(log: &LogReader, checkpoint: &Checkpoint) -> Result<Vec<Vec<u8>>, SearchError> {
    let mut tree = Tree::new();
    let mut bodies = Vec::new();
    while tree.size() < checkpoint.size {
        let to = checkpoint.size.min(tree.size() + CHUNK);
        let chunk = match log.entries(tree.size(), to).await {
            Ok(chunk) if !chunk.is_empty() => chunk,
            Ok(_) | Err(RekorError::Damaged(_) | RekorError::NotFound(_)) => {
                return Err(SearchError::Rewritten);
            }
            Err(why) => return Err(why.into()),
        };
        for body in &chunk {
            tree.push(merkle::leaf_hash(body));
        }
        bodies.extend(chunk);
    }
    if tree.size() == checkpoint.size && tree.root() == checkpoint.root {
        return Ok(bodies);
    }
    Err(SearchError::Rewritten)
}

enum Unread {
    /// Something is wrong with the entry.
    Entry,
    /// The source failed, which says nothing about the entry.
    Source(RekorError),
}

async fn open(
    log: &LogReader,
    index: u64,
    body: &[u8],
    wanted: &str,
) -> Result<Option<Found>, Unread> {
    let record = HashedRekord::parse(body).map_err(|_| Unread::Entry)?;
    let pae = log.archive_get(&record.digest).await.map_err(unread)?;
    // Who vouches for a certificate is not known here: such an entry has no voice (I1).
    let signer = *record.verifier.key().map_err(|_| Unread::Entry)?;
    let statement = statement(&signer, &record, &pae).map_err(|_| Unread::Entry)?;
    if statement.predicate_type != wanted {
        return Ok(None);
    }
    let bytes = log.archive_get(&statement.digest).await.map_err(unread)?;
    Ok(Some(Found {
        log_index: index,
        signer: signer.digest(),
        bytes,
    }))
}

fn statement(signer: &SpkiKey, record: &HashedRekord, pae: &[u8]) -> Result<Statement, ProofError> {
    signer.verify(pae, &record.signature)?;
    Statement::parse(dsse::payload_of_pae(pae)?)
}

fn unread(why: RekorError) -> Unread {
    match why {
        RekorError::NotFound(_)
        | RekorError::OtherBytes { .. }
        | RekorError::TooLong { .. }
        | RekorError::Refused { .. }
        | RekorError::Damaged(_) => Unread::Entry,
        why => Unread::Source(why),
    }
}
