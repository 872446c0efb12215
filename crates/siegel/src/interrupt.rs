//! A command that is asked to end says so and exits with 1, whatever signal it was.

use siegel_fleet::supervisor;
use tokio::signal::unix::{SignalKind, signal};

use crate::failure::{Exit, Failure};

/// Does the work of the command `at`, unless a signal comes first: SIGINT, SIGTERM or SIGHUP. The work
/// is dropped then; `help` says what that leaves behind.
pub async fn or_interrupted<T>(
    at: &str,
    help: &str,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    // Signals first: their handlers are in place before anything starts.
    tokio::select! {
        biased;
        signal = supervisor::interrupted() => Err(match signal {
            Ok(name) => ended(at, name, help),
            Err(why) => Failure::failed("signals", at, why, ""),
        }),
        done = work => done,
    }
}

/// The same for work that has its own answer to SIGINT: a watch, which ends with its last verdict.
pub async fn or_terminated<T>(
    at: &str,
    help: &str,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let on = |kind| signal(kind).map_err(|why| Failure::failed("signals", at, why, ""));
    let (mut term, mut hup) = (on(SignalKind::terminate())?, on(SignalKind::hangup())?);
    tokio::select! {
        biased;
        _ = term.recv() => Err(ended(at, "SIGTERM", help)),
        _ = hup.recv() => Err(ended(at, "SIGHUP", help)),
        done = work => done,
    }
}

fn ended(at: &str, signal: &str, help: &str) -> Failure {
    Failure::new(
        Exit::Failed,
        "interrupted",
        at,
        format!("ended by {signal}"),
        help,
    )
}
