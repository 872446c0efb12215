//! Nodes inside this process. Each has a runtime of its own: ending that ends every task the node
//! has spawned, as a kill would (I8).

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use siegel_platform::{Clock, Platform, QuoteSource, StartInfo};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{mpsc, oneshot};

use super::node::Serve;
use crate::rss::peak_rss_bytes;
use crate::supervisor::{Crash, ProcessReport, READY_TIMEOUT, born_again};
use crate::{FleetError, ProcessName};

/// How long the threads of a killed node may take to stop.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// All in-process nodes.
pub(super) struct Threads {
    clock: Arc<dyn Clock>,
    crashes: mpsc::UnboundedSender<Crash>,
    /// Held for moments only, never while waiting for a node.
    nodes: Mutex<Nodes>,
}

#[derive(Default)]
struct Nodes {
    by_name: BTreeMap<ProcessName, Node>,
    /// Everything was ended for good: nothing starts any more.
    closed: bool,
}

struct Node {
    serve: Serve,
    quoter: Arc<dyn QuoteSource>,
    start: StartInfo,
    runtime: Option<Runtime>,
    /// Set before we end it ourselves, so that it is not reported as a crash.
    ours: Arc<AtomicBool>,
    restarts: u32,
}

/// A node that was started and has not said yet that it is ready.
struct Newborn {
    ready: oneshot::Receiver<String>,
    ended: tokio::task::JoinHandle<String>,
    ours: Arc<AtomicBool>,
    incarnation: u32,
}

impl Threads {
    pub(super) fn new(clock: Arc<dyn Clock>, crashes: mpsc::UnboundedSender<Crash>) -> Self {
        Self {
            clock,
            crashes,
            nodes: Mutex::default(),
        }
    }

    /// A second node like this one, with keys of its own.
    pub(super) async fn twin(
        &self,
        of: ProcessName,
        name: ProcessName,
        listen: String,
    ) -> Result<String, FleetError> {
        let (serve, quoter, start) = {
            let mut nodes = self.lock();
            let node = nodes.get(of)?;
            let (serve, quoter) = (Arc::clone(&node.serve), Arc::clone(&node.quoter));
            let start = StartInfo {
                listen,
                ..node.start.clone()
            };
            (serve, quoter, start)
        };
        self.start(name, serve, quoter, start).await
    }

    pub(super) fn has(&self, name: ProcessName) -> bool {
        self.lock().by_name.contains_key(&name)
    }

    pub(super) async fn start(
        &self,
        name: ProcessName,
        serve: Serve,
        quoter: Arc<dyn QuoteSource>,
        start: StartInfo,
    ) -> Result<String, FleetError> {
        let node = Node {
            serve,
            quoter,
            start,
            runtime: None,
            ours: Arc::default(),
            restarts: 0,
        };
        self.lock().by_name.insert(name, node);
        self.run(name).await
    }

    /// Returns when every task is gone: files and sockets are free again.
    pub(super) async fn kill(&self, name: ProcessName) -> Result<(), FleetError> {
        let runtime = self.lock().get(name)?.end();
        if let Some(runtime) = runtime {
            let stop = move || runtime.shutdown_timeout(STOP_TIMEOUT);
            // Fails only if stopping panics; the runtime is gone then too.
            let _ = tokio::task::spawn_blocking(stop).await;
        }
        Ok(())
    }

    pub(super) async fn restart(&self, name: ProcessName) -> Result<String, FleetError> {
        self.kill(name).await?;
        {
            let mut nodes = self.lock();
            let node = nodes.get(name)?;
            node.restarts += 1;
            born_again(name, &mut node.start);
        }
        self.run(name).await
    }

    /// How often it was started again.
    pub(super) fn incarnation(&self, name: ProcessName) -> Option<u32> {
        Some(self.lock().by_name.get(&name)?.restarts)
    }

    /// All of them are this one process.
    pub(super) fn report(&self) -> ProcessReport {
        let pid = std::process::id();
        ProcessReport {
            name: "siegel".into(),
            pid,
            peak_rss_bytes: peak_rss_bytes(pid).unwrap_or_default(),
            restarts: self.lock().by_name.values().map(|n| n.restarts).sum(),
        }
    }

    /// Ends all of them, and starts none any more.
    pub(super) fn end(&self) {
        let mut nodes = self.lock();
        nodes.closed = true;
        // Dropping a node ends it without waiting.
        nodes.by_name.clear();
    }

    fn lock(&self) -> MutexGuard<'_, Nodes> {
        self.nodes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn run(&self, name: ProcessName) -> Result<String, FleetError> {
        let mut born = self.lock().launch(name, &self.clock)?;
        let why = tokio::select! {
            biased;
            Ok(endpoint) = &mut born.ready => {
                self.lock().get(name)?.start.listen.clone_from(&endpoint);
                born.watch(name, self.crashes.clone());
                return Ok(endpoint);
            }
            why = &mut born.ended => why.unwrap_or_else(|_| "it panicked".into()),
            () = tokio::time::sleep(READY_TIMEOUT) => {
                format!("not ready after {} s", READY_TIMEOUT.as_secs())
            }
        };
        self.kill(name).await?;
        Err(FleetError::Stopped {
            name,
            why,
            tail: String::new(),
        })
    }
}

impl Nodes {
    fn get(&mut self, name: ProcessName) -> Result<&mut Node, FleetError> {
        self.by_name.get_mut(&name).ok_or(FleetError::Unknown(name))
    }

    fn launch(&mut self, name: ProcessName, clock: &Arc<dyn Clock>) -> Result<Newborn, FleetError> {
        if self.closed {
            return Err(FleetError::Ended);
        }
        let node = self.get(name)?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name(name.to_string())
            .enable_all()
            .build()
            .map_err(|source| FleetError::Launch { name, source })?;
        let (ready, is_ready) = oneshot::channel();
        // `ready` is called once; a second call has nobody to tell.
        let ready = Mutex::new(Some(ready));
        let platform = Platform::new(
            Arc::clone(clock),
            Arc::clone(&node.quoter),
            node.start.clone(),
            move |endpoint| {
                let taken = ready.lock().ok().and_then(|mut ready| ready.take());
                if let Some(ready) = taken {
                    let _ = ready.send(endpoint);
                }
            },
        );
        let ended = runtime.spawn((node.serve)(platform));
        node.runtime = Some(runtime);
        node.ours = Arc::default();
        Ok(Newborn {
            ready: is_ready,
            ended,
            ours: Arc::clone(&node.ours),
            incarnation: node.restarts,
        })
    }
}

impl Node {
    fn end(&mut self) -> Option<Runtime> {
        self.ours.store(true, Ordering::SeqCst);
        self.runtime.take()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if let Some(runtime) = self.end() {
            runtime.shutdown_background();
        }
    }
}

impl Newborn {
    /// Reports when it ends, unless we end it.
    fn watch(self, name: ProcessName, crashes: mpsc::UnboundedSender<Crash>) {
        tokio::spawn(async move {
            let why = self.ended.await.unwrap_or_else(|_| "it panicked".into());
            if !self.ours.load(Ordering::SeqCst) {
                tracing::error!(process = %name, why, "an in-process node ended by itself");
                let _ = crashes.send(Crash {
                    name,
                    incarnation: self.incarnation,
                    why,
                    tail: String::new(),
                });
            }
        });
    }
}
