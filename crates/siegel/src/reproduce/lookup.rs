//! Reads policy, log and archive: which binaries are stated, by whom, built from what.

use std::path::{Path, PathBuf};

use siegel_audit::{AuditAnchors, Search};
use siegel_endorse::{Endorsement, Manifest, Voice};
use siegel_ident::{Digest, PolicyDigest, Timestamp};
use siegel_policy::{AccessPolicy, Finding, Policy, Severity};
use siegel_rekor::{LogReader, RekorError};
use siegel_translog::predicate;

use super::expected::{self, EndorsementRef, Expected};
use super::measured;
use crate::failure::{Exit, Failure};

/// What was found out before anything is built.
#[derive(Debug, Default)]
pub struct Looked {
    pub policy: Option<PolicyDigest>,
    pub endorsement: Option<EndorsementRef>,
    /// None: nothing endorsed, or nothing said about the build; the findings say which.
    pub expected: Option<Expected>,
    pub findings: Vec<Finding>,
}

/// Log and anchors that a lookup trusts and reads.
pub struct Source {
    pub reader: LogReader,
    pub anchors: AuditAnchors,
}

impl Source {
    /// The given ones, else `log` and `anchors.json` beside `file`.
    pub fn open(
        log: Option<&str>,
        anchors: Option<&Path>,
        file: Option<&Path>,
    ) -> Result<Self, Failure> {
        let beside = |name: &str| file.map(|file| file.with_file_name(name));
        let missing = |option: &str| {
            let message = format!("with --digest, {option} must be given");
            Failure::usage("no-log", option, message, "see `siegel reproduce --help`")
        };
        let log = match log {
            Some(log) => log.to_owned(),
            None => beside("log")
                .ok_or_else(|| missing("--log"))?
                .display()
                .to_string(),
        };
        let anchors: PathBuf = match anchors {
            Some(anchors) => anchors.to_owned(),
            None => beside("anchors.json").ok_or_else(|| missing("--anchors"))?,
        };
        let help = "name the log with --log URL|FOLDER and your anchors with --anchors FILE";
        let reader =
            LogReader::new(&log).map_err(|why| Failure::usage("no-such-log", &log, why, help))?;
        let anchors = crate::audit_cmd::read_anchors(&anchors)?;
        Ok(Self { reader, anchors })
    }

    /// What the policy in these bytes lets in.
    pub async fn policy(&self, policy: &Policy, now: Timestamp) -> Result<Looked, Failure> {
        let mut looked = Looked {
            policy: Some(policy.digest()),
            ..Looked::default()
        };
        if policy.log.origin != self.anchors.log.origin {
            let message = format!(
                "the policy demands log {}, this is {}",
                policy.log.origin, self.anchors.log.origin
            );
            looked
                .findings
                .push(Finding::new(Severity::Error, "other-log", "I1", message));
        }
        if !self.has(policy, now).await? {
            let message = "this policy is not in the log: no client takes it";
            let finding = Finding::new(Severity::Error, "policy-not-logged", "I1", message);
            looked.findings.push(finding);
        }
        let voices = self.voices(&mut looked.findings, now).await?;
        let (best, findings) = expected::for_policy(policy, &voices, now);
        looked.findings.extend(findings);
        if let Some(voice) = best {
            self.fill(&mut looked, voice).await?;
            // Where no build is named, nothing is rebuilt that could stand for another file.
            if looked.expected.is_some() {
                let binaries = expected::binaries(voice);
                let checked = binaries.iter().flat_map(|b| measured::check(policy, b));
                looked.findings.extend(checked);
            }
        }
        Ok(looked)
    }

    /// A policy in the archive, or a binary that an endorsement names.
    pub async fn digest(&self, digest: Digest, now: Timestamp) -> Result<Looked, Failure> {
        if let Ok(bytes) = self.object(&digest).await?
            && let Ok(policy) = AccessPolicy::parse(&bytes)
        {
            return self.policy(&policy, now).await;
        }
        let mut looked = Looked::default();
        let voices = self.voices(&mut looked.findings, now).await?;
        let Some(voice) = expected::for_file(digest, &voices) else {
            let message = format!(
                "{digest} is neither a policy in this log's archive nor a binary that an endorsement names"
            );
            looked
                .findings
                .push(Finding::new(Severity::Error, "not-endorsed", "I3", message));
            return Ok(looked);
        };
        looked.findings.extend(expected::expired(voice, now));
        self.fill(&mut looked, voice).await?;
        Ok(looked)
    }

    /// Whether exactly this policy stands in the log.
    async fn has(&self, policy: &Policy, now: Timestamp) -> Result<bool, Failure> {
        let logged = self.search(predicate::POLICY, now).await?;
        Ok(logged
            .found
            .iter()
            .any(|found| found.bytes == policy.bytes()))
    }

