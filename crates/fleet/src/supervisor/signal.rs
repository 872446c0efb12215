//! Ctrl-C and `kill`.

use tokio::signal::unix::{SignalKind, signal};

use crate::FleetError;

/// Resolves when the command is asked to end: SIGINT or SIGTERM, or SIGHUP of a closed terminal.
/// Drop the cluster then; children have process groups of their own and do not get the signal.
///
/// # Errors
/// If handlers cannot be installed.
pub async fn interrupted() -> Result<&'static str, FleetError> {
    let on = |kind| signal(kind).map_err(FleetError::io("installing a signal handler"));
    let (mut int, mut term, mut hup) = (
        on(SignalKind::interrupt())?,
        on(SignalKind::terminate())?,
        on(SignalKind::hangup())?,
    );
    Ok(tokio::select! {
        _ = int.recv() => "SIGINT",
        _ = term.recv() => "SIGTERM",
        _ = hup.recv() => "SIGHUP",
    })
}
