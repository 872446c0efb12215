//! Who has endorsed what a policy lets in, until when: read from the log.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde::Serialize;
use siegel_audit::{AuditAnchors, AuditError};
use siegel_endorse::{Build, Subject, Thing, Voice, endorsed_until, things};
use siegel_ident::{Digest, KeyDigest, Timestamp};
use siegel_policy::{AccessPolicy, Finding, Policy, Severity, Utc};
use siegel_rekor::LogReader;

use super::show::ShowArgs;
use crate::audit_cmd::read_anchors;
use crate::failure::{Exit, Failure};

/// A log and the anchors to read it under.
pub(super) struct Source {
    log: String,
    anchors: PathBuf,
}

/// One thing that a policy lets in.
#[derive(Debug, Serialize)]
pub struct Endorsed {
    /// `kms`, `root`, `worker` or `program`.
    pub role: String,
    /// Measurement of the binary, or digest of the program.
    pub digest: Digest,
    /// Who vouches for it, in the order of the log; empty if nobody does.
    pub by: Vec<By>,
}

/// One endorsement of it.
#[derive(Debug, Serialize)]
pub struct By {
    /// The key that signed it.
    pub endorser: KeyDigest,
    /// Key and flavour are such that it counts under the policy, in its window.
    pub counts: bool,
    /// First second in which it holds.
    pub not_before: Timestamp,
    /// First second in which it holds no more.
    pub not_after: Timestamp,
    /// Whether it holds at the time of this command.
    pub holds: bool,
    /// Where it stands in the log.
    pub log_index: u64,
    /// The Git commit, if the endorser names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The recipe, if the endorser names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recipe: Option<Digest>,
}

impl Source {
    /// What the options name, else what lies beside the policy; `None` if there is neither.
    pub(super) fn of(args: &ShowArgs) -> Result<Option<Self>, Failure> {
        let folder = args.file.parent().unwrap_or(Path::new(""));
        let (log, anchors) = (folder.join("log"), folder.join("anchors.json"));
        let log = log.is_dir().then(|| log.display().to_string());
        let anchors = anchors.is_file().then_some(anchors);
        let asked = args.log.is_some() || args.anchors.is_some();
        let log = args.log.clone().or(log);
        let anchors = args.anchors.clone().or(anchors);
        let at = args.file.display().to_string();
        let lacks = |option: &str, what: &str| {
            let message = format!("no {option}, and no {what} beside the policy");
            Failure::usage("no-log", &at, message, "name both --log and --anchors")
        };
        match (log, anchors) {
            (Some(log), Some(anchors)) => Ok(Some(Self { log, anchors })),
            _ if !asked => Ok(None),
            (None, _) => Err(lacks("--log", "folder log")),
            (_, None) => Err(lacks("--anchors", "anchors.json")),
        }
    }
}

/// Reads the log; says of each thing who vouches for it, and what is wrong: with the log, or with
/// what a client would find now.
pub(super) async fn look_up(
    policy: &Policy,
    source: &Source,
    now: Timestamp,
) -> Result<(Vec<Endorsed>, Vec<Finding>), Failure> {
    let anchors = read_anchors(&source.anchors)?;
    same_log(policy, &anchors, source)?;
    let at = source.log.as_str();
    let reader = LogReader::new(at)
        .map_err(|why| Failure::usage("no-such-log", at, why, "name a log's URL or its folder"))?;
    let read = siegel_audit::voices(&reader, &anchors, now).await;
    let read = read.map_err(|why| match why {
        AuditError::Checkpoint(_) => {
            let help = "are these the anchors of this log?";
            Failure::new(Exit::NotTrustworthy, "other-log", at, why, help).under("I1")
        }
        why => Failure::failed("log", at, why, "is the log there, and is it this one?"),
    })?;
    let mut findings = read.findings;
    if !read.policies.contains(&policy.digest()) {
        let message = "no client takes this policy: exactly these bytes are not in the log";
        findings.push(Finding::new(
            Severity::Warning,
            "policy-not-logged",
            "I1",
            message,
        ));
    }
    if let Err(lack) = endorsed_until(policy, &read.voices, now) {
        let (id, invariant) = (lack.code(), lack.invariant());
        let message = format!("no client takes this policy now: {lack}");
        findings.push(Finding::new(Severity::Warning, id, invariant, message));
    }
    let endorsed = things(policy).map(|thing| Endorsed::of(policy, thing, &read.voices, now));
    Ok((endorsed.collect(), findings))
}

/// Endorsements in another log than the policy's count for nobody.
fn same_log(policy: &AccessPolicy, anchors: &AuditAnchors, source: &Source) -> Result<(), Failure> {
    let (theirs, ours) = (&policy.log.origin, &anchors.log.origin);
    if theirs == ours {
        return Ok(());
    }
    let at = source.anchors.display().to_string();
    let message = format!("the policy's log is {theirs:?}, the anchors are for {ours:?}");
    Err(Failure::usage("other-log", &at, message, "name the policy's log").under("I1"))
}

impl Endorsed {
    fn of(policy: &AccessPolicy, thing: Thing, voices: &[Voice], now: Timestamp) -> Self {
        let (role, digest) = match &thing {
            Thing::Binary { part, value } => (part.as_str(), value.digest()),
            Thing::Program(program) => ("program", program.digest()),
        };
        let about = voices.iter().filter(|voice| voice.names(&thing));
        Self {
            role: role.into(),
            digest,
            by: about
                .map(|voice| By::of(voice, voice.counts_for(policy, &thing), now))
                .collect(),
        }
    }
}

impl By {
    fn of(voice: &Voice, counts: bool, now: Timestamp) -> Self {
        let said = &voice.endorsement;
        let build: Option<&Build> = match &said.subject {
            Subject::Binaries(binaries) => binaries.build.as_ref(),
            Subject::Program(_) => None,
        };
        Self {
            endorser: voice.endorser,
            counts,
            not_before: said.not_before,
            not_after: said.not_after,
            holds: said.holds_at(now),
            log_index: voice.log_index,
            commit: build.and_then(|build| build.commit.clone()),
            recipe: build.and_then(|build| build.recipe),
        }
    }
}

/// In words.
pub(super) fn text(endorsed: Option<&[Endorsed]>) -> String {
    let Some(endorsed) = endorsed else {
        return "Endorsements were not looked up: name the log with --log and --anchors.\n".into();
    };
    let mut out = "Who has endorsed what\n".to_owned();
    for thing in endorsed {
        let Endorsed { role, digest, by } = thing;
        // Writing to a string cannot fail.
        let _ = match by.as_slice() {
            [] => writeln!(out, "- {role} {digest}: nobody"),
            _ => writeln!(out, "- {role} {digest}"),
        };
        for by in by {
            let _ = writeln!(out, "    {}", line(by));
        }
    }
    out
}

fn line(by: &By) -> String {
    let mut line = format!("by key {} until {}", by.endorser, Utc(by.not_after));
    if !by.holds {
        line += &format!(", which does not hold now (from {})", Utc(by.not_before));
    }
    if !by.counts {
        line += ", which does not count under this policy";
    }
    if let Some(commit) = &by.commit {
        line += &format!(", commit {commit}");
    }
    line + &format!(" (log entry {})", by.log_index)
}
