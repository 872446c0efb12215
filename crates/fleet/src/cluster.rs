//! A whole pipeline: log, witnesses, depot, key service, workers, root, in either mode behind one API.

mod birth;
mod kms;
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
use siegel_rekor::WitnessAt;
use tokio::sync::mpsc;

use crate::binaries::NodeBinaries;
use crate::supervisor::{Crash, ProcessReport, Supervisor};
use crate::{FleetError, Part, ProcessName};

pub(crate) use kms::Keyring;
pub use options::{Mode, Options, RemoteLog};
use threads::Threads;

/// A running pipeline. Dropping it ends every part.
pub struct Cluster {
    parts: Arc<Parts>,
    net: Net,
    clock: Arc<dyn Clock>,
    config: ClusterConfig,
    genesis: Vec<u8>,
    measured: Vec<MeasuredBinary>,
    log: String,
    witnesses: Vec<WitnessAt>,
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
    /// File name of the executable.
    pub file: String,
    /// SHA-256 of the executable. In-process: of the command itself.
    pub sha256: Digest,
    /// What its evidence will say.
    pub reference: ReferenceValue,
}

/// Who holds which part: in process mode log, witnesses and depot may still be threads.
pub(crate) struct Parts {
    threads: Threads,
    supervisor: Supervisor,
    in_process: bool,
}

impl Cluster {
    /// Brings everything up in order of birth (witnesses, log, depot, key service and its genesis, workers,
    /// root) and returns when all of it is ready.
    pub async fn start(mode: Mode, options: Options) -> Result<Self, FleetError> {
        Box::pin(birth::start(mode, options)).await
    }

    /// Base URL of the log and archive.
    pub fn log_url(&self) -> &str {
        &self.log
    }

    /// The witnesses of the log, and where they are.
    pub fn witnesses(&self) -> &[WitnessAt] {
        &self.witnesses
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

    /// SIGKILL of one process, or the end of one in-process node with all its tasks. It stays dead
    /// until it is restarted.
    pub async fn kill(&self, name: ProcessName) -> Result<(), FleetError> {
        self.parts.kill(name).await
    }

    /// Kills it if it runs, and starts it again at the same endpoint, with new keys. A node of the
    /// key service comes back in its place as a new member (I10); this returns when it is ready to
    /// be taken in, see [`Self::kms_caught_up`].
    pub async fn restart(&self, name: ProcessName) -> Result<(), FleetError> {
        self.parts.restart(name).await
    }

    /// Starts one more root inside this process: nobody keeps an operator from it, and a run has one
    /// result per step all the same (I6).
    ///
    /// # Errors
    /// [`FleetError::Unknown`] if the nodes are processes.
    pub async fn another_root(&self) -> Result<Endpoint, FleetError> {
        let [first, second] = [1, 2].map(|n| ProcessName::new(Part::Root, n));
        let listen = "pipe:root-2".to_owned();
        let address = self.parts.threads.twin(first, second, listen).await?;
        nursery::endpoint(&address)
    }

    /// SIGSTOP of one process: it does nothing, its connections stay open, and nobody is told.
    ///
    /// # Errors
    /// [`FleetError::NotAProcess`] for a node inside this process.
    pub fn pause(&self, name: ProcessName) -> Result<(), FleetError> {
        self.parts.process(name)?.pause(name)
    }

    /// SIGCONT of one process: it goes on where it was.
    ///
    /// # Errors
    /// [`FleetError::NotAProcess`] for a node inside this process.
    pub fn resume(&self, name: ProcessName) -> Result<(), FleetError> {
        self.parts.process(name)?.resume(name)
    }

    /// The node of the key service that leads now. Waits for an election.
    ///
    /// # Errors
    /// [`FleetError::NoLeader`] after some seconds.
    pub async fn kms_leader(&self) -> Result<ProcessName, FleetError> {
        self.keyring()?.leader().await
    }

    /// Returns when the replacement of a killed node is a full member again.
    ///
    /// # Errors
    /// [`FleetError::NotCaughtUp`] after a minute.
    pub async fn kms_caught_up(&self, name: ProcessName) -> Result<(), FleetError> {
        self.keyring()?.caught_up(name).await
    }

    /// Memory and restarts of every process; in-process nodes are one process.
    pub fn reports(&self) -> Vec<ProcessReport> {
        let mut reports = self.parts.supervisor.reports();
        reports.push(self.parts.threads.report());
        reports
    }

    /// Parts that end by themselves, as it happens. The first caller gets them.
    pub fn crashes(&self) -> Option<mpsc::UnboundedReceiver<Crash>> {
        self.parts.supervisor.crashes()
    }

    pub(crate) fn parts(&self) -> Arc<Parts> {
        Arc::clone(&self.parts)
    }

    pub(crate) fn keyring(&self) -> Result<Keyring, FleetError> {
        Keyring::new(&self.net, &self.kms)
    }
}

impl Drop for Cluster {
    /// Ends every part, whoever still holds a share of them.
    fn drop(&mut self) {
        self.parts.supervisor.end();
        self.parts.threads.end();
    }
}

impl Parts {
    pub(crate) async fn kill(&self, name: ProcessName) -> Result<(), FleetError> {
        match self.threads.has(name) {
            true => self.threads.kill(name).await,
            false => self.supervisor.kill(name),
        }
    }

    pub(crate) async fn restart(&self, name: ProcessName) -> Result<(), FleetError> {
        match self.threads.has(name) {
            true => self.threads.restart(name).await.map(drop),
            false => self.supervisor.restart(name).await.map(drop),
        }
    }

    /// How often it was started again.
    pub(crate) fn incarnation(&self, name: ProcessName) -> Option<u32> {
        let process = self.supervisor.incarnation(name);
        process.or_else(|| self.threads.incarnation(name))
    }

    fn process(&self, name: ProcessName) -> Result<&Supervisor, FleetError> {
        match self.threads.has(name) {
            true => Err(FleetError::NotAProcess(name)),
            false => Ok(&self.supervisor),
        }
    }
}

impl Mode {
    /// Processes from these binaries; log, witnesses and depot as `command serve … --launched`, or as tasks of
    /// this process where there is no command.
    pub fn processes(binaries: NodeBinaries, command: Option<PathBuf>) -> Self {
        let binaries = Box::new(binaries);
        Self::Processes { binaries, command }
    }
}
