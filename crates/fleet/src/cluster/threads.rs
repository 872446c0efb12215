//! Nodes inside this process. Each has a runtime of its own: ending that ends every task the node
//! has spawned, as a kill would (I8).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use siegel_platform::{Clock, Platform, QuoteSource, StartInfo};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{mpsc, oneshot};

use super::node::Serve;
use crate::rss::peak_rss_bytes;
use crate::supervisor::{Crash, ProcessReport, READY_TIMEOUT};
use crate::{FleetError, ProcessName};

/// How long the threads of a killed node may take to stop.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// All in-process nodes.
pub(super) struct Threads {
    clock: Arc<dyn Clock>,
    crashes: mpsc::UnboundedSender<Crash>,
    nodes: BTreeMap<ProcessName, Node>,
    restarts: u32,
}

struct Node {
    serve: Serve,
    quoter: Arc<dyn QuoteSource>,
    start: StartInfo,
    runtime: Option<Runtime>,
    /// Set before we end it ourselves, so that it is not reported as a crash.
    ours: Arc<AtomicBool>,
}

impl Threads {
    pub(super) fn new(clock: Arc<dyn Clock>, crashes: mpsc::UnboundedSender<Crash>) -> Self {
        Self {
            clock,
            crashes,
            nodes: BTreeMap::new(),
            restarts: 0,
        }
    }

    pub(super) fn has(&self, name: ProcessName) -> bool {
        self.nodes.contains_key(&name)
    }

    pub(super) async fn start(
        &mut self,
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
        };
        self.nodes.insert(name, node);
        self.run(name).await
    }

    pub(super) async fn kill(&mut self, name: ProcessName) -> Result<(), FleetError> {
        self.nodes
            .get_mut(&name)
            .ok_or(FleetError::Unknown(name))?
            .end()
            .await;
        Ok(())
    }

    pub(super) async fn restart(&mut self, name: ProcessName) -> Result<String, FleetError> {
        self.kill(name).await?;
        self.restarts += 1;
        self.run(name).await
    }

    /// All of them are this one process.
    pub(super) fn report(&self) -> ProcessReport {
        let pid = std::process::id();
        ProcessReport {
            name: "siegel".into(),
            pid,
            peak_rss_bytes: peak_rss_bytes(pid).unwrap_or_default(),
            restarts: self.restarts,
        }
    }

    async fn run(&mut self, name: ProcessName) -> Result<String, FleetError> {
        let node = self.nodes.get_mut(&name).ok_or(FleetError::Unknown(name))?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name(name.to_string())
            .enable_all()
            .build()
            .map_err(|source| FleetError::Launch { name, source })?;
        let (ready, is_ready) = oneshot::channel();
        // `ready` is called once; a second call has nobody to tell.
        let ready = std::sync::Mutex::new(Some(ready));
        let quoter = Arc::clone(&node.quoter);
        let platform = Platform::new(
            Arc::clone(&self.clock),
            quoter,
            node.start.clone(),
            move |endpoint| {
                let taken = ready.lock().ok().and_then(|mut ready| ready.take());
                if let Some(ready) = taken {
                    let _ = ready.send(endpoint);
                }
            },
        );
        let mut ended = runtime.spawn((node.serve)(platform));
        node.runtime = Some(runtime);
        node.ours = Arc::default();
        let why = tokio::select! {
            biased;
            Ok(endpoint) = is_ready => {
                node.start.listen.clone_from(&endpoint);
                watch(name, ended, Arc::clone(&node.ours), self.crashes.clone());
                return Ok(endpoint);
            }
            why = &mut ended => why.unwrap_or_else(|_| "it panicked".into()),
            () = tokio::time::sleep(READY_TIMEOUT) => {
                format!("not ready after {} s", READY_TIMEOUT.as_secs())
            }
        };
        node.end().await;
        Err(FleetError::Stopped {
            name,
            why,
            tail: String::new(),
        })
    }
}

impl Node {
    /// Returns when every task is gone: files and sockets are free again.
    async fn end(&mut self) {
        self.ours.store(true, Ordering::SeqCst);
        if let Some(runtime) = self.runtime.take() {
            let stop = move || runtime.shutdown_timeout(STOP_TIMEOUT);
            // Fails only if stopping panics; the runtime is gone then too.
            let _ = tokio::task::spawn_blocking(stop).await;
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.ours.store(true, Ordering::SeqCst);
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

fn watch(
    name: ProcessName,
    ended: tokio::task::JoinHandle<String>,
    ours: Arc<AtomicBool>,
    crashes: mpsc::UnboundedSender<Crash>,
) {
    tokio::spawn(async move {
        let why = ended.await.unwrap_or_else(|_| "it panicked".into());
        if !ours.load(Ordering::SeqCst) {
            tracing::error!(process = %name, why, "an in-process node ended by itself");
            let _ = crashes.send(Crash {
                name,
                why,
                tail: String::new(),
            });
        }
    });
}
