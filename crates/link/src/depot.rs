//! The thin client of the depot. The depot is untrusted: whatever it serves is checked against
//! the digest that was asked for (I2), and bounded (I14).

mod uploads;

use std::future::Future;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use bytes::Bytes;
use siegel_ident::{BlobDigest, Digest, EpochId, PolicyDigest};
pub use siegel_wire::v1::ObjectKind;
use siegel_wire::v1::depot_client::DepotClient as Rpc;
use siegel_wire::v1::{GetRequest, ListRequest, PutChunk};
use tokio::time::Instant;
use tonic::transport::Channel;

use crate::LinkError;
pub use uploads::Uploads;

/// Bytes per chunk.
const CHUNK: usize = 256 * 1024;
/// Most digests in a list.
pub const LIST_MAX: usize = 1 << 23;
/// How long one message of the depot may take.
const STALL: Duration = Duration::from_secs(30);

/// A client of one depot. Cheap to clone.
#[derive(Clone)]
pub struct DepotClient {
    rpc: Rpc<Channel>,
    patience: Duration,
}

/// What became of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PutOutcome {
    /// SHA-256 of the bytes.
    pub digest: Digest,
    /// The same bytes were there already.
    pub duplicate: bool,
    /// How often they were sent. After the first time the duplicate may be our own: the depot
    /// stored it and died before it could say so.
    pub attempts: u32,
}

impl DepotClient {
    /// A client over this channel, without patience.
    pub fn new(channel: Channel) -> Self {
        Self {
            rpc: Rpc::new(channel),
            patience: Duration::ZERO,
        }
    }

    /// Retries for this long while the depot is away (I8). Every call can be repeated: objects
    /// are named by their digest.
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Stores an object; durable when this returns.
    pub async fn put(&self, kind: ObjectKind, bytes: Bytes) -> Result<PutOutcome, LinkError> {
        let digest = Digest::of(&bytes);
        let attempts = AtomicU32::new(0);
        let duplicate = self
            .patiently(|mut rpc| {
                attempts.fetch_add(1, Ordering::Relaxed);
                let chunks = put_chunks(kind, digest, bytes.clone());
                async move {
                    let reply =
                        timed("a depot put", rpc.put(futures::stream::iter(chunks))).await?;
                    Ok(reply.into_inner().duplicate)
                }
            })
            .await?;
        Ok(PutOutcome {
            digest,
            duplicate,
            attempts: attempts.into_inner(),
        })
    }

    /// Fetches an object of at most `max` bytes and checks its digest.
    ///
    /// # Errors
    /// [`LinkError::OtherBytes`], [`LinkError::TooMuch`], or a failed call.
    pub async fn get(
        &self,
        kind: ObjectKind,
        digest: Digest,
        max: usize,
    ) -> Result<Vec<u8>, LinkError> {
        let bytes = self
            .patiently(|mut rpc| async move {
                let request = GetRequest {
                    kind: kind.into(),
                    digest: digest.to_vec(),
                };
                let mut chunks = timed("a depot get", rpc.get(request)).await?.into_inner();
                let mut bytes = Vec::new();
                while let Some(chunk) = timed("a depot chunk", chunks.message()).await? {
                    if chunk.data.len() > max - bytes.len() {
                        return Err(LinkError::TooMuch { max, unit: "bytes" });
                    }
                    bytes.extend_from_slice(&chunk.data);
                }
                Ok(bytes)
            })
            .await?;
        match Digest::of(&bytes) {
            found if found == digest => Ok(bytes),
            found => Err(LinkError::OtherBytes {
                asked: digest,
                found,
            }),
        }
    }

    /// The digests of the uploads of one policy and epoch, strictly ascending. The depot may hide
    /// or invent some; the run's registration fixes the list, and each blob is checked when read.
    ///
    /// # Errors
    /// [`LinkError::List`] if it is not strictly ascending, [`LinkError::TooMuch`], or a failed
    /// call.
    pub async fn list(
        &self,
        policy: PolicyDigest,
        epoch: EpochId,
    ) -> Result<Vec<BlobDigest>, LinkError> {
        self.patiently(|mut rpc| async move {
            let request = ListRequest {
                policy_digest: policy.to_vec(),
                epoch: epoch.0,
            };
            let mut pages = timed("a depot list", rpc.list(request)).await?.into_inner();
            let mut digests: Vec<BlobDigest> = Vec::new();
            while let Some(page) = timed("a depot page", pages.message()).await? {
                for bytes in page.digests {
                    let at = digests.len();
                    let next = BlobDigest::try_from_slice(&bytes)
                        .filter(|next| digests.last().is_none_or(|last| last < next))
                        .ok_or(LinkError::List { at })?;
                    if at >= LIST_MAX {
                        return Err(LinkError::TooMuch {
                            max: LIST_MAX,
                            unit: "digests",
                        });
                    }
                    digests.push(next);
                }
            }
            Ok(digests)
        })
        .await
    }

    /// Repeats a call while the depot is away and patience lasts.
    async fn patiently<T, F>(&self, call: impl Fn(Rpc<Channel>) -> F) -> Result<T, LinkError>
    where
        F: Future<Output = Result<T, LinkError>>,
    {
        let mut patience = Patience::new(self.patience);
        loop {
            match call(self.rpc.clone()).await {
                Err(error) if is_away(&error) && patience.wait(&error).await => {}
                result => return result,
            }
        }
    }
}

/// How long one call is repeated.
struct Patience {
    give_up: Instant,
    pause: Duration,
}

impl Patience {
    fn new(patience: Duration) -> Self {
        Self {
            give_up: Instant::now() + patience,
            pause: Duration::from_millis(50),
        }
    }

    /// Pauses before the next try; false if there is none.
    async fn wait(&mut self, error: &LinkError) -> bool {
        if Instant::now() >= self.give_up {
            return false;
        }
        tracing::debug!(%error, "depot is away, trying again");
        tokio::time::sleep(self.pause).await;
        self.pause = (self.pause * 2).min(Duration::from_secs(1));
        true
    }
}

/// The one refusal that may pass is that of a store that failed, as that of a depot that is just
/// ending; a full store has another code.
fn is_away(error: &LinkError) -> bool {
    match error {
        LinkError::Refused(refusal) => refusal.code == "store-failed",
        error => error.is_away(),
    }
}

async fn timed<T>(
    what: &'static str,
    call: impl Future<Output = Result<T, tonic::Status>>,
) -> Result<T, LinkError> {
    match tokio::time::timeout(STALL, call).await {
        Ok(result) => Ok(result?),
        Err(_) => Err(LinkError::Timeout { what, after: STALL }),
    }
}

/// Kind and digest in the first chunk only; an empty object is one empty chunk.
fn put_chunks(
    kind: ObjectKind,
    digest: Digest,
    bytes: Bytes,
) -> impl Iterator<Item = PutChunk> + Send + 'static {
    (0..bytes.len().max(1)).step_by(CHUNK).map(move |start| {
        let data = bytes.slice(start..bytes.len().min(start + CHUNK)).to_vec();
        match start {
            0 => PutChunk {
                kind: kind.into(),
                digest: digest.to_vec(),
                data,
            },
            _ => PutChunk {
                kind: 0,
                digest: Vec::new(),
                data,
            },
        }
    })
}
