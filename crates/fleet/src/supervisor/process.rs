//! One supervised process over all its incarnations.

use std::sync::{Arc, Mutex, PoisonError};

use siegel_platform::StartInfo;

use crate::launcher::{Image, Observed, Running};
use crate::{Part, ProcessName};

pub(super) struct Process {
    pub(super) image: Image,
    pub(super) start: StartInfo,
    pub(super) running: Option<Running>,
    /// Set before we end it ourselves, so that it is not reported as a crash.
    pub(super) ours: Arc<Mutex<bool>>,
    pub(super) last_pid: u32,
    pub(super) peak_rss_bytes: u64,
    pub(super) restarts: u32,
}

impl Process {
    pub(super) fn new(image: Image, start: StartInfo) -> Self {
        Self {
            image,
            start,
            running: None,
            ours: Arc::default(),
            last_pid: 0,
            peak_rss_bytes: 0,
            restarts: 0,
        }
    }

    pub(super) fn end(&mut self) {
        *self.ours.lock().unwrap_or_else(PoisonError::into_inner) = true;
        if let Some(running) = self.running.take() {
            running.kill();
            self.peak_rss_bytes = self
                .peak_rss_bytes
                .max(running.observed().borrow().peak_rss_bytes);
        }
    }

    pub(super) fn sampled(&self) -> u64 {
        let Some(running) = &self.running else {
            return 0;
        };
        running.sample();
        running.observed().borrow().peak_rss_bytes
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

pub(super) fn how_it_ended(observed: &Observed) -> String {
    match (&observed.failed, &observed.exit) {
        (Some(words), _) => words.clone(),
        (None, Some(status)) => status.to_string(),
        (None, None) => "it still runs".into(),
    }
}

/// How a process is started after its first time. A node of the key service has lost its keys with
/// its memory: it comes back in its old place as a new member, and never founds (I10).
pub(crate) fn born_again(name: ProcessName, start: &mut StartInfo) {
    if name.part == Part::Kms {
        (start.founder, start.join) = (false, true);
    }
}
