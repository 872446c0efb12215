//! raft-rs logs through slog. Its text goes to `tracing`; its key-value pairs are dropped, since
//! some print whole messages.

use slog::{Drain, Logger, Never, OwnedKVList, Record};

/// A logger that passes on only the text of what is at least a warning.
pub(super) fn quiet() -> Logger {
    Logger::root(ToTracing, slog::o!())
}

struct ToTracing;

impl Drain for ToTracing {
    type Ok = ();
    type Err = Never;

    fn log(&self, record: &Record<'_>, _: &OwnedKVList) -> Result<(), Never> {
        match record.level() {
            slog::Level::Critical | slog::Level::Error => {
                tracing::error!(target: "raft", "{}", record.msg());
            }
            slog::Level::Warning => tracing::warn!(target: "raft", "{}", record.msg()),
            _ => {}
        }
        Ok(())
    }
}
