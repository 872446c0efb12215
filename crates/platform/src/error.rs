//! What can go wrong below a node.

use std::path::PathBuf;

/// Why a node could not start, or could not get a quote.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlatformError {
    /// Started by hand.
    #[error(
        "standard input is not a launcher's socket: this program is started by a launcher \
         (`siegel simulate` does it), not by hand"
    )]
    NoLauncher,
    /// The launcher's socket broke or closed.
    #[error("the launcher's socket failed while {doing}: {source}")]
    Socket {
        /// What was being done.
        doing: &'static str,
        /// The cause.
        source: std::io::Error,
    },
    /// The launcher said something else than the protocol allows here.
    #[error("the launcher broke its protocol: {0}")]
    Protocol(String),
    /// The launcher (in place of the TEE) refused to quote.
    #[error("no evidence: {0}")]
    NoQuote(String),
    /// The processor is older than the build.
    #[error(
        "this processor lacks {missing}: Siegel's binaries need x86-64-v3 (same bytes on every \
         accepted CPU, I7)"
    )]
    Cpu {
        /// The missing features.
        missing: String,
    },
    /// No randomness, so no keys.
    #[error("the operating system gives no random bytes: {0}")]
    NoRandomness(String),
    /// The log file cannot be written.
    #[error("cannot open the log file {}: {source}", path.display())]
    LogFile {
        /// Which file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The log was set up twice in one process.
    #[error("a tracing subscriber is already installed in this process")]
    LogTwice,
    /// Core dumps would write keys to disk (I10).
    #[error("cannot switch core dumps off: {0}")]
    Harden(std::io::Error),
}
