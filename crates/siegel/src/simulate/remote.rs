//! A log that somebody else runs, looked at before anything starts.

use std::time::Duration;

use siegel_fleet::cluster::RemoteLog;
use siegel_ident::Digest;
use siegel_rekor::{LogClient, RekorError};
use siegel_translog::{Checkpoint, LogAnchors};

use super::SimulateArgs;
use crate::audit_cmd::read_anchors;
use crate::failure::{Exit, Failure};

/// How long a first answer may take. A log that is away later is waited for: then it was there.
const FIRST_ANSWER: Duration = Duration::from_secs(10);

/// The log that `--log`, `--anchors` and `--archive` name, if it is there and is that log (I1).
pub(super) async fn remote_log(args: &SimulateArgs) -> Result<Option<RemoteLog>, Failure> {
    let (Some(url), Some(path)) = (&args.log, &args.anchors) else {
        return Ok(None);
    };
    let example = "for example http://127.0.0.1:8090";
    let mut log =
        LogClient::new(url).map_err(|why| Failure::usage("bad-log", "--log", why, example))?;
    if let Some(archive) = &args.archive {
        let with = log.with_archive(archive);
        log = with.map_err(|why| Failure::usage("bad-archive", "--archive", why, example))?;
    }
    let anchors = read_anchors(path)?.log;
    anchors.check().map_err(|why| {
        let at = path.display().to_string();
        Failure::usage("bad-anchors", &at, why, "see `siegel audit --help`")
    })?;
    let reached = tokio::time::timeout(FIRST_ANSWER, reach(&log, &anchors));
    reached.await.unwrap_or_else(|_| {
        let message = format!("no answer within {} seconds", FIRST_ANSWER.as_secs());
        Err(Failure::failed("log", url, message, AWAY))
    })?;
    Ok(Some(RemoteLog {
        url: url.clone(),
        anchors,
        archive: args.archive.clone(),
    }))
}

const AWAY: &str = "nothing was started; is the log running there?";

async fn reach(log: &LogClient, anchors: &LogAnchors) -> Result<(), Failure> {
    let note = log.checkpoint().await;
    let note = note.map_err(|why| Failure::failed("log", log.url(), why, AWAY))?;
    Checkpoint::verify_note(&note, &anchors.origin, &anchors.key).map_err(|why| {
        let help = "nothing was started; are these the anchors of this log?";
        Failure::new(Exit::NotTrustworthy, "other-log", log.url(), why, help).under("I1")
    })?;
    // Whether it takes anything will be seen; that nobody listens there can be said now.
    match log.archive_get(&Digest::of(b"")).await {
        Err(why @ RekorError::Network { .. }) => {
            let help = "nothing was started; is the archive running there?";
            Err(Failure::failed("archive", log.archive_url(), why, help))
        }
        _ => Ok(()),
    }
}
