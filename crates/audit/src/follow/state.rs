//! What an auditor remembers of a log: the checkpoints it has seen, and every contradiction.

use serde::{Deserialize, Serialize};
use siegel_ident::{Digest, Timestamp, json};
use siegel_policy::{Finding, Severity};
use siegel_translog::{LogAnchors, Tree};

use super::ahead::{AHEAD_MAX, AheadJson};
use super::{Ahead, Evidence, Seen};
use crate::audit::Audited;

const SCHEMA: &str = "siegel/audit-state/v1";
/// Checkpoints that are remembered, the newest ones. Each is consistent with the one before, so the
/// last one vouches for those that were forgotten.
const SEEN_MAX: usize = 256;
/// Contradictions that are listed; one is enough for the verdict.
const STANDING_MAX: usize = 64;
/// Longest state that is read, in bytes.
pub(super) const STATE_MAX: usize = 4 << 20;

/// The memory of one log. Sizes and roots are always read from the notes that the log has signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    log: LogAnchors,
    /// Oldest first; each has grown from the one before.
    pub(super) seen: Vec<(Timestamp, Seen)>,
    standing: Vec<Standing>,
    /// What observers were shown and this auditor was not, yet.
    ahead: Vec<Ahead>,
    /// The last audit took the log for one that others write in, too.
    shared: bool,
}

/// A contradiction that was found. It stands until somebody decides to start anew.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Standing {
    finding: String,
    message: String,
    /// Name of the evidence.
    evidence: String,
}

/// Why a document is not the state of this log.
#[derive(Debug)]
pub(super) enum NotState {
    /// Not what was written.
    Damaged(String),
    /// Another log's name or key.
    OtherLog(String),
}

impl State {
    /// Nothing is known of the log yet.
    pub fn new(log: &LogAnchors) -> Self {
        Self {
            log: log.clone(),
            seen: Vec::new(),
            standing: Vec::new(),
            ahead: Vec::new(),
            shared: false,
        }
    }

    /// The newest checkpoint that was verified.
    pub fn last(&self) -> Option<&Seen> {
        self.seen.last().map(|(_, seen)| seen)
    }

    /// True if the log was caught, now or earlier.
    pub fn is_contradicted(&self) -> bool {
        !self.standing.is_empty()
    }

    /// Notes of observers that were ahead of the log; each is held against it once it has grown so far.
    pub fn ahead(&self) -> &[Ahead] {
        &self.ahead
    }

    /// True if the last audit took the log for one that others write in, too.
    pub fn is_shared(&self) -> bool {
        self.shared
    }

    /// Remembers what an audit saw. True if there is anything new to remember.
    pub fn take(&mut self, audited: &Audited, now: Timestamp) -> bool {
        let before = self.clone();
        for evidence in &audited.report.evidence {
            let name = evidence.name();
            let known = self.standing.iter().any(|old| old.evidence == name);
            if !known && self.standing.len() < STANDING_MAX {
                self.standing.push(Standing {
                    finding: evidence.finding.clone(),
                    message: evidence.message.clone(),
                    evidence: name,
                });
            }
        }
        self.ahead.clone_from(&audited.ahead);
        self.ahead.truncate(AHEAD_MAX);
        if let Some(seen) = &audited.verified {
            self.shared = audited.report.log.shared;
            // The same tree, cosigned again: the newer note replaces the older.
            self.seen
                .pop_if(|(_, last)| last.checkpoint() == seen.checkpoint());
            self.seen.push((now, seen.clone()));
            let extra = self.seen.len().saturating_sub(SEEN_MAX);
            self.seen.drain(..extra);
        }
        *self != before
    }

    /// What was found earlier and still stands, except what this audit has found again.
    pub(crate) fn standing(&self, again: &[Evidence]) -> Vec<Finding> {
        let again: Vec<_> = again.iter().map(Evidence::name).collect();
        let old = self.standing.iter();
        old.filter(|standing| !again.contains(&standing.evidence))
            .map(|standing| {
                let message = format!(
                    "{} (found by an earlier audit; evidence {}; this stands until --rebaseline)",
                    standing.message, standing.evidence
                );
                Finding::new(Severity::Error, &standing.finding, "I1", message)
            })
            .collect()
    }