    async fn search(&self, kind: &str, now: Timestamp) -> Result<Search, Failure> {
        let log = &self.anchors.log;
        let search = siegel_audit::search(&self.reader, log, kind, now).await;
        search.map_err(|why| {
            let exit = match why.not_trustworthy() {
                true => Exit::NotTrustworthy,
                false => Exit::Failed,
            };
            let help = "is the log there, and is it this one? siegel audit says more";
            let failure = Failure::new(exit, "log", &log.origin, &why, help);
            if why.not_trustworthy() {
                failure.under("I1")
            } else {
                failure
            }
        })
    }

    /// All endorsements of the log by keys that the anchors pin, if they pin any. One that does not
    /// parse vouches for nothing, and is said.
    async fn voices(
        &self,
        findings: &mut Vec<Finding>,
        now: Timestamp,
    ) -> Result<Vec<Voice>, Failure> {
        let log = &self.anchors.log;
        let search = self.search(predicate::ENDORSEMENT, now).await?;
        let mut warn = |id: &str, message: String| {
            findings.push(Finding::new(Severity::Warning, id, "I1", message));
        };
        if search.unreadable > 0 {
            let count = search.unreadable;
            let message =
                format!("{count} entries of the log cannot be read: siegel audit says why");
            warn("entries-unreadable", message);
        }
        if log.witnesses.is_none() {
            let message =
                "UNWITNESSED: nobody but the log's operator vouches that all see this log";
            warn("log-unwitnessed", message.to_owned());
        }
        let mut voices = Vec::new();
        let pinned = &self.anchors.endorsers;
        for found in search.found {
            if !pinned.is_empty() && !pinned.contains(&found.signer) {
                let (at, by) = (found.log_index, found.signer);
                let message = format!(
                    "log entry {at}: an endorsement by {by}, whom the anchors do not pin, was left out"
                );
                warn("other-endorser", message);
                continue;
            }
            match Endorsement::parse(&found.bytes) {
                Ok(endorsement) => voices.push(Voice {
                    endorsement,
                    endorser: found.signer,
                    log_index: found.log_index,
                }),
                Err(why) => {
                    let message = format!("log entry {}: {why}", found.log_index);
                    warn("endorsement-unreadable", message);
                }
            }
        }
        Ok(voices)
    }

    async fn fill(&self, looked: &mut Looked, voice: &Voice) -> Result<(), Failure> {
        looked.endorsement = Some(EndorsementRef::of(voice));
        let Some(binaries) = expected::binaries(voice) else {
            return Ok(());
        };
        let Some(build) = binaries.build.clone() else {
            let message =
                "the endorser does not say how these binaries were built: nobody can rebuild them";
            looked.findings.push(Finding::new(
                Severity::Error,
                "build-not-named",
                "I3",
                message,
            ));
            return Ok(());
        };
        let manifest = match self.object(&build.source).await? {
            Ok(bytes) => Manifest::parse(&bytes).map_err(|why| why.to_string()),
            Err(why) => Err(why),
        };
        let recipe = match &build.recipe {
            None => Ok(None),
            Some(digest) => {
                let text = |bytes| String::from_utf8(bytes).map_err(|_| "it is no text".to_owned());
                self.object(digest).await?.and_then(text).map(Some)
            }
        };
        let mut withheld = |id: &str, what: &str, why: &str| {
            let message = format!("the {what} of the endorsed build cannot be had: {why}");
            looked
                .findings
                .push(Finding::new(Severity::Warning, id, "I1", message));
        };
        if let Err(why) = &manifest {
            withheld("manifest-withheld", "source manifest", why);
        }
        if let Err(why) = &recipe {
            withheld("recipe-withheld", "recipe", why);
        }
        looked.expected = Some(Expected {
            flavour: binaries.flavour,
            files: expected::files(binaries),
            build,
            manifest: manifest.ok(),
            recipe: recipe.ok().flatten(),
        });
        Ok(())
    }

    /// Bytes of the archive. The inner error is in plain words: they are withheld or broken.
    async fn object(&self, digest: &Digest) -> Result<Result<Vec<u8>, String>, Failure> {
        match self.reader.archive_get(digest).await {
            Ok(bytes) => Ok(Ok(bytes)),
            Err(RekorError::NotFound(_)) => Ok(Err(format!("{digest} is not in the archive"))),
            Err(why) if why.is_transient() => Err(Failure::failed(
                "log",
                "archive",
                why,
                "is the log there? try again",
            )),
            Err(why) => Ok(Err(why.to_string())),
        }
    }
}

#[cfg(test)]
mod tests;
