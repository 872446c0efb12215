//! What can go wrong while a fleet starts or runs.

use crate::ProcessName;

/// Names the process and what to do; a crash comes with the end of its log.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FleetError {
    /// The program cannot be started at all.
    #[error("cannot start {name}: {source}")]
    Launch {
        /// Which process.
        name: ProcessName,
        /// The cause.
        source: std::io::Error,
    },
    /// No `Ready` in time.
    #[error("{name} was not ready after {seconds} s{tail}")]
    NotReady {
        /// Which process.
        name: ProcessName,
        /// How long it was waited for.
        seconds: u64,
        /// The end of its log.
        tail: String,
    },
    /// It gave up, or died.
    #[error("{name} stopped: {why}{tail}")]
    Stopped {
        /// Which process.
        name: ProcessName,
        /// Its own words, or how it died.
        why: String,
        /// The end of its log.
        tail: String,
    },
    /// A name that this fleet does not have.
    #[error("there is no process {0} here")]
    Unknown(ProcessName),
    /// It does not run.
    #[error("{0} does not run")]
    Dead(ProcessName),
    /// A node inside this process takes no signals of its own.
    #[error("{0} is a part of this process and cannot be paused alone; run it as a process")]
    NotAProcess(ProcessName),
    /// A signal could not be sent.
    #[error("cannot send a signal to {name}: {source}")]
    Signal {
        /// Which process.
        name: ProcessName,
        /// The cause.
        source: std::io::Error,
    },
    /// The fleet was ended while something was being started.
    #[error("the fleet has ended")]
    Ended,
    /// It dies again and again, and nobody ordered that.
    #[error("{name} died {times} times within a minute, the last time: {why}{tail}")]
    CrashLoop {
        /// Which process.
        name: ProcessName,
        /// How often.
        times: usize,
        /// How it died the last time.
        why: String,
        /// The end of its log.
        tail: String,
    },
    /// The keys are gone with the majority that held them (I10).
    #[error(
        "the key service has lost its quorum: {} of {nodes} nodes are dead at once ({}). Their keys \
         were in memory only (I10), so this cluster opens nothing any more",
        dead.len(), names(dead)
    )]
    QuorumLost {
        /// Which nodes.
        dead: Vec<ProcessName>,
        /// How many there are in all.
        nodes: usize,
    },
    /// The replacement of a KMS node was not taken in.
    #[error("the replacement of {name} has not caught up with the cluster within {seconds} s")]
    NotCaughtUp {
        /// Whose.
        name: ProcessName,
        /// How long it was waited for.
        seconds: u64,
    },
    /// No node leads.
    #[error("no node of the key service leads, asked for {seconds} s")]
    NoLeader {
        /// How long it was waited for.
        seconds: u64,
    },
    /// A configuration that is refused before anything starts.
    #[error("configuration of {part}: {why}")]
    Config {
        /// Of what.
        part: &'static str,
        /// What is wrong.
        why: String,
    },
    /// A file or socket of the fleet itself.
    #[error("{what}: {source}")]
    Io {
        /// Which file or what was being done.
        what: String,
        /// The cause.
        source: std::io::Error,
    },
    /// No free TCP port.
    #[error("no free TCP port on 127.0.0.1 between {from} and {to}")]
    NoPort {
        /// First port tried.
        from: u16,
        /// Last port tried.
        to: u16,
    },
}

fn names(names: &[ProcessName]) -> String {
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    names.join(", ")
}

impl FleetError {
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }
}
