//! Which uploads a run reads, and how they come.

use siegel_ident::{BlobDigest, Digest, InputRoot};
use siegel_keys::WorkerGrant;
use siegel_link::LinkError;
use siegel_link::depot::{DepotClient, ObjectKind, Uploads};
use siegel_program::input_root;
use siegel_seal::upload::{MAX_PADDED, sealed_len_at_most};

use crate::pool::Pool;
use crate::stop::Stop;

/// A batch is full at this many uploads or bytes, whichever comes first.
const BATCH_BLOBS: usize = 256;
const BATCH_BYTES: usize = 32 * 1024 * 1024;

/// Most uploads of a run: their list has 256 MiB.
const MAX_BLOBS: u64 = 1 << 23;

/// The stored list of uploads, if it is exactly the registered one: same number, same
/// Merkle root (I2). Neither the depot nor the root, which stored the list, is believed.
pub(crate) async fn fetch_list(
    grant: &WorkerGrant,
    depot: &DepotClient,
    pool: &Pool,
) -> Result<Vec<BlobDigest>, Stop> {
    let (registered, root) = (grant.blob_count, grant.input_root);
    if registered > MAX_BLOBS {
        return Err(Stop::TooManyInputs { registered });
    }
    let max = registered as usize * Digest::LEN;
    let bytes = match depot.get(ObjectKind::Inputs, grant.inputs, max).await {
        Ok(bytes) if bytes.len() == max => bytes,
        Ok(_) | Err(LinkError::TooMuch { .. }) => return Err(Stop::InputCount { registered }),
        Err(error) => return Err(Stop::InputList(error)),
    };
    pool.run(move || parse(&bytes, root)).await
}

/// Refuses a digest that is there twice, too.
fn parse(bytes: &[u8], registered: InputRoot) -> Result<Vec<BlobDigest>, Stop> {
    let digests = bytes.chunks(Digest::LEN);
    let all: Option<Vec<_>> = digests.map(BlobDigest::try_from_slice).collect();
    let all = all.ok_or(Stop::InputRoot)?;
    match input_root(&all) {
        Ok(root) if root == registered => Ok(all),
        _ => Err(Stop::InputRoot),
    }
}

/// Some uploads, in digest order.
pub(crate) type Batch = Vec<Vec<u8>>;

/// Fetches all uploads in digest order, as one stream, and hands them over in batches.
///
/// Every worker reads every upload in the same order, so what is fetched tells the depot nothing.
/// A batch is fetched whole before any of it is opened: only the time that a whole batch took shows
/// outside, never that of one upload (I12). At most two batches (one being opened) and what the
/// stream sends ahead (1 MiB) are in memory.
pub(crate) struct Batches<'a>(Uploads<'a>);

impl<'a> Batches<'a> {
    pub(crate) fn new(digests: &'a [BlobDigest], depot: &'a DepotClient) -> Self {
        Self(depot.uploads(digests, sealed_len_at_most(MAX_PADDED) as usize))
    }

    /// The next batch; `None` after the last one. A missing or different upload stops the run;
    /// nobody can make it count as zero.
    pub(crate) async fn next(&mut self) -> Result<Option<Batch>, Stop> {
        let (mut batch, mut bytes) = (Batch::new(), 0);
        while batch.len() < BATCH_BLOBS
            && bytes < BATCH_BYTES
            && let Some(blob) = self.0.expected()
        {
            let fetched = self.0.next().await;
            let upload = fetched.map_err(|source| Stop::Blob { blob, source })?;
            bytes += upload.as_ref().map_or(0, Vec::len);
            batch.extend(upload);
        }
        Ok(if batch.is_empty() { None } else { Some(batch) })
    }
}
