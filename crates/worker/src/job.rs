//! One question under way, shared by the threads that work on it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::question::Question;
use crate::run::Run;
use crate::stop::Stop;

pub(crate) struct Job {
    pub(crate) run: Arc<Run>,
    pub(crate) question: Question,
    unwanted: AtomicBool,
}

impl Job {
    /// Work is wanted as long as the returned [`Asker`] lives.
    pub(crate) fn new(run: Arc<Run>, question: Question) -> (Arc<Self>, Asker) {
        let job = Arc::new(Self {
            run,
            question,
            unwanted: AtomicBool::new(false),
        });
        (job.clone(), Asker(job))
    }

    /// To be asked before each upload, record and unit: no plaintext is touched without a live
    /// lease, be the process slow or paused, nor for nobody (I9).
    pub(crate) fn check(&self) -> Result<(), Stop> {
        if self.unwanted.load(Ordering::Relaxed) {
            return Err(Stop::NobodyAsks);
        }
        self.run.check_lease()
    }
}

/// Whoever waits for the answer; dropping it stops the work.
pub(crate) struct Asker(Arc<Job>);

impl Drop for Asker {
    fn drop(&mut self) {
        self.0.unwanted.store(true, Ordering::Relaxed);
    }
}
