//! A child process and the launcher's end of its socket.

use std::os::unix::net::UnixStream;
use std::process::{Child, ExitStatus};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use siegel_platform::socket::{read_message, write_message};
use siegel_wire::v1::{self, from_launcher, to_launcher};
use tokio::sync::watch;

use super::{Launcher, Measured};
use crate::rss::peak_rss_bytes;

/// How long a child that has closed its socket may take to exit.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// What is known of a child.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// Where it listens, once it has said so.
    pub ready: Option<String>,
    /// Why it gave up, in its own words.
    pub failed: Option<String>,
    /// How it ended, once it has.
    pub exit: Option<ExitStatus>,
    /// Largest resident set seen, bytes.
    pub peak_rss_bytes: u64,
}

/// A child. Dropping it kills and reaps it.
pub struct Running {
    pid: u32,
    child: Arc<Mutex<Child>>,
    socket: UnixStream,
    observed: watch::Sender<Observed>,
}

impl Running {
    pub(super) fn new(
        child: Child,
        socket: UnixStream,
        quotes: Option<(Launcher, Measured)>,
    ) -> std::io::Result<Self> {
        let pid = child.id();
        let child = Arc::new(Mutex::new(child));
        let observed = watch::Sender::new(Observed::default());
        // Built first: if the thread cannot start, dropping it ends the child.
        let running = Self {
            pid,
            child,
            socket,
            observed,
        };
        let listener = Listener {
            pid,
            socket: running.socket.try_clone()?,
            child: Arc::clone(&running.child),
            observed: running.observed.clone(),
            quotes,
        };
        let name = format!("launcher-{pid}");
        std::thread::Builder::new()
            .name(name)
            .spawn(move || listener.run())?;
        Ok(running)
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// What is known, now and as it changes.
    pub fn observed(&self) -> watch::Receiver<Observed> {
        self.observed.subscribe()
    }

    /// Looks at its memory; a dead process cannot be asked any more.
    pub fn sample(&self) {
        sample(self.pid, &self.observed);
    }

    /// SIGKILL by pid, and reaps it: afterwards the pid is free.
    pub fn kill(&self) {
        self.sample();
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        // Both fail only for a child that is reaped already.
        let _ = child.kill();
        if let Ok(status) = child.wait() {
            self.observed.send_modify(|o| o.exit = Some(status));
        }
    }

    /// Sends it a signal; false if it is dead already.
    pub fn signal(&self, signal: Signal) -> std::io::Result<bool> {
        // Who holds the child can send: it is not reaped meanwhile, so that the pid is its own.
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        if child.try_wait()?.is_some() {
            return Ok(false);
        }
        kill_process(Pid::from_child(&child), signal)?;
        Ok(true)
    }

    pub(super) fn socket(&self) -> &UnixStream {
        &self.socket
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
        // Ends the listening thread, whatever still holds the other end.
        let _ = self.socket.shutdown(std::net::Shutdown::Both);
    }
}

struct Listener {
    pid: u32,
    socket: UnixStream,
    child: Arc<Mutex<Child>>,
    observed: watch::Sender<Observed>,
    quotes: Option<(Launcher, Measured)>,
}

impl Listener {
    fn run(self) {
        while let Ok(Some(v1::ToLauncher { body: Some(body) })) = read_message(&self.socket) {
            sample(self.pid, &self.observed);
            match body {
                to_launcher::Body::QuoteRequest(request) => {
                    let evidence = self.answer(&request.report_data);
                    let body = Some(from_launcher::Body::Quote(v1::Quote { evidence }));
                    if write_message(&self.socket, &v1::FromLauncher { body }).is_err() {
                        break;
                    }
                }
                to_launcher::Body::Ready(v1::Ready { address }) => {
                    self.observed.send_modify(|o| o.ready = Some(address));
                }
                to_launcher::Body::Failed(v1::Failed { message }) => {
                    self.observed.send_modify(|o| o.failed = Some(message));
                }
            }
        }
        self.reap();
    }

    /// Empty means refused: what is not measured gets no evidence, and report data has 64 bytes.
    fn answer(&self, report_data: &[u8]) -> Vec<u8> {
        match (&self.quotes, report_data.try_into()) {
            (Some((launcher, measured)), Ok(report_data)) => {
                launcher.attest(*measured, report_data)
            }
            _ => Vec::new(),
        }
    }

    /// The socket is closed: the child has ended or is about to. A child that goes on without its
    /// launcher is killed.
    fn reap(&self) {
        let since = Instant::now();
        loop {
            let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
            if since.elapsed() > LAST_WORDS {
                let _ = child.kill();
            }
            if let Some(status) = child.try_wait().ok().flatten() {
                drop(child);
                self.observed.send_modify(|o| o.exit = Some(status));
                return;
            }
            drop(child);
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

fn sample(pid: u32, observed: &watch::Sender<Observed>) {
    if let Some(bytes) = peak_rss_bytes(pid) {
        observed.send_if_modified(|o| {
            o.peak_rss_bytes = o.peak_rss_bytes.max(bytes);
            false
        });
    }
}
