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
            saved,
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

    /// Keeps what an audit saw: evidence first, then the state, each file whole or not at all.
    ///
    /// # Errors
    /// [`StateError::Io`]: the old state is still there.
    pub fn keep(&mut self, audited: &Audited, now: Timestamp) -> Result<(), StateError> {
        let dir = self.place.dir.clone();
        for evidence in &audited.report.evidence {
            let bytes = siegel_ident::json::to_canonical(evidence)?;
            self.keep_evidence(&evidence.name(), &bytes)?;
        }
        let mut state = self.state.clone();
        if !state.take(audited, now) {
            return Ok(());
        }
        let bytes = state.to_bytes()?;
        if self.place.rebaseline
            && let Some(old) = self.saved.take_if(|old| *old != bytes)
        {
            let short: String = Digest::of(&old).to_string().chars().take(16).collect();
            self.keep_evidence(&format!("rebaselined-{short}"), &old)?;
            // From here on it is this audit's own state that is followed.
            self.place.rebaseline = false;
        }
        replace(&dir, &dir.join("state.json"), &bytes)?;
        let marker = marker(&dir);
        if !marker.exists() {
            File::create(&marker)
                .and_then(|file| file.sync_all())
                .map_err(failed(&marker))?;
        }
        self.state = state;
        Ok(())
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
    let file = match File::open(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other.map_err(failed(path))?,
    };
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
