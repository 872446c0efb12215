//! What the targets have in common: one log with a known key, mock platforms, a simulation, and their clocks.

pub mod memory;
pub mod presented;
pub mod script;
pub mod snp;
pub mod world;

// What is built with coverage links what counts it, the examples too.
#[cfg(feature = "targets")]
use libfuzzer_sys as _;

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use siegel_ident::{Seconds, Timestamp};
use siegel_translog::LogAnchors;
use siegel_translog::testing::{TestLog, TestWitness};

/// Name of the log in the corpora.
pub const ORIGIN: &str = "log.example";
/// The clock of the targets. Witnesses in the corpora cosigned at this time.
pub const NOW: Timestamp = Timestamp(1_700_000_000);
/// What the statements of the corpora are about.
pub const ARTIFACT: &[u8] = b"{\"schema\":\"siegel/policy/v1\"}";

/// The log of the corpora: a known key, and two witnesses.
pub fn log() -> TestLog {
    let witnesses = vec![TestWitness::new(1), TestWitness::new(2)];
    let mut log = TestLog::new(ORIGIN, [7; 32]).witnessed(witnesses, Seconds(600));
    log.set_time(NOW);
    log
}

/// What a verifier pins of it.
pub fn anchors() -> LogAnchors {
    log().anchors()
}

/// Writes an input for a target, below `folder`.
///
/// # Errors
/// If it is longer than `max`, or the file cannot be written.
pub fn write_seed(
    folder: &Path,
    target: &str,
    name: &str,
    bytes: &[u8],
    max: usize,
) -> std::io::Result<()> {
    if bytes.len() > max {
        let long = format!("{target}/{name} has {} bytes", bytes.len());
        return Err(std::io::Error::other(long));
    }
    let folder = folder.join(target);
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join(name), bytes)
}

/// Standard base64 with padding.
pub fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}
