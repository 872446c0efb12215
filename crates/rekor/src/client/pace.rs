//! How fast an answer must come: a log that drips bytes holds nobody for long.

use std::time::Duration;

use tokio::time::Instant;

use crate::error::RekorError;

/// The least pace of an answer. It is counted over the whole answer, so that no drip resets it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// Time until the first bytes, and for whatever is small.
    pub(crate) grace: Duration,
    /// Bytes in each second beyond that.
    pub(crate) rate: u32,
}

impl Pace {
    /// What a log must keep up with: its checkpoint within 10 s, the largest archived object within
    /// a minute or so.
    pub(super) const LEAST: Self = Self {
        grace: Duration::from_secs(10),
        rate: 20 * 1024,
    };

    /// Waits for more of an answer that was asked for at `begun` and of which `got` bytes are there.
    ///
    /// # Errors
    /// [`RekorError::Slow`].
    pub(super) async fn keep<T>(
        &self,
        url: &str,
        begun: Instant,
        got: usize,
        more: impl Future<Output = T>,
    ) -> Result<T, RekorError> {
        let earned = Duration::from_secs(1).mul_f64(got as f64 / f64::from(self.rate));
        let allowed = self.grace + earned;
        tokio::time::timeout_at(begun + allowed, more)
            .await
            .map_err(|_| RekorError::Slow {
                url: url.to_owned(),
                got,
                seconds: allowed.as_secs(),
            })
    }
}
