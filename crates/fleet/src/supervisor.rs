//! Starts processes, waits until they are ready, restarts them, and ends every one of them by pid.
//!
//! There are two nets under each child: dropping the supervisor kills and reaps it, and if the
//! supervisor itself is killed, the child's socket closes and the child exits.

mod port;
mod process;
mod signal;
mod tail;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use serde::Serialize;
use siegel_platform::StartInfo;
use tokio::sync::mpsc;

use crate::launcher::{Image, Launcher};
use crate::{FleetError, ProcessName};

pub use port::free_port;
use process::{Process, how_it_ended};
pub use signal::interrupted;

/// How long a process may take until it says `Ready`.
pub const READY_TIMEOUT: Duration = Duration::from_secs(30);

/// One line of the summary.
#[derive(Clone, Debug, Serialize)]
pub struct ProcessReport {
    /// `kms#1`.
    pub name: String,
    /// Its present or last process id.
    pub pid: u32,
    /// Largest resident set of any of its incarnations, bytes.
    pub peak_rss_bytes: u64,
    /// How often it was started again.
    pub restarts: u32,
}

/// A process that ended without being told to.
#[derive(Clone, Debug)]
pub struct Crash {
    /// Which.
    pub name: ProcessName,
    /// Its own words, or how it died.
    pub why: String,
    /// The end of its log.
    pub tail: String,
}

/// All processes of one fleet.
pub struct Supervisor {
    launcher: Launcher,
    logs: PathBuf,
    ready_timeout: Duration,
    processes: BTreeMap<ProcessName, Process>,
    crashes: (
        mpsc::UnboundedSender<Crash>,
        Option<mpsc::UnboundedReceiver<Crash>>,
    ),
}

impl Supervisor {
    /// Logs go into `logs`, one file per process; the folder is made.
    pub fn new(launcher: Launcher, logs: &Path) -> Result<Self, FleetError> {
        fs::create_dir_all(logs).map_err(FleetError::io(logs.display().to_string()))?;
        let (sender, receiver) = mpsc::unbounded_channel();
        Ok(Self {
            launcher,
            logs: logs.into(),
            ready_timeout: READY_TIMEOUT,
            processes: BTreeMap::new(),
            crashes: (sender, Some(receiver)),
        })
    }

    /// Waits no longer than this for `Ready`, instead of [`READY_TIMEOUT`].
    #[must_use]
    pub fn with_ready_timeout(mut self, timeout: Duration) -> Self {
        self.ready_timeout = timeout;
        self
    }

    /// Where nodes that are not processes report that they ended.
    pub(crate) fn crash_reports(&self) -> mpsc::UnboundedSender<Crash> {
        self.crashes.0.clone()
    }

    /// Crashes as they happen. The first caller gets them.
    pub fn crashes(&mut self) -> Option<mpsc::UnboundedReceiver<Crash>> {
        self.crashes.1.take()
    }

    /// Starts a process and waits until it is ready; returns where it listens. `log_file` of the
    /// start message is filled in here.
    pub async fn start(
        &mut self,
        name: ProcessName,
        image: Image,
        mut start: StartInfo,
    ) -> Result<String, FleetError> {
        start.log_file = Some(self.log_path(name));
        let process = Process::new(image, start);
        self.processes.insert(name, process);
        self.launch(name)?;
        self.until_ready(name).await
    }

    /// SIGKILL, and reaps it.
    pub fn kill(&mut self, name: ProcessName) -> Result<(), FleetError> {
        self.processes
            .get_mut(&name)
            .ok_or(FleetError::Unknown(name))?
            .end();
        Ok(())
    }

    /// Starts it again at the same address, as a new process with new keys.
    pub async fn restart(&mut self, name: ProcessName) -> Result<String, FleetError> {
        let process = self
            .processes
            .get_mut(&name)
            .ok_or(FleetError::Unknown(name))?;
        process.end();
        process.restarts += 1;
        self.launch(name)?;
        self.until_ready(name).await
    }

    /// The present process id, if it runs.
    pub fn pid(&self, name: ProcessName) -> Option<u32> {
        let running = self.processes.get(&name)?.running.as_ref()?;
        running
            .observed()
            .borrow()
            .exit
            .is_none()
            .then(|| running.pid())
    }

    /// Memory and restarts of all, in the order of names. Samples those that run.
    pub fn reports(&self) -> Vec<ProcessReport> {
        self.processes
            .iter()
            .map(|(name, process)| ProcessReport {
                name: name.to_string(),
                pid: process.last_pid,
                peak_rss_bytes: process.peak_rss_bytes.max(process.sampled()),
                restarts: process.restarts,
            })
            .collect()
    }

    fn launch(&mut self, name: ProcessName) -> Result<(), FleetError> {
        let errors_path = self.errors_path(name);
        let log_path = self.log_path(name);
        let process = self
            .processes
            .get_mut(&name)
            .ok_or(FleetError::Unknown(name))?;
        let errors = File::options()
            .create(true)
            .append(true)
            .open(&errors_path)
            .map_err(FleetError::io(errors_path.display().to_string()))?;
        let running = self
            .launcher
            .launch(name, &process.image, &process.start, errors)?;
        process.last_pid = running.pid();
        process.ours = Arc::default();
        let (mut observed, ours) = (running.observed(), Arc::clone(&process.ours));
        let crashes = self.crashes.0.clone();
        tokio::spawn(async move {
            // One that never was ready is an error of its start, not a crash.
            let why = match observed.wait_for(|o| o.exit.is_some()).await {
                Ok(ended) if ended.ready.is_some() => how_it_ended(&ended),
                _ => return,
            };
            if !*ours.lock().unwrap_or_else(PoisonError::into_inner) {
                let tail = tail::of(&[&log_path, &errors_path]);
                tracing::error!(process = %name, why, "a process ended by itself");
                let _ = crashes.send(Crash { name, why, tail });
            }
        });
        process.running = Some(running);
        Ok(())
    }

    async fn until_ready(&mut self, name: ProcessName) -> Result<String, FleetError> {
        let process = self.processes.get(&name).ok_or(FleetError::Unknown(name))?;
        let running = process.running.as_ref().ok_or(FleetError::Unknown(name))?;
        let mut observed = running.observed();
        let news = observed.wait_for(|o| o.ready.is_some() || o.exit.is_some());
        let news = tokio::time::timeout(self.ready_timeout, news)
            .await
            .map(|seen| {
                seen.map(|o| (o.ready.clone(), how_it_ended(&o)))
                    .unwrap_or_else(|_| (None, "it is gone".into()))
            });
        let error = match news {
            Ok((Some(endpoint), _)) => {
                // A restart must come back where the others look for it.
                if let Some(process) = self.processes.get_mut(&name) {
                    process.start.listen.clone_from(&endpoint);
                }
                return Ok(endpoint);
            }
            Ok((None, why)) => FleetError::Stopped {
                name,
                why,
                tail: self.tail(name),
            },
            Err(_) => FleetError::NotReady {
                name,
                seconds: self.ready_timeout.as_secs(),
                tail: self.tail(name),
            },
        };
        self.kill(name)?;
        Err(error)
    }

    fn tail(&self, name: ProcessName) -> String {
        tail::of(&[&self.log_path(name), &self.errors_path(name)])
    }

    fn log_path(&self, name: ProcessName) -> PathBuf {
        self.logs.join(format!("{}.jsonl", name.file_stem()))
    }

    fn errors_path(&self, name: ProcessName) -> PathBuf {
        self.logs.join(format!("{}.stderr", name.file_stem()))
    }
}
