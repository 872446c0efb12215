//! How long a worker may go on starting blocks (I9).

use std::time::Duration;

use tokio::time::Instant;

/// The longest lease that is believed.
const MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// A right to start work until a moment of this process's own monotonic clock.
///
/// It counts from *before* the request was sent, so that it ends here no later than at the key
/// service, however long the answer took.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lease {
    until: Instant,
}

impl Lease {
    /// A lease of `seconds`, asked for at `sent`.
    pub(crate) fn new(sent: Instant, seconds: u64) -> Self {
        Self {
            until: sent + Duration::from_secs(seconds).min(MAX),
        }
    }

    /// True while blocks may be started.
    pub fn is_live(&self) -> bool {
        self.left() > Duration::ZERO
    }

    /// What is left of it.
    pub fn left(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }

    /// When it ends.
    pub fn until(&self) -> Instant {
        self.until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // I9: catches a lease that starts when the answer comes.
    #[tokio::test(start_paused = true)]
    async fn counts_from_before_the_request() {
        let sent = Instant::now();
        tokio::time::advance(Duration::from_secs(7)).await;
        let lease = Lease::new(sent, 10);
        assert_eq!(lease.left(), Duration::from_secs(3));
        tokio::time::advance(Duration::from_secs(3)).await;
        assert!(!lease.is_live());
        assert!(!Lease::new(sent, 0).is_live());
        assert!(Lease::new(sent, u64::MAX).left() <= MAX);
    }
}
