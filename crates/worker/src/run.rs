//! One granted run.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use siegel_ident::{BlobDigest, Fencing};
use siegel_keys::{KeysError, Lease, WorkerGrant, WorkloadKms};
use siegel_link::depot::{DepotClient, ObjectKind};
use siegel_program::{BlockCount, Bundle, IndexKey};
use siegel_session::PeerKeys;
use tokio::sync::OnceCell;

use crate::inputs;
use crate::stop::Stop;

/// Keys and facts of a run, all from the key service. Dropped, and with it zeroised, as soon as
/// the lease ends and no request uses it any more; every request checks the lease per upload (I9).
pub(crate) struct Run {
    pub(crate) grant: WorkerGrant,
    pub(crate) index: IndexKey,
    lease: Mutex<(Lease, Duration)>,
    inputs: OnceCell<Vec<BlobDigest>>,
    bundle: OnceCell<Bundle>,
}

impl Run {
    pub(crate) fn new(grant: WorkerGrant) -> Self {
        let index = IndexKey::new(&grant.index);
        let lease = Mutex::new((grant.lease, grant.lease.left()));
        Self {
            grant,
            index,
            lease,
            inputs: OnceCell::new(),
            bundle: OnceCell::new(),
        }
    }

    /// The lease as last renewed.
    pub(crate) fn lease(&self) -> Lease {
        self.lease.lock().unwrap_or_else(PoisonError::into_inner).0
    }

    /// Refuses a session of another root than the granted one, and another incarnation.
    pub(crate) fn check_root(&self, root: &PeerKeys, fencing: Fencing) -> Result<(), Stop> {
        if *root != self.grant.root {
            return Err(Stop::NotTheRoot);
        }
        let granted = self.grant.fencing;
        if fencing == granted {
            Ok(())
        } else {
            Err(Stop::Fencing {
                found: fencing,
                granted,
            })
        }
    }

    /// Into how many blocks the run is cut: by the registered, public blob count alone.
    pub(crate) fn blocks(&self) -> BlockCount {
        BlockCount::for_blobs(self.grant.blob_count)
    }

    /// Renews the lease with a quorum. A refusal is final: the caller erases the run. Without an
    /// answer the present lease counts until it ends.
    pub(crate) async fn renew(&self, kms: &WorkloadKms) -> Result<(), Stop> {
        match kms.renew_lease(self.grant.run).await {
            Ok(lease) => {
                let mut held = self.lease.lock().unwrap_or_else(PoisonError::into_inner);
                *held = (lease.max(held.0), lease.left());
            }
            Err(refused @ KeysError::Refused(_)) => return Err(refused.into()),
            Err(error) if self.lease().is_live() => {
                tracing::warn!(run = %self.grant.run, %error, "lease not renewed, still live");
            }
            Err(error) => return Err(error.into()),
        }
        self.check_lease()
    }

    /// Renews once half of the lease is used up.
    pub(crate) async fn renew_in_time(&self, kms: &WorkloadKms) -> Result<(), Stop> {
        let (lease, span) = *self.lease.lock().unwrap_or_else(PoisonError::into_inner);
        if lease.left() > span / 2 {
            Ok(())
        } else {
            self.renew(kms).await
        }
    }

    /// Returns when the lease has ended: also ends work that waits for the depot, so that no key
    /// outlives its lease by a stalled fetch (I9).
    pub(crate) async fn lease_over(&self) {
        while self.lease().is_live() {
            tokio::time::sleep_until(self.lease().until()).await;
        }
    }

    /// Refuses to go on without a live lease.
    pub(crate) fn check_lease(&self) -> Result<(), Stop> {
        if self.lease().is_live() {
            Ok(())
        } else {
            Err(Stop::NoLease(self.grant.run))
        }
    }

    /// The registered uploads, ascending; listed and checked once.
    pub(crate) async fn inputs(&self, depot: &DepotClient) -> Result<&[BlobDigest], Stop> {
        let list = self
            .inputs
            .get_or_try_init(|| inputs::list(&self.grant, depot))
            .await?;
        Ok(list)
    }

    /// The program, fetched by its digest once.
    pub(crate) async fn bundle(&self, depot: &DepotClient) -> Result<&Bundle, Stop> {
        self.bundle
            .get_or_try_init(|| async {
                let digest = self.grant.program.digest();
                let max = siegel_program::bundle::MAX_BUNDLE;
                // `get` checks the digest: the bytes are the ones that the policy names (I2).
                let bytes = depot.get(ObjectKind::Program, digest, max).await;
                Bundle::parse(&bytes.map_err(Stop::ProgramFetch)?).map_err(Stop::Program)
            })
            .await
    }
}
