//! Threads for the work on plaintext, apart from those that renew leases and erase.

use std::num::NonZeroUsize;
use std::sync::Arc;

use futures::future::try_join_all;
use tokio::sync::Semaphore;

use crate::stop::Stop;

/// Runs closures on a bounded number of threads, so that the runtime stays free to renew leases, to
/// erase (I9) and to answer. The bound holds for the whole process, work of questions that nobody
/// waits for any more included.
pub(crate) struct Pool {
    permits: Arc<Semaphore>,
    threads: usize,
}

impl Pool {
    pub(crate) fn new(threads: NonZeroUsize) -> Self {
        let threads = threads.get();
        Self {
            permits: Arc::new(Semaphore::new(threads)),
            threads,
        }
    }

    /// How many closures run at once.
    pub(crate) fn threads(&self) -> usize {
        self.threads
    }

    /// Runs `work` as soon as a thread is free. Dropping the future does not stop it once begun:
    /// it must look for itself whether it is still wanted.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Stop> + Send + 'static,
    ) -> Result<T, Stop> {
        self.run_wide(1, work).await
    }

    /// The same for work that makes `threads` threads of its own.
    pub(crate) async fn run_wide<T: Send + 'static>(
        &self,
        threads: usize,
        work: impl FnOnce() -> Result<T, Stop> + Send + 'static,
    ) -> Result<T, Stop> {
        let threads = threads.min(self.threads) as u32;
        let permit = self.permits.clone().acquire_many_owned(threads).await;
        let permit = permit.map_err(|_| Stop::Sum)?;
        let done = tokio::task::spawn_blocking(move || {
            let _until_done = permit;
            work()
        });
        // Else the work panicked, a defect. What it says could be about plaintext (I12).
        done.await.unwrap_or(Err(Stop::Sum))
    }

    /// Cuts `items` into one contiguous part per thread; the results come in their order.
    pub(crate) async fn split<T, U, W>(&self, items: Vec<T>, work: W) -> Result<Vec<U>, Stop>
    where
        T: Send + 'static,
        U: Send + 'static,
        W: Fn(Vec<T>) -> Result<U, Stop> + Clone + Send + 'static,
    {
        let part = items.len().div_ceil(self.threads).max(1);
        let mut items = items.into_iter().peekable();
        let mut parts = Vec::with_capacity(self.threads);
        while items.peek().is_some() {
            let (work, part) = (work.clone(), items.by_ref().take(part).collect());
            parts.push(self.run(move || work(part)));
        }
        try_join_all(parts).await
    }
}
