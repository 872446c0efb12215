//! A log in a folder of its own, and entries for it.

use std::path::{Path, PathBuf};

use siegel_ident::{Digest, Secret};
use siegel_rekor::{Log, LogKey, PolicySigner, RekorError, Storage};
use siegel_translog::{HashedRekord, SpkiKey, Verifier};

/// Entries that are submitted at the same time while a log is filled.
const AT_ONCE: u32 = 1024;

/// Why nothing was measured.
#[derive(Debug, thiserror::Error)]
pub enum LogTrouble {
    /// The log.
    #[error(transparent)]
    Log(#[from] RekorError),
    /// Folder, socket or process.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// A task broke off.
    #[error(transparent)]
    Task(#[from] tokio::task::JoinError),
    /// What came out is not what went in.
    #[error("{0}")]
    Wrong(String),
}

/// A new folder, removed when dropped.
pub struct Scratch(PathBuf);

impl Scratch {
    /// In this folder, or where this machine keeps temporary files.
    pub fn new(parent: Option<&Path>) -> Result<Self, LogTrouble> {
        let parent = parent.map_or_else(std::env::temp_dir, Path::to_owned);
        let path = parent.join(format!("siegel-bench-log-{}", std::process::id()));
        std::fs::create_dir(&path)?;
        Ok(Self(path))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(why) = std::fs::remove_dir_all(&self.0) {
            eprintln!("WARNING: {} was not removed: {why}", self.0.display());
        }
    }
}

/// The log in a folder.
pub fn open(folder: &Path) -> Result<Log, LogTrouble> {
    let key = LogKey::from_seed("bench.example.test", &Secret::new([1; 32]))?;
    Ok(Log::open(&Storage::folder(folder), key)?)
}

/// Any key.
pub fn key() -> Result<SpkiKey, LogTrouble> {
    Ok(PolicySigner::generate()?.key())
}

/// Entry `number`. Its signature is none: the server checks signatures, the log does not.
pub fn entry(key: SpkiKey, number: u32) -> HashedRekord {
    HashedRekord {
        digest: Digest::of(&number.to_be_bytes()),
        signature: number.to_be_bytes().repeat(18),
        verifier: Verifier::Key(key),
    }
}

/// Adds entries `0..entries`.
pub async fn fill(log: &Log, key: SpkiKey, entries: u32) -> Result<(), LogTrouble> {
    for first in (0..entries).step_by(AT_ONCE as usize) {
        let batch: Vec<_> = (first..entries.min(first.saturating_add(AT_ONCE)))
            .map(|number| entry(key, number))
            .collect();
        let added = batch.iter().map(|record| log.submit(record));
        for result in futures::future::join_all(added).await {
            result?;
        }
    }
    Ok(())
}
