//! What to bring up.

use std::path::PathBuf;
use std::sync::Arc;

use siegel_depot::Store;
use siegel_ident::ProgramDigest;
use siegel_platform::{Clock, SystemClock};
use siegel_translog::LogAnchors;

use crate::binaries::NodeBinaries;

/// Where the nodes run.
pub enum Mode {
    /// Inside this process, over pipes. The same sessions, evidence and services.
    InProcess,
    /// One process each, on loopback.
    Processes {
        /// The measured binaries.
        binaries: Box<NodeBinaries>,
        /// The executable `siegel` for log, witnesses and depot; without it they are tasks of this process.
        command: Option<PathBuf>,
    },
}

/// A log that somebody else runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteLog {
    /// Where it is.
    pub url: String,
    /// Its name, key and witnesses: they go into the genesis, and every device pins them.
    pub anchors: LogAnchors,
    /// The URL that has the archive below it, if that is not the log's.
    pub archive: Option<String>,
}

/// How many of what, and where.
pub struct Options {
    /// KMS nodes.
    pub kms: u32,
    /// Workers.
    pub workers: u32,
    /// Witnesses of the log, each with an operator of its own in name only; all of them are required.
    /// 0: the log is UNWITNESSED.
    pub witnesses: u32,
    /// The run's folder: `log/`, `depot/`, `logs/`, `log-key.pem` and the witnesses'
    /// keys and folders go into it.
    pub dir: PathBuf,
    /// Stands in every log line.
    pub run_label: String,
    /// The one program that the root runs: in its measured configuration.
    pub program: ProgramDigest,
    /// Seed of a repeatable simulation: goes into the genesis, and voids the privacy statement.
    pub seed: Option<[u8; 32]>,
    /// Clock of everything in this process. Child processes use the host's.
    pub clock: Arc<dyn Clock>,
    /// This log instead of one of our own; its witnesses, if any, are those of its anchors.
    pub log: Option<RemoteLog>,
    /// In-process depot: this store instead of `file:DIR/depot`.
    pub store: Option<Store>,
}

impl Options {
    /// Three KMS nodes, two workers, two witnesses, the host's clock, no seed.
    pub fn new(dir: PathBuf, run_label: &str, program: ProgramDigest) -> Self {
        Self {
            kms: 3,
            workers: 2,
            witnesses: 2,
            dir,
            run_label: run_label.into(),
            program,
            seed: None,
            clock: Arc::new(SystemClock),
            log: None,
            store: None,
        }
    }
}
