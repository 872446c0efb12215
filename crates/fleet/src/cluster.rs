//! A whole pipeline: log, depot, key service, workers, root, in either mode behind one API.

mod birth;
mod node;
mod nursery;
mod options;
mod threads;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use siegel_attest::{ClusterConfig, ReferenceValue};
use siegel_ident::Digest;
use siegel_keys::KmsNode;
use siegel_link::{Endpoint, Net};
use siegel_platform::Clock;
use tokio::sync::mpsc;

use crate::binaries::NodeBinaries;
use crate::supervisor::{Crash, ProcessReport, Supervisor};
use crate::{FleetError, Part, ProcessName};

pub use options::{Mode, Options};
use threads::Threads;

/// A running pipeline. Dropping it ends every part.
pub struct Cluster {
    parts: Parts,
    net: Net,
    clock: Arc<dyn Clock>,
    config: ClusterConfig,
    genesis: Vec<u8>,
    measured: Vec<MeasuredBinary>,
    log: Endpoint,
    depot: Endpoint,
    kms: Vec<KmsNode>,
    workers: Vec<Endpoint>,
    root: Endpoint,
    logs: PathBuf,
}

/// One measured role: what a policy names.
#[derive(Clone, Debug)]
pub struct MeasuredBinary {
    /// KMS, root or worker.
    pub part: Part,
    /// SHA-256 of the executable. In-process: of the command itself.
    pub sha256: Digest,
    /// What its evidence will say.
    pub reference: ReferenceValue,
}

/// Who holds which part: in process mode log and depot may still be threads.
struct Parts {
    threads: Threads,
    supervisor: Supervisor,
    in_process: bool,
}

impl Cluster {
    /// Brings everything up in order of birth (log, depot, key service and its genesis, workers,
    /// root) and returns when all of it is ready.
    pub async fn start(mode: Mode, options: Options) -> Result<Self, FleetError> {
        Box::pin(birth::start(mode, options)).await
    }

    /// Base URL of the log and archive.
    pub fn log_url(&self) -> String {
        format!("http://{}", self.log)
    }

    /// Where the depot listens.
    pub fn depot(&self) -> &Endpoint {
        &self.depot
    }

    /// The nodes of the key service.
    pub fn kms(&self) -> &[KmsNode] {
        &self.kms
    }

    /// Where the root listens.
    pub fn root(&self) -> &Endpoint {
        &self.root
    }

    /// Where the workers listen, in their order.
    pub fn workers(&self) -> &[Endpoint] {
        &self.workers
    }

    /// Reaches all these endpoints, pipes included.
    pub fn net(&self) -> &Net {
        &self.net
    }

    /// The clock that all parts in this process share.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// The static configuration: log key, simulation root, peers.
    pub fn config(&self) -> &ClusterConfig {
        &self.config
    }

    /// Exact bytes of the genesis document; its SHA-256 is the cluster id.
    pub fn genesis(&self) -> &[u8] {
        &self.genesis
    }

    /// The measured binaries: KMS, root, worker.
    pub fn measured(&self) -> &[MeasuredBinary] {
        &self.measured
    }

    /// The folder with the logs of the processes.
    pub fn logs(&self) -> &Path {
        &self.logs
    }

    /// True if the nodes are not apart from this process: a warning finding.
    pub fn in_process(&self) -> bool {
        self.parts.in_process
    }

    /// SIGKILL of one process, or the end of one in-process node with all its tasks.
    pub async fn kill(&mut self, name: ProcessName) -> Result<(), FleetError> {
        match self.parts.threads.has(name) {
            true => self.parts.threads.kill(name).await,
            false => self.parts.supervisor.kill(name),
        }
    }

    /// Kills it if it runs, and starts it again at the same endpoint, with new keys.
    ///
    /// # Errors
    /// [`FleetError::NoRestart`] for a KMS node: a restarted one would be a new member (I10), and
    /// joining is not built yet.
    pub async fn restart(&mut self, name: ProcessName) -> Result<(), FleetError> {
        if name.part == Part::Kms {
            let why = "a restarted KMS node is a new member, and joining is not built yet (I10)";
            return Err(FleetError::NoRestart { name, why });
        }
        match self.parts.threads.has(name) {
            true => self.parts.threads.restart(name).await.map(|_| ()),
            false => self.parts.supervisor.restart(name).await.map(|_| ()),
        }
    }

    /// Memory and restarts of every process; in-process nodes are one process.
    pub fn reports(&self) -> Vec<ProcessReport> {
        let mut reports = self.parts.supervisor.reports();
        reports.push(self.parts.threads.report());
        reports
    }

    /// Parts that end by themselves, as it happens. The first caller gets them.
    pub fn crashes(&mut self) -> Option<mpsc::UnboundedReceiver<Crash>> {
        self.parts.supervisor.crashes()
    }
}

impl Mode {
    /// Processes from these binaries; log and depot as `command serve … --launched`, or as tasks of
    /// this process where there is no command.
    pub fn processes(binaries: NodeBinaries, command: Option<PathBuf>) -> Self {
        Self::Processes { binaries, command }
    }
}
