//! A witness: it cosigns a log's checkpoint once it has a proof that the log only grew since the one
//! that it cosigned before (C2SP tlog-witness, tlog-cosignature). So whoever asks for the cosignatures
//! of several witnesses, run by different people, sees the same log as everyone else who does (I1).
//!
//! What is decided is a function of values ([`decide`]); this module is the shell around it.

mod decide;
mod evidence;
mod key;
mod request;
mod seen;
mod server;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use siegel_ident::{NamedKey, Timestamp};
use siegel_translog::checkpoint::check_origin;

use crate::error::RekorError;
use crate::keyed::KeyedFolder;

use decide::Decision;
use key::WitnessKey;
use seen::Seen;

pub(crate) use request::{AddCheckpoint, decimal};
pub use server::serve_witness;

/// Longest request, in bytes.
pub(crate) const MAX_ADD: usize = 64 * 1024;

/// Tells the time: whole seconds since 1970 (I15).
pub type Now = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// A log that a witness watches: its name and key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WitnessLog {
    /// As in its checkpoints.
    pub origin: String,
    /// Ed25519, 32 bytes.
    pub key: [u8; 32],
}

/// What a witness is started with.
#[derive(Clone, Debug)]
pub struct Witnessing<'a> {
    /// Its name in signature lines.
    pub name: &'a str,
    /// Its private key; made together with the folder.
    pub key_file: &'a Path,
    /// What it has cosigned, and evidence against logs.
    pub state: &'a Path,
    /// The logs that it watches.
    pub logs: &'a [WitnessLog],
}

/// A witness of some logs.
pub struct Witness {
    key: WitnessKey,
    logs: Vec<WitnessLog>,
    now: Now,
    /// Held from the decision until what was decided is durable: no two answers from one state.
    memory: Mutex<Memory>,
}

struct Memory {
    folder: KeyedFolder,
    seen: Seen,
    /// The disk may have another state than `seen`.
    unclear: bool,
}

/// What a request is answered with.
pub(crate) enum Answer {
    /// The cosignature line.
    Cosigned(String),
    /// The size of the last checkpoint that was cosigned.
    Conflict(u64),
    /// Nothing was cosigned, for this reason.
    Refused(Refused, String),
}

/// The kinds of refusal, each with a status of its own in C2SP tlog-witness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// 400.
    Malformed,
    /// 403.
    UnknownKey,
    /// 404.
    UnknownLog,
    /// 422.
    NotProven,
}

impl Witness {
    /// Opens key and memory, or makes both (see OVERVIEW.md for what is refused).
    ///
    /// # Errors
    /// [`RekorError::StateLost`] if the memory of this key is gone: it must never cosign again.
    /// [`RekorError::KeyLost`], [`RekorError::Locked`], [`RekorError::Damaged`], [`RekorError::Key`],
    /// [`RekorError::Io`], [`RekorError::Proof`] for a name that no log or witness can have.
    pub fn open(with: &Witnessing<'_>, now: Now) -> Result<Self, RekorError> {
        for log in with.logs {
            check_origin(&log.origin)?;
        }
        check_origin(with.name)?;
        let (folder, seed) = KeyedFolder::open(WitnessKey::LABEL, with.key_file, with.state)?;
        let key = WitnessKey::new(with.name, with.key_file, &seed)?;
        let seen = Seen::parse(&folder.load()?, &key)?;
        seen.check(with.logs)?;
        let memory = Memory {
            folder,
            seen,
            unclear: false,
        };
        Ok(Self {
            key,
            logs: with.logs.to_vec(),
            now,
            memory: Mutex::new(memory),
        })
    }

    /// What a verifier would pin, under the name of whoever runs it.
    pub fn named_key(&self, operator: &str) -> NamedKey {
        self.key.named(operator)
    }

    /// The last note of a log that was cosigned, by SHA-256 of the origin in hex.
    pub(crate) fn last(&self, origin: &siegel_ident::Digest) -> Option<String> {
        let memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        memory.seen.by_origin_digest(origin).map(str::to_owned)
    }

    /// Takes a request. What it cosigns is durable when this returns.
    ///
    /// # Errors
    /// [`RekorError::Io`], [`RekorError::StorageFull`]: nothing was cosigned. [`RekorError::Stopped`]:
    /// the witness must be restarted.
    pub(crate) fn add_checkpoint(&self, body: &[u8]) -> Result<Answer, RekorError> {
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        if memory.unclear {
            return Err(RekorError::Stopped);
        }
        let now = (self.now)();
        Ok(
            match decide::decide(&self.key, &self.logs, &memory.seen, body, now) {
                Decision::Cosign { origin, note, line } => {
                    let mut next = memory.seen.clone();
                    next.set(&origin, note);
                    let written = memory.folder.save(&next.to_bytes()?);
                    // A failed write may have put the new state in place all the same.
                    memory.unclear = written.is_err();
                    written?;
                    memory.seen = next;
                    Answer::Cosigned(line)
                }
                Decision::Conflict { size, evidence } => {
                    if let Some(evidence) = evidence {
                        evidence.keep(&memory.folder);
                    }
                    Answer::Conflict(size)
                }
                Decision::NotProven { why, evidence } => {
                    if let Some(evidence) = evidence {
                        evidence.keep(&memory.folder);
                    }
                    Answer::Refused(Refused::NotProven, why)
                }
                Decision::Refuse(kind, why) => Answer::Refused(kind, why),
            },
        )
    }
}
