//! Where an auditor's state lies, so that a kill or a full disk leaves the old one.
//!
//! ```text
//! state.json             replaced by rename
//! lock                   held while an audit runs
//! evidence/<name>.json   two signed notes that contradict each other
//! evidence/rebaselined-… states that were given up
//! ../<folder>.followed   says that there is a state, should the folder get lost
//! ```

use std::fs::{self, File, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use siegel_ident::{Digest, Timestamp};
use siegel_translog::LogAnchors;

use super::state::{NotState, STATE_MAX, State};
use crate::audit::Audited;

const TEMPORARY: &str = "tmp-state";

/// Where the state is, and what may be missing there.
#[derive(Clone, Debug)]
pub struct Place {
    /// The folder.
    pub dir: PathBuf,
    /// A first audit may make it. Otherwise it must be there already.
    pub may_begin: bool,
    /// Give up what is there, and begin anew.
    pub rebaseline: bool,
}

/// Why there is no state to follow a log by. Nothing was changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// Nothing is there, and it must be.
    #[error(
        "there is no state in {0}, the folder that was named for it. Nothing was read. If this is the first \
             audit of this log there, that is as it should be; if there was one before, its state is \
             gone, and nobody could tell whether the log was rewritten since"
    )]
    Missing(String),
    /// There was one.
    #[error(
        "the state in {0} is lost, and there was one: without it nobody can tell whether the \
             log was rewritten since; restore it, or begin anew with --rebaseline"
    )]
    Lost(String),
    /// It is not what was written.
    #[error("the state in {dir} is damaged ({why}): restore it, or begin anew with --rebaseline")]
    Damaged {
        /// Which folder.
        dir: String,
        /// What is wrong with it.
        why: String,
    },
    /// Something else is there.
    #[error(
        "{0} is no folder of a state: it holds other things, as a log does; nothing was read or changed"
    )]
    NotAState(String),
    /// What would be written could not be read again.
    #[error("the state would not be readable ({0}), so the old one was not replaced")]
    NotReadable(String),
    /// It is of another name or key.
    #[error(
        "the state in {dir} is of log {other:?} or of another key of it, not of the log that \
             the anchors pin: name another folder, or begin anew with --rebaseline"
    )]
    OtherLog {
        /// Which folder.
        dir: String,
        /// The log it is of.
        other: String,
    },
    /// Another process holds it.
    #[error("another audit is using the state in {0}: wait for it, or end it")]
    InUse(String),
    /// A file could not be read or written.
    #[error("state folder, {path}: {source}")]
    Io {
        /// Which file.
        path: String,
        /// The system's answer.
        source: io::Error,
    },
    /// The state cannot be written as JSON.
    #[error("state: {0}")]
    Json(#[from] siegel_ident::json::JsonError),
}

/// An open, locked state folder.
pub struct StateFolder {
    place: Place,
    state: State,
    /// What was in the file.
    saved: Option<Vec<u8>>,
    /// Something was known when it was opened, even if it is lost.
    known: bool,
    log: LogAnchors,
    _lock: File,
}

impl StateFolder {
    /// Opens the folder, takes its lock and reads the state. What is lost, damaged or another log's
    /// is an error, never a first audit (fail closed, I1).
    ///
    /// # Errors
    /// [`StateError`].
    pub fn open(place: Place, log: &LogAnchors) -> Result<Self, StateError> {
        let dir = place.dir.as_path();
        let name = dir.display().to_string();
        let begins = place.may_begin || place.rebaseline;
        if !dir.exists() {
            if marker(dir).exists() && !place.rebaseline {
                return Err(StateError::Lost(name));
            }
            if !begins {
                return Err(StateError::Missing(name));
            }
            fs::create_dir_all(dir).map_err(failed(dir))?;
        }
        is_for_a_state(dir)?;
        let lock = lock(dir)?;
        remove_leftovers(dir).map_err(failed(dir))?;
        let saved = read(&dir.join("state.json"))?;
        let there_was = marker(dir).exists() || dir.join("evidence").exists();
        let state = match &saved {
            _ if place.rebaseline => State::new(log),
            Some(bytes) => State::parse(bytes, log).map_err(|why| match why {
                NotState::Damaged(why) => StateError::Damaged { dir: name, why },
                NotState::OtherLog(other) => StateError::OtherLog { dir: name, other },
            })?,
            None if there_was => return Err(StateError::Lost(name)),
            None if !place.may_begin => return Err(StateError::Missing(name)),
            None => State::new(log),
        };
        Ok(Self {
            place,
            state,
            known: saved.is_some() || there_was,
            saved,
            log: log.clone(),
            _lock: lock,
        })
    }

    /// What is remembered.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// True until the first state is saved: this audit has nothing to hold the log against.
    pub fn is_new(&self) -> bool {
        self.state.last().is_none() && !self.state.is_contradicted()
    }

    /// True until the first state is saved, if it takes the place of something that was known.
    pub fn gives_up(&self) -> bool {
        self.place.rebaseline && self.known
    }

