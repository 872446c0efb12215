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
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::Signal;
use serde::Serialize;
use siegel_platform::StartInfo;
use tokio::sync::mpsc;

use crate::launcher::{Image, Launcher};
use crate::{FleetError, ProcessName};

pub use port::free_port;
pub(crate) use process::born_again;
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
    /// Which of its incarnations, from 0: how often it had been started again.
    pub incarnation: u32,
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
    /// Held for moments only, never while waiting for a process to be ready.
    processes: Mutex<Processes>,
    crashes: mpsc::UnboundedSender<Crash>,
    unread: Mutex<Option<mpsc::UnboundedReceiver<Crash>>>,
}

#[derive(Default)]
struct Processes {
    by_name: BTreeMap<ProcessName, Process>,
    /// Everything was ended for good: nothing starts any more.
    closed: bool,
}

impl Supervisor {
    /// Logs go into `logs`, one file per process; the folder is made.
    pub fn new(launcher: Launcher, logs: &Path) -> Result<Self, FleetError> {
        fs::create_dir_all(logs).map_err(FleetError::io(logs.display().to_string()))?;
        let (crashes, unread) = mpsc::unbounded_channel();
        Ok(Self {
            launcher,
            logs: logs.into(),
            ready_timeout: READY_TIMEOUT,
            processes: Mutex::default(),
            crashes,
            unread: Mutex::new(Some(unread)),
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
        self.crashes.clone()
    }

    /// Crashes as they happen. The first caller gets them.
    pub fn crashes(&self) -> Option<mpsc::UnboundedReceiver<Crash>> {
        let mut unread = self.unread.lock().unwrap_or_else(PoisonError::into_inner);
        unread.take()
    }

    /// Starts a process and waits until it is ready; returns where it listens. `log_file` of the
    /// start message is filled in here.
    pub async fn start(
        &self,
        name: ProcessName,
        image: Image,
        mut start: StartInfo,
    ) -> Result<String, FleetError> {
        start.log_file = Some(self.log_path(name));
        self.lock().by_name.insert(name, Process::new(image, start));
        self.launch(name)?;
        self.until_ready(name).await
    }

    /// SIGKILL, and reaps it. One that is paused dies too.
    pub fn kill(&self, name: ProcessName) -> Result<(), FleetError> {
        self.lock().get(name)?.end();
        Ok(())
    }

    /// Starts it again at the same address, as a new process with new keys.
    pub async fn restart(&self, name: ProcessName) -> Result<String, FleetError> {
        {
            let mut processes = self.lock();
            let process = processes.get(name)?;
            process.end();
            process.restarts += 1;
            born_again(name, &mut process.start);
        }
        self.launch(name)?;
        self.until_ready(name).await
    }

    /// SIGSTOP: it does nothing, its connections stay open, and nobody is told.
    pub fn pause(&self, name: ProcessName) -> Result<(), FleetError> {
        self.signal(name, Signal::STOP)
    }

    /// SIGCONT: it goes on where it was.
    pub fn resume(&self, name: ProcessName) -> Result<(), FleetError> {
        self.signal(name, Signal::CONT)
    }

    fn signal(&self, name: ProcessName, signal: Signal) -> Result<(), FleetError> {
        let mut processes = self.lock();
        let process = processes.get(name)?;
        let dead = || FleetError::Dead(name);
        let running = process.running.as_ref().ok_or_else(dead)?;
        running
            .signal(signal)
            .map_err(|source| FleetError::Signal { name, source })?
            .then_some(())
            .ok_or_else(dead)
    }

    /// The present process id, if it runs.
    pub fn pid(&self, name: ProcessName) -> Option<u32> {
        let processes = self.lock();
        let running = processes.by_name.get(&name)?.running.as_ref()?;
        running
            .observed()
            .borrow()
            .exit
            .is_none()
            .then(|| running.pid())
    }

    /// How often it was started again.
    pub fn incarnation(&self, name: ProcessName) -> Option<u32> {
        Some(self.lock().by_name.get(&name)?.restarts)
    }

    /// Memory and restarts of all, in the order of names. Samples those that run.
    pub fn reports(&self) -> Vec<ProcessReport> {
        self.lock()
            .by_name
            .iter()
            .map(|(name, process)| ProcessReport {
                name: name.to_string(),
                pid: process.last_pid,
                peak_rss_bytes: process.peak_rss_bytes.max(process.sampled()),
                restarts: process.restarts,
            })
            .collect()
    }

    /// Kills and reaps all of them, and starts none any more.
    pub fn end(&self) {
        let mut processes = self.lock();
        processes.closed = true;
        processes.by_name.values_mut().for_each(Process::end);
    }

    fn lock(&self) -> MutexGuard<'_, Processes> {
        self.processes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn launch(&self, name: ProcessName) -> Result<(), FleetError> {
        let errors_path = self.errors_path(name);
        let log_path = self.log_path(name);
        let errors = File::options()
            .create(true)
            .append(true)
            .open(&errors_path)
            .map_err(FleetError::io(errors_path.display().to_string()))?;
        let mut processes = self.lock();
        if processes.closed {
            return Err(FleetError::Ended);
        }
        let process = processes.get(name)?;
        let running = self
            .launcher
            .launch(name, &process.image, &process.start, errors)?;
        process.last_pid = running.pid();
        process.ours = Arc::default();
        let (mut observed, ours) = (running.observed(), Arc::clone(&process.ours));
        let (crashes, incarnation) = (self.crashes.clone(), process.restarts);
        tokio::spawn(async move {
            // One that never was ready is an error of its start, not a crash.
            let why = match observed.wait_for(|o| o.exit.is_some()).await {
                Ok(ended) if ended.ready.is_some() => how_it_ended(&ended),
                _ => return,
            };
            if !*ours.lock().unwrap_or_else(PoisonError::into_inner) {
                let tail = tail::of(&[&log_path, &errors_path]);
                tracing::error!(process = %name, why, "a process ended by itself");
                let _ = crashes.send(Crash {
                    name,
                    incarnation,
                    why,
                    tail,
                });
            }
        });
        process.running = Some(running);
        Ok(())
    }

    async fn until_ready(&self, name: ProcessName) -> Result<String, FleetError> {
        let mut observed = {
            let mut processes = self.lock();
            let running = processes.get(name)?.running.as_ref();
            running.ok_or(FleetError::Dead(name))?.observed()
        };
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
                self.lock().get(name)?.start.listen.clone_from(&endpoint);
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

impl Processes {
    fn get(&mut self, name: ProcessName) -> Result<&mut Process, FleetError> {
        self.by_name.get_mut(&name).ok_or(FleetError::Unknown(name))
    }
}
