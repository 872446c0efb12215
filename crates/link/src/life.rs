//! The end of a session, by the clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use siegel_ident::{Seconds, Timestamp};
use siegel_platform::Clock;
use siegel_session::{Session, SessionError};
use tokio::time::Instant;

/// How long a session still lives. Both halves share it.
///
/// The clock is the host's, which is the operator's. A clock that runs ahead ends the session; one
/// that is set back or stands still does not extend it: time is the latest that was seen, and at
/// least what has passed since the handshake.
pub(crate) struct Life {
    clock: Arc<dyn Clock>,
    begun: Timestamp,
    started: Instant,
    ends: Timestamp,
    latest: AtomicU64,
}

impl Life {
    /// Of a session that was made just now.
    pub(crate) fn of(session: &Session, clock: Arc<dyn Clock>) -> Self {
        Self {
            begun: session.begun().max(clock.now()),
            started: Instant::now(),
            ends: session.ends(),
            latest: AtomicU64::new(0),
            clock,
        }
    }

    fn now(&self) -> Timestamp {
        let passed = Seconds(self.started.elapsed().as_secs());
        let now = self.clock.now().max(self.begun.plus(passed)).0;
        Timestamp(self.latest.fetch_max(now, Ordering::SeqCst).max(now))
    }

    pub(crate) fn left(&self) -> Duration {
        Duration::from_secs(self.ends.since(self.now()).0)
    }

    /// Refuses to go on after the end.
    pub(crate) fn check(&self) -> Result<(), SessionError> {
        if self.now() < self.ends {
            Ok(())
        } else {
            Err(self.over())
        }
    }

    pub(crate) fn over(&self) -> SessionError {
        SessionError::Expired { ended: self.ends }
    }

    /// Returns at the end. A clock that is moved meanwhile shows at the next frame.
    pub(crate) async fn until_over(&self) {
        tokio::time::sleep(self.left()).await;
    }
}