    /// Keeps what an audit saw: evidence first, then the state, each file whole or not at all. True if
    /// what was known before was given up by this.
    ///
    /// # Errors
    /// [`StateError::Io`], [`StateError::NotReadable`]: the old state is still there.
    pub fn keep(&mut self, audited: &Audited, now: Timestamp) -> Result<bool, StateError> {
        let dir = self.place.dir.clone();
        for evidence in &audited.report.evidence {
            let bytes = siegel_ident::json::to_canonical(evidence)?;
            self.keep_evidence(&evidence.name(), &bytes)?;
        }
        let mut state = self.state.clone();
        if !state.take(audited, now) {
            return Ok(false);
        }
        let bytes = state.to_bytes()?;
        self.is_readable(&bytes, &state)?;
        if self.place.rebaseline
            && let Some(old) = self.saved.as_ref().filter(|old| **old != bytes)
        {
            let short: String = Digest::of(old).to_string().chars().take(16).collect();
            self.keep_evidence(&format!("rebaselined-{short}"), old)?;
        }
        replace(&dir, &dir.join("state.json"), &bytes)?;
        let marker = marker(&dir);
        if !marker.exists() {
            File::create(&marker)
                .and_then(|file| file.sync_all())
                .map_err(failed(&marker))?;
        }
        let given_up = self.gives_up();
        // From here on it is this audit's own state that is followed.
        self.place.rebaseline = false;
        (self.state, self.saved) = (state, None);
        Ok(given_up)
    }

    /// What cannot be read again is never written: it would stop every later audit.
    fn is_readable(&self, bytes: &[u8], state: &State) -> Result<(), StateError> {
        match State::parse(bytes, &self.log) {
            Ok(read) if read == *state => Ok(()),
            Ok(_) => Err(StateError::NotReadable("it reads as another one".into())),
            Err(NotState::Damaged(why) | NotState::OtherLog(why)) => {
                Err(StateError::NotReadable(why))
            }
        }
    }

    fn keep_evidence(&self, name: &str, bytes: &[u8]) -> Result<(), StateError> {
        let dir = self.place.dir.join("evidence");
        fs::create_dir_all(&dir).map_err(failed(&dir))?;
        let path = dir.join(format!("{name}.json"));
        match path.exists() {
            true => Ok(()),
            false => replace(&self.place.dir, &path, bytes),
        }
    }
}

/// A folder that is a log's, or has other things and no state, is left alone: not even a lock is made.
fn is_for_a_state(dir: &Path) -> Result<(), StateError> {
    let ours = ["state.json", "lock", "evidence", TEMPORARY];
    let (mut others, mut has_state, mut is_log) = (false, false, false);
    for entry in fs::read_dir(dir).map_err(failed(dir))? {
        let name = entry.map_err(failed(dir))?.file_name();
        has_state |= name == "state.json";
        is_log |= name == "checkpoint" || name == "tile";
        others |= !ours.iter().any(|own| name == *own);
    }
    match is_log || (others && !has_state) {
        true => Err(StateError::NotAState(dir.display().to_string())),
        false => Ok(()),
    }
}

/// Stays when the folder is lost.
fn marker(dir: &Path) -> PathBuf {
    let mut name = dir.file_name().unwrap_or_default().to_owned();
    name.push(".followed");
    dir.with_file_name(name)
}

fn lock(dir: &Path) -> Result<File, StateError> {
    let path = dir.join("lock");
    let lock = File::create(&path).map_err(failed(&path))?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(StateError::InUse(dir.display().to_string())),
        Err(TryLockError::Error(e)) => Err(failed(&path)(e)),
    }
}

fn read(path: &Path) -> Result<Option<Vec<u8>>, StateError> {
    let found = match fs::metadata(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other.map_err(failed(path))?,
    };
    if !found.is_file() {
        return Err(failed(path)(io::Error::other("this is no regular file")));
    }
    let file = File::open(path).map_err(failed(path))?;
    let mut bytes = Vec::new();
    // One byte more than is allowed: a longer file is refused as too long.
    file.take(STATE_MAX as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(failed(path))?;
    Ok(Some(bytes))
}

/// Writes a file under a name nobody reads, then renames it (I8).
fn replace(dir: &Path, path: &Path, bytes: &[u8]) -> Result<(), StateError> {
    let temporary = dir.join(TEMPORARY);
    let written = File::create(&temporary)
        .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&temporary, path))
        .and_then(|()| File::open(path.parent().unwrap_or(dir))?.sync_all());
    if written.is_err() {
        // Best effort: the next audit removes it too, and the error above is what counts.
        let _ = fs::remove_file(&temporary);
    }
    written.map_err(failed(path))
}

/// Removes what a killed audit was writing; the lock says that nobody else is.
fn remove_leftovers(dir: &Path) -> io::Result<()> {
    match fs::remove_file(dir.join(TEMPORARY)) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

fn failed(path: &Path) -> impl Fn(io::Error) -> StateError {
    let path = path.display().to_string();
    move |source| StateError::Io {
        path: path.clone(),
        source,
    }
}
