//! One granted run.

use std::sync::Arc;
use std::time::Duration;

use siegel_ident::Fencing;
use siegel_keys::{KeysError, Lease, WorkerGrant, WorkloadKms};
use siegel_program::{BlockCount, IndexKey};
use siegel_session::{PeerKeys, Purpose};
use tokio::sync::watch;

use crate::kept::Kept;
use crate::stop::Stop;

/// Shortest pause between two renewals.
const RENEW_PAUSE: Duration = Duration::from_millis(500);

/// Keys and facts of a run, all from the key service, and what was fetched and opened with them.
/// Dropped, and with it zeroised, as soon as the lease ends and no request uses it any more; work
/// under way asks before each upload, record and unit (I9).
pub(crate) struct Run {
    pub(crate) grant: WorkerGrant,
    pub(crate) index: IndexKey,
    pub(crate) kept: Arc<Kept>,
    right: watch::Sender<Right>,
}

/// The right to use the keys.
#[derive(Clone, Copy)]
struct Right {
    lease: Lease,
    /// How long the lease was when it came.
    span: Duration,
    /// Taken away before its time.
    ended: bool,
}

impl Right {
    fn is_live(&self) -> bool {
        !self.ended && self.lease.is_live()
    }
}

impl Run {
    pub(crate) fn new(grant: WorkerGrant, kept: Arc<Kept>) -> Self {
        let right = Right {
            lease: grant.lease,
            span: grant.lease.left(),
            ended: false,
        };
        Self {
            index: IndexKey::new(&grant.index),
            grant,
            kept,
            right: watch::Sender::new(right),
        }
    }

    /// The lease as last renewed.
    pub(crate) fn lease(&self) -> Lease {
        self.right.borrow().lease
    }

    /// True while the keys may be used.
    pub(crate) fn is_live(&self) -> bool {
        self.right.borrow().is_live()
    }

    /// Ends the right at once: work under way stops, and no renewal brings it back.
    pub(crate) fn end(&self) {
        self.right.send_modify(|right| right.ended = true);
    }

    /// Refuses a session of another root than the granted one, and another incarnation.
    pub(crate) fn check_root(&self, root: &PeerKeys, fencing: Fencing) -> Result<(), Stop> {
        if *root != self.grant.root {
            return Err(Stop::NotTheRoot);
        }
        self.check_fencing(fencing)
    }

    /// Refuses what a session was opened for, unless it is what was granted: this run under this
    /// policy, and this incarnation of its root (I3, I6).
    pub(crate) fn check_purpose(&self, purpose: &Purpose) -> Result<(), Stop> {
        let granted = self.grant.policy.digest();
        if purpose.policy != granted {
            return Err(Stop::OtherPolicy {
                found: purpose.policy,
                granted,
            });
        }
        self.check_fencing(purpose.fencing)
    }

    fn check_fencing(&self, found: Fencing) -> Result<(), Stop> {
        let granted = self.grant.fencing;
        if found == granted {
            Ok(())
        } else {
            Err(Stop::Fencing { found, granted })
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
            Ok(lease) => self.right.send_modify(|right| {
                right.lease = lease.max(right.lease);
                right.span = lease.left();
            }),
            Err(refused @ KeysError::Refused(_)) => return Err(refused.into()),
            Err(error) if self.is_live() => {
                tracing::warn!(run = %self.grant.run, %error, "lease not renewed, still live");
            }
            Err(error) => return Err(error.into()),
        }
        self.check_lease()
    }

    /// Renews whenever half of the lease is used up; returns why it cannot go on.
    pub(crate) async fn keep_renewing(&self, kms: &WorkloadKms) -> Stop {
        loop {
            let right = *self.right.borrow();
            let wait = right.lease.left().saturating_sub(right.span / 2);
            tokio::time::sleep(wait.max(RENEW_PAUSE)).await;
            if let Err(stop) = self.renew(kms).await {
                return stop;
            }
        }
    }

    /// Returns when the lease has ended: also ends work that waits for the depot, so that no key
    /// outlives its lease by a stalled fetch (I9).
    pub(crate) async fn lease_over(&self) {
        let mut changes = self.right.subscribe();
        loop {
            let right = *changes.borrow_and_update();
            if !right.is_live() {
                return;
            }
            tokio::select! {
                () = tokio::time::sleep_until(right.lease.until()) => {}
                _ = changes.changed() => {}
            }
        }
    }

    /// Refuses to go on without a live lease.
    pub(crate) fn check_lease(&self) -> Result<(), Stop> {
        if self.is_live() {
            Ok(())
        } else {
            Err(Stop::NoLease(self.grant.run))
        }
    }
}
