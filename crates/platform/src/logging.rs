//! Tracing as JSON lines: `ts`, `level`, `run`, `process`, `target`, then the event's own fields.
//!
//! The level is fixed: a switch in the environment would have to be measured. Secrets and plaintext
//! have no `Debug` or `Display` (I13), so they cannot become fields.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};

use crate::{PlatformError, StartInfo};

mod line;

/// Installs the process-wide subscriber. Without a file nothing is written.
pub fn init(
    file: Option<&Path>,
    process: &'static str,
    start: &StartInfo,
) -> Result<(), PlatformError> {
    let Some(path) = file else { return Ok(()) };
    let process = match start.node.0 {
        0 => process.to_owned(),
        n => format!("{process}-{n}"),
    };
    let layer = JsonLines::open(path, &start.run_label, &process)?;
    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(layer))
        .map_err(|_| PlatformError::LogTwice)
}

/// A tracing layer that appends to one file.
pub struct JsonLines {
    file: Mutex<File>,
    run: String,
    process: String,
}

impl JsonLines {
    /// Appends to `path`; `run` and `process` stand in every line.
    pub fn open(path: &Path, run: &str, process: &str) -> Result<Self, PlatformError> {
        let file = File::options()
            .create(true)
            .append(true)
            .open(path)
            .map_err(|source| PlatformError::LogFile {
                path: path.into(),
                source,
            })?;
        Ok(Self {
            file: Mutex::new(file),
            run: run.into(),
            process: process.into(),
        })
    }
}

impl<S: Subscriber> Layer<S> for JsonLines {
    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        // Ours in full; of the libraries only what is wrong.
        let limit = if metadata.target().starts_with("siegel") {
            Level::INFO
        } else {
            Level::WARN
        };
        *metadata.level() <= limit
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let ts = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let text = line::render(ts, &self.run, &self.process, event);
        // A full disk must not stop a node; the lines are lost.
        let _ = self
            .file
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .write_all(text.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use siegel_ident::NodeId;

    // Catches a line without its run, a library's chatter, and a level switch.
    #[test]
    fn one_line_per_event_with_run_and_process() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("node.log");
        let layer = JsonLines::open(&path, "run-7", "siegel-kms-2").unwrap();
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
            tracing::info!(step = 3, name = "x\"y", "committed");
            tracing::debug!("not written");
            tracing::info!(target: "h2", "not written");
            tracing::warn!(target: "h2", ok = true, "written");
        });
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<_> = text.lines().map(|l| l.split_once(',').unwrap().1).collect();
        assert_eq!(
            lines,
            [
                r#""level":"INFO","run":"run-7","process":"siegel-kms-2","target":"siegel_platform::logging::tests","message":"committed","step":3,"name":"x\"y"}"#,
                r#""level":"WARN","run":"run-7","process":"siegel-kms-2","target":"h2","message":"written","ok":true}"#,
            ]
        );
        assert!(text.starts_with("{\"ts\":"));
        let start = StartInfo {
            node: NodeId(1),
            ..StartInfo::default()
        };
        assert!(init(None, "x", &start).is_ok());
        assert!(matches!(
            init(Some(Path::new("/no/such/folder/x")), "x", &start),
            Err(PlatformError::LogFile { .. })
        ));
    }
}
