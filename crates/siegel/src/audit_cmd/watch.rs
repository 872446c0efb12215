//! `--watch`: looks again and again, and says what has changed.

use std::time::Duration;

use serde::Serialize;
use siegel_audit::{AuditReport, Verdict};
use siegel_ident::{Digest, Timestamp};
use siegel_policy::{Finding, Utc};

use super::{Auditor, exit, show};
use crate::failure::{Exit, Failure};
use crate::policy_cmd::clock;
use crate::say::say_line;

/// One line of the watch.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
enum Event<'a> {
    /// The log has changed, and was audited.
    Audited {
        at: Timestamp,
        origin: &'a str,
        size: Option<u64>,
        known: Option<u64>,
        root: Option<Digest>,
        verdict: Verdict,
        /// What the audit before did not find.
        new_findings: Vec<&'a Finding>,
    },
    /// The log cannot be reached; it is asked again.
    Away { at: Timestamp, why: String },
    /// It can be reached again.
    Back { at: Timestamp },
}

/// Where the watch stands.
#[derive(Default)]
struct Watch {
    /// The note that was audited last.
    note: Option<String>,
    found: Vec<Finding>,
    /// Size, root and verdict of it.
    shown: Option<(Option<u64>, Option<Digest>, Verdict)>,
    away: bool,
    last: Option<Exit>,
}

/// Watches until Ctrl-C, or until the log contradicts itself.
pub(super) async fn watch(
    auditor: &mut Auditor,
    seconds: u64,
    json: bool,
) -> Result<Exit, Failure> {
    let mut watch = Watch::default();
    let mut asked_to_end = std::pin::pin!(tokio::signal::ctrl_c());
    loop {
        let round = async {
            let caught = watch.round(auditor, json).await?;
            if !caught {
                tokio::time::sleep(Duration::from_secs(seconds)).await;
            }
            Ok::<_, Failure>(caught)
        };
        tokio::select! {
            _ = &mut asked_to_end => return Ok(watch.last.unwrap_or(Exit::Failed)),
            caught = round => {
                if caught? {
                    return Ok(Exit::NotTrustworthy);
                }
            }
        }
    }
}

impl Watch {
    /// Looks once. True if the log was caught: there is nothing more to wait for.
    async fn round(&mut self, auditor: &mut Auditor, json: bool) -> Result<bool, Failure> {
        let note = match auditor.reader.checkpoint().await {
            // What is wrong with a checkpoint is the audit's to say.
            Ok(note) => Some(note),
            Err(why) if why.is_transient() => {
                return self.is_away(&why, json).map(|()| false);
            }
            Err(_) => None,
        };
        if self.away {
            let at = clock(None)?;
            say(&Event::Back { at }, json)?;
            self.away = false;
        }
        if note.is_some() && note == self.note {
            return Ok(false);
        }
        let report = match auditor.try_round(None).await? {
            Ok(report) => report,
            Err(why) => return self.is_away(&why, json).map(|()| false),
        };
        self.audited(&report, json)?;
        (self.note, self.last) = (note, Some(exit(&report)));
        Ok(auditor.memory.state().is_contradicted())
    }

    fn is_away(&mut self, why: &dyn std::fmt::Display, json: bool) -> Result<(), Failure> {
        if std::mem::replace(&mut self.away, true) {
            return Ok(());
        }
        let (at, why) = (clock(None)?, why.to_string());
        say(&Event::Away { at, why }, json)
    }

    fn audited(&mut self, report: &AuditReport, json: bool) -> Result<(), Failure> {
        let shown = Some((report.log.size, report.log.root, report.verdict));
        if shown == self.shown && report.findings == self.found {
            // Cosigned again, or still without a valid checkpoint.
            return Ok(());
        }
        self.shown = shown;
        let is_new = |finding: &&Finding| !self.found.contains(finding);
        let event = Event::Audited {
            at: clock(None)?,
            origin: &report.log.origin,
            size: report.log.size,
            known: report.log.known,
            root: report.log.root,
            verdict: report.verdict,
            new_findings: report.findings.iter().filter(is_new).collect(),
        };
        say(&event, json)?;
        self.found.clone_from(&report.findings);
        Ok(())
    }
}

/// One object per line, or one line and what is new below it.
fn say(event: &Event<'_>, json: bool) -> Result<(), Failure> {
    if json {
        let line = serde_json::to_string(event);
        let failed = |why| Failure::failed("json", "audit", why, "");
        return say_line(&line.map_err(failed)?);
    }
    let text = match event {
        Event::Away { at, why } => format!("{}: the log is away: {why}", Utc(*at)),
        Event::Back { at } => format!("{}: the log is back", Utc(*at)),
        Event::Audited {
            at,
            origin,
            size,
            known,
            verdict,
            new_findings,
            ..
        } => {
            let size = size.map_or("no valid checkpoint".to_owned(), |n| format!("{n} entries"));
            let known = known.map_or(String::new(), |n| format!(" ({n} before)"));
            let verdict = show::verdict(*verdict == Verdict::Good);
            let mut text = format!("{}: {origin}: {size}{known}: {verdict}", Utc(*at));
            for finding in new_findings {
                text.push_str("\n  ");
                text.push_str(&show::printable(&finding.to_string()));
            }
            text
        }
    };
    say_line(&text)
}
