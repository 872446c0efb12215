//! A thread that waits for its own writes.

use crate::error::RekorError;

/// Runs what is asynchronous on the calling thread. Syncs go on beside each other on helper threads.
pub(crate) struct Io(tokio::runtime::Runtime);

impl Io {
    /// For one thread, which runs nothing else.
    pub(crate) fn new() -> Result<Self, RekorError> {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let failed = |source| RekorError::Io {
            what: "starting a writer".into(),
            source,
        };
        Ok(Self(runtime.map_err(failed)?))
    }

    /// The future's result, waited for.
    pub(crate) fn run<T>(&self, work: impl Future<Output = T>) -> T {
        self.0.block_on(work)
    }
}
