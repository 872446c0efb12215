//! The clock of a process (I15): pure crates get its readings as arguments.

use std::time::{SystemTime, UNIX_EPOCH};

use siegel_ident::Timestamp;

/// Tells the time. A host's clock is the operator's: what must not trust it asks the KMS.
pub trait Clock: Send + Sync {
    /// Whole seconds since 1970.
    fn now(&self) -> Timestamp;
}

/// The host's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        // A clock before 1970 reads 0: everything with a start date is then refused.
        Timestamp(
            SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |d| d.as_secs()),
        )
    }
}

/// A clock that stands still until it is moved. Clones share one hand.
#[cfg(any(test, feature = "simulation"))]
#[derive(Clone, Debug)]
pub struct TestClock(std::sync::Arc<std::sync::atomic::AtomicU64>);

#[cfg(any(test, feature = "simulation"))]
impl TestClock {
    /// Stands at `now`.
    pub fn at(now: Timestamp) -> Self {
        Self(std::sync::Arc::new(now.0.into()))
    }
    /// Moves to `now`, backwards too.
    pub fn set(&self, now: Timestamp) {
        self.0.store(now.0, std::sync::atomic::Ordering::SeqCst);
    }
    /// Moves forward.
    pub fn advance(&self, by: siegel_ident::Seconds) {
        self.set(self.now().plus(by));
    }
}

#[cfg(any(test, feature = "simulation"))]
impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(std::sync::atomic::Ordering::SeqCst))
    }
}
