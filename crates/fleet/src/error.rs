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
    /// A process that cannot come back.
    #[error("{name} cannot be restarted: {why}")]
    NoRestart {
        /// Which process.
        name: ProcessName,
        /// Why.
        why: &'static str,
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

impl FleetError {
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }
}