    /// Holds what the log shows against what it showed before (I1). `tree` is the recomputed one,
    /// absent if it is not what the checkpoint covers.
    pub(crate) fn contradiction(&self, shown: &Seen, tree: Option<&Tree>) -> Option<Evidence> {
        let (now, newest) = (shown.checkpoint(), self.last()?.checkpoint());
        let evidence = |id: &str, message: &str, other: &Seen| {
            let from = "the state of an earlier audit";
            Some(Evidence::new(id, message, shown, (from, other)))
        };
        if now.size < newest.size {
            let message = format!(
                "the log had {} entries when it was last audited, now it shows {}: entries were \
                 taken back",
                newest.size, now.size
            );
            return evidence("log-rollback", &message, self.last()?);
        }
        let forked = |(_, seen): &&(_, Seen)| shown.holds(seen, tree) == Some(false);
        let (_, other) = self.seen.iter().rev().find(forked)?;
        let known = other.checkpoint();
        let message = format!(
            "the log once had {} entries with root {}; what it shows now did not grow from that",
            known.size, known.root
        );
        evidence("log-not-consistent", &message, other)
    }

    /// The document: canonical JSON under its own digest, so that no byte of it can rot unseen.
    ///
    /// # Errors
    /// Of the JSON writer.
    pub(super) fn to_bytes(&self) -> Result<Vec<u8>, json::JsonError> {
        let seen = self.seen.iter().map(|(at, seen)| SeenJson {
            at: *at,
            note: seen.note().to_owned(),
        });
        let state = StateJson {
            schema: SCHEMA.to_owned(),
            origin: self.log.origin.clone(),
            key: self.log.key,
            seen: seen.collect(),
            standing: self.standing.clone(),
            ahead: self.ahead.iter().map(Ahead::to_json).collect(),
            shared: self.shared,
        };
        let sha256 = Digest::of(&json::to_canonical(&state)?);
        json::to_canonical(&FileJson { sha256, state })
    }

    /// Reads the document, and verifies every note in it again.
    pub(super) fn parse(bytes: &[u8], log: &LogAnchors) -> Result<Self, NotState> {
        let damaged = |why: &dyn std::fmt::Display| NotState::Damaged(why.to_string());
        let FileJson { sha256, state } =
            json::from_canonical(bytes, STATE_MAX).map_err(|e| damaged(&e))?;
        let body = json::to_canonical(&state).map_err(|e| damaged(&e))?;
        if Digest::of(&body) != sha256 {
            return Err(damaged(&"it has another digest than it states"));
        }
        if state.schema != SCHEMA {
            return Err(damaged(&format!("its schema is {:?}", state.schema)));
        }
        if state.origin != log.origin || state.key != log.key {
            return Err(NotState::OtherLog(state.origin));
        }
        let seen = state.seen.into_iter().map(|seen| {
            Seen::verify(seen.note, log)
                .map(|note| (seen.at, note))
                .map_err(|e| damaged(&e))
        });
        let ahead = state.ahead.into_iter();
        let ahead = ahead.map(|ahead| Ahead::of_json(ahead, log).map_err(|e| damaged(&e)));
        Ok(Self {
            log: log.clone(),
            seen: seen.collect::<Result<_, _>>()?,
            standing: state.standing,
            ahead: ahead.collect::<Result<_, _>>()?,
            shared: state.shared,
        })
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileJson {
    sha256: Digest,
    state: StateJson,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StateJson {
    schema: String,
    origin: String,
    #[serde(with = "siegel_ident::hex_serde")]
    key: [u8; 32],
    seen: Vec<SeenJson>,
    standing: Vec<Standing>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    ahead: Vec<AheadJson>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    shared: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SeenJson {
    at: Timestamp,
    note: String,
}
