//! Put, get and list.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use bytes::Bytes;
use futures::TryStreamExt as _;
use object_store::path::Path;
use siegel_ident::{BlobDigest, Digest, EpochId, PolicyDigest};
use siegel_seal::UploadHeader;

use crate::index::Index;
use crate::{DepotError, Kind, Store};

/// Bounds against a sender that is broken or hostile.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Longest object in bytes. An upload of the largest padded size fits.
    pub max_object_bytes: usize,
    /// How long a put may go without data.
    pub idle: Duration,
    /// Puts held in memory at a time.
    pub concurrent_puts: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_object_bytes: 32 * 1024 * 1024,
            idle: Duration::from_secs(30),
            concurrent_puts: 64,
        }
    }
}

/// What became of a put. In both cases the object is durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PutOutcome {
    /// It is new.
    Stored,
    /// The same bytes were there already: a retry, or a second sender.
    Duplicate,
}

/// The depot, without its service. Clones share one store.
#[derive(Clone)]
pub struct Depot {
    store: Store,
    index: Arc<RwLock<Index>>,
    limits: Limits,
}

impl Depot {
    /// Opens a store and rebuilds the index from its paths.
    pub async fn open(store: Store, limits: Limits) -> Result<Self, DepotError> {
        let mut index = Index::default();
        let mut found = std::pin::pin!(store.list(Kind::Upload.prefix()));
        while let Some(object) = found.try_next().await? {
            let (policy, epoch, digest) =
                upload_at(&object.location).ok_or_else(|| DepotError::Foreign {
                    path: object.location.to_string(),
                })?;
            index.add(digest, policy, epoch);
        }
        tracing::info!(uploads = index.len(), "depot opened");
        Ok(Self {
            store,
            index: Arc::new(RwLock::new(index)),
            limits,
        })
    }

    /// The bounds in force.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Checks and stores one object; it is durable when this returns.
    ///
    /// # Errors
    /// Bytes that are too long, have another digest, or are sent as an upload and are none; a full
    /// or failing store. Nothing is stored then.
    pub async fn put(
        &self,
        kind: Kind,
        claimed: Digest,
        bytes: Bytes,
    ) -> Result<PutOutcome, DepotError> {
        if bytes.len() > self.limits.max_object_bytes {
            return Err(DepotError::TooLong {
                max: self.limits.max_object_bytes,
            });
        }
        let got = Digest::of(&bytes);
        if got != claimed {
            return Err(DepotError::DigestMismatch { claimed, got });
        }
        let duplicate = if kind == Kind::Upload {
            let (header, _) = UploadHeader::parse(&bytes)?;
            let at = upload_path(header.policy, header.epoch, got);
            let duplicate = self.store.put(&at, bytes).await?;
            // Only after it is durable: what a list names can be fetched.
            let mut index = self.index.write().unwrap_or_else(PoisonError::into_inner);
            index.add(got.into(), header.policy, header.epoch);
            duplicate
        } else {
            self.store.put(&plain_path(kind, got), bytes).await?
        };
        Ok(if duplicate {
            PutOutcome::Duplicate
        } else {
            PutOutcome::Stored
        })
    }

    /// The object of this kind and digest. Readers check the digest themselves.
    pub async fn get(&self, kind: Kind, digest: Digest) -> Result<Bytes, DepotError> {
        let missing = DepotError::NotFound { kind, digest };
        let at = match kind {
            Kind::Upload => {
                let index = self.index.read().unwrap_or_else(PoisonError::into_inner);
                index
                    .find(&digest.into())
                    .map(|(policy, epoch)| upload_path(policy, epoch, digest))
            }
            Kind::Sealed | Kind::Program | Kind::Plan | Kind::Inputs => {
                Some(plain_path(kind, digest))
            }
        };
        let Some(at) = at else { return Err(missing) };
        self.store.get(&at).await?.ok_or(missing)
    }

    /// Digests of the uploads of one policy and epoch, ascending.
    pub fn list(&self, policy: PolicyDigest, epoch: EpochId) -> Vec<BlobDigest> {
        self.index
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .list(policy, epoch)
    }
}

/// `upload/POLICY/EPOCH/HH/DIGEST`; HH keeps folders small.
fn upload_path(policy: PolicyDigest, epoch: EpochId, digest: Digest) -> Path {
    let name = digest.to_string();
    let shard = name.get(..2).unwrap_or_default();
    Path::from(format!(
        "{}/{policy}/{epoch}/{shard}/{name}",
        Kind::Upload.prefix()
    ))
}

/// `KIND/HH/DIGEST`.
fn plain_path(kind: Kind, digest: Digest) -> Path {
    let name = digest.to_string();
    let shard = name.get(..2).unwrap_or_default();
    Path::from(format!("{}/{shard}/{name}", kind.prefix()))
}

fn upload_at(path: &Path) -> Option<(PolicyDigest, EpochId, BlobDigest)> {
    let parts: Vec<_> = path.parts().collect();
    let [_, policy, epoch, _, digest] = parts.as_slice() else {
        return None;
    };
    let policy = policy.as_ref().parse().ok()?;
    let epoch = EpochId(epoch.as_ref().parse().ok()?);
    let digest: BlobDigest = digest.as_ref().parse().ok()?;
    (upload_path(policy, epoch, digest.digest()) == *path).then_some((policy, epoch, digest))
}
