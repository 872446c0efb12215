//! `siegel audit`: replay a log into findings and one verdict, once or as it grows.

mod html;
mod places;
mod show;
mod state;
mod watch;

use std::path::PathBuf;

use clap::Args;
use siegel_audit::{Audit, AuditAnchors, AuditError, AuditReport, Verdict};
use siegel_rekor::LogReader;

pub use places::read_anchors;

use crate::failure::{Exit, Failure};
use crate::policy_cmd::clock;
use crate::say::say_line;
use state::Memory;

/// Replay a log and its receipts into findings and one verdict.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  siegel audit siegel-runs/1f0c9a2b7d3e4f50
  siegel audit siegel-runs/1f0c9a2b7d3e4f50/log --anchors anchors.json
  siegel audit http://127.0.0.1:8090 --anchors anchors.json --json
  siegel audit http://127.0.0.1:8090 --anchors anchors.json --watch 30
  siegel audit siegel-runs/1f0c9a2b7d3e4f50 --html audit.html
  siegel audit https://rekor.example.org --anchors anchors.json --shared
  siegel audit siegel-runs/1f0c9a2b7d3e4f50 --state my-state --rebaseline   (then without)

The anchors are yours: the log's name and key, and what you know of it from elsewhere. `simulate`
writes those of its own log to anchors.json; an auditor of a real log gets them another way.

With a state the log is followed: each audit checks that it grew from what was seen before. Once it
has contradicted itself it stays not trustworthy, the two signed notes lie in the state's folder
`evidence`, and only --rebaseline begins anew.
Exit 1: the log is away, or the state is lost or damaged. Exit 2: there is no such log, or no state
where --state says (the first time: --rebaseline). Exit 3: verified, and not trustworthy; also a log that is damaged.")]
pub struct AuditArgs {
    /// The log: a URL, a log's folder, or the folder of a run
    #[arg(value_name = "URL|FOLDER")]
    pub log: String,

    /// Your trust anchors (JSON) [default: anchors.json in the folder of a run]
    #[arg(long, value_name = "FILE")]
    pub anchors: Option<PathBuf>,

    /// Where the log's payloads are, if not beside it: a URL that has archive/SHA256 below it
    #[arg(long, value_name = "URL")]
    pub archive: Option<String>,

    /// Follow the log: what was seen of it before is in this folder [default: none for a folder; for
    /// a URL siegel/audit/<log's name> in $XDG_STATE_HOME, or in ~/.local/state]
    #[arg(long, value_name = "FOLDER")]
    pub state: Option<PathBuf>,

    /// Give up what was seen before and begin anew
    #[arg(long)]
    pub rebaseline: bool,

    /// The log is one that others write in, too (a public Rekor): entries under keys that your anchors do
    /// not name, which say nothing in Siegel's words, are counted and are no alarm. Your anchors must pin
    /// publishers
    #[arg(long)]
    pub shared: bool,

    /// Compare with what others see: the URL of a log, mirror or witness, or of the note that it serves
    /// (…/checkpoint, …/checkpoint/<SHA-256 of the log's name>), a log's folder, or a file with a signed
    /// note; may be given several times. Of a log that is ahead, its hash tiles are asked whether this
    /// one is its beginning; a note that is ahead is kept in the state, and compared later
    #[arg(long, value_name = "URL|FOLDER|FILE")]
    pub observer: Vec<String>,

    /// Write the report as one HTML page that needs nothing else, too. A file that exists is replaced only
    /// if it is such a page; with --watch it is written anew at each change
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// Go on: look every so many seconds, audit when the log has changed, until Ctrl-C
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "10")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub watch: Option<u64>,
}

/// Runs the audit and prints its report.
pub async fn audit(args: AuditArgs, json: bool, now: Option<u64>) -> Result<Exit, Failure> {
    if args.watch.is_some() && now.is_some() {
        let message = "--now has no effect here: --watch goes by this machine's clock";
        return Err(Failure::usage(
            "no-effect",
            "--now",
            message,
            "leave it out",
        ));
    }
    let mut auditor = Auditor::open(&args)?;
    if let Some(seconds) = args.watch {
        return watch::watch(&mut auditor, seconds, json).await;
    }
    let report = auditor.round(now).await?;
    match json {
        true => say_line(&show::json(&report)?)?,
        false => say_line(&show::text(&report))?,
    }
    Ok(exit(&report))
}

/// A log, whoever audits it, and what is remembered of it.
struct Auditor {
    at: String,
    reader: LogReader,
    anchors: AuditAnchors,
    memory: Memory,
    html: Option<html::HtmlFile>,
    shared: bool,
}

impl Auditor {
    fn open(args: &AuditArgs) -> Result<Self, Failure> {
        let (at, anchors) = places::places(args)?;
        let anchors_at = anchors.display().to_string();
        let mut anchors = read_anchors(&anchors)?;
        if args.shared && anchors.publishers.is_empty() {
            let message = "--shared: the anchors pin no publisher, so nobody in this log could be told from \
                           a stranger";
            let help = "add the digests of your publishers' keys to the anchors (\"publishers\"), or leave \
                        --shared out";
            return Err(Failure::usage("no-publishers", &anchors_at, message, help).under("I1"));
        }
        anchors.observers.extend(args.observer.iter().cloned());
        places::observers_are_there(&anchors.observers)?;
        let help = "name a log's URL or its folder";
        let mut reader =
            LogReader::new(&at).map_err(|why| Failure::usage("no-such-log", &at, why, help))?;
        if let Some(archive) = &args.archive {
            let help = "for example http://127.0.0.1:8090, with a log at a URL";
            reader = reader
                .with_archive(archive)
                .map_err(|why| Failure::usage("bad-archive", "--archive", why, help))?;
        }
        let html = args.html.as_deref().map(html::HtmlFile::at).transpose()?;
        let memory = Memory::open(args, &at, &anchors)?;
        Ok(Self {
            at,
            reader,
            anchors,
            memory,
            html,
            shared: args.shared,
        })
    }

    /// One audit; what it saw is remembered.
    async fn round(&mut self, now: Option<u64>) -> Result<AuditReport, Failure> {
        match self.try_round(now).await? {
            Ok(report) => Ok(report),
            Err(why) => {
                let help = "is the log there, and is it this one?";
                Err(Failure::failed("audit", &self.at, why, help))
            }
        }
    }

    /// The same; the inner error says that there is nothing to judge.
    async fn try_round(
        &mut self,
        now: Option<u64>,
    ) -> Result<Result<AuditReport, AuditError>, Failure> {
        let now = clock(now)?;
        let audit = Audit::new(&self.anchors, now)
            .since(self.memory.state())
            .shared(self.shared)
            .kept(self.memory.is_kept())
            .rebaselined(self.memory.begins_anew());
        let audited = match audit.run(&self.reader).await {
            Ok(audited) => audited,
            Err(why) => return Ok(Err(why)),
        };
        self.memory.keep(&audited, now)?;
        if let Some(html) = &self.html {
            html.write(&audited.report, &self.at)?;
        }
        Ok(Ok(audited.report))
    }
}

fn exit(report: &AuditReport) -> Exit {
    match report.verdict {
        Verdict::Good => Exit::Ok,
        Verdict::NotTrustworthy => Exit::NotTrustworthy,
    }
}
