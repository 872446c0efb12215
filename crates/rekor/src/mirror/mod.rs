//! A mirror: it follows a log, keeps every payload that an entry of it names, and signs since when it
//! has had some bytes (`siegel_translog::archived`). Whoever asks several mirrors, run by different
//! people, knows that "published" means "can be read by others, for a while" (I1).

mod key;
mod server;
mod since;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use siegel_ident::{Digest, NamedKey};
use siegel_translog::checkpoint::check_origin;
use siegel_translog::{
    Archived, Checkpoint, HashedRekord, LogAnchors, Statement, Tree, dsse, merkle,
};

use crate::LogReader;
use crate::archive::{Archive, Packs};
use crate::error::RekorError;
use crate::keyed::KeyedFolder;
use crate::store::{Lock, Storage};
use crate::witness::Now;

use key::MirrorKey;
use since::Since;

pub use server::serve_mirror;

/// Between two looks at the log.
const LOOK: Duration = Duration::from_secs(2);
/// Entries fetched at a time.
const PAGE: u64 = 256;
/// Most entries whose payloads are asked for again because they were not there.
const MOST_MISSING: usize = 65_536;

/// What a payload of some predicate type names by digest besides, and a mirror keeps too.
pub type Names = Box<dyn Fn(&str, &[u8]) -> Vec<Digest> + Send + Sync>;

/// What a mirror is started with.
pub struct Mirroring<'a> {
    /// Its name in signature lines.
    pub name: &'a str,
    /// Its private key; made together with the folder.
    pub key_file: &'a Path,
    /// What it keeps, and since when.
    pub state: &'a Path,
    /// The log that it follows, as it pins it.
    pub anchors: &'a LogAnchors,
    /// What payloads name.
    pub names: Names,
}

/// A mirror of one log.
pub struct Mirror {
    key: MirrorKey,
    anchors: LogAnchors,
    names: Names,
    now: Now,
    archive: Archive,
    kept: Mutex<Kept>,
    _lock: Lock,
}

/// Since when what is kept; written before anything is said about it.
struct Kept {
    folder: KeyedFolder,
    since: Since,
    /// The file may have another end than `since` knows.
    unclear: bool,
}

/// How far a mirror has followed a log.
#[derive(Default)]
pub struct Followed {
    tree: Tree,
    /// Entries whose payloads were not all there yet.
    missing: BTreeMap<u64, Digest>,
}

impl Followed {
    /// Entries whose payloads could not all be fetched so far.
    pub fn missing(&self) -> usize {
        self.missing.len()
    }
}

impl Mirror {
    /// Opens key and folder, or makes both.
    ///
    /// # Errors
    /// [`RekorError::StateLost`] if the folder of this key is gone: it must never sign again.
    /// [`RekorError::KeyLost`], [`RekorError::Locked`], [`RekorError::Damaged`], [`RekorError::Key`],
    /// [`RekorError::Io`], [`RekorError::Proof`] for anchors or a name that cannot be.
    pub async fn open(with: Mirroring<'_>, now: Now) -> Result<Self, RekorError> {
        with.anchors.check()?;
        check_origin(with.name)?;
        let (folder, seed) = KeyedFolder::open(MirrorKey::LABEL, with.key_file, with.state)?;
        let key = MirrorKey::new(with.name, with.key_file, &seed)?;
        let since = Since::load(&folder)?;
        let storage = Storage::folder(with.state.join("objects"));
        let (store, lock) = storage.open()?;
        let archive = Archive::start(Packs::open(store).await?)?;
        let kept = Kept {
            folder,
            since,
            unclear: false,
        };
        Ok(Self {
            key,
            anchors: with.anchors.clone(),
            names: with.names,
            now,
            archive,
            kept: Mutex::new(kept),
            _lock: lock,
        })
    }

    /// What a verifier would pin, under the name of whoever runs it.
    pub fn named_key(&self, operator: &str) -> NamedKey {
        self.key.named(operator)
    }

    /// Follows the log for ever. What cannot be reached or read now is tried again.
    ///
    /// # Errors
    /// [`RekorError::Damaged`] if the log shows another history than it did, with both notes in the
    /// folder `evidence`: then nothing is followed any more. An error of this mirror's own disk.
    pub async fn follow(&self, log: &LogReader) -> Result<(), RekorError> {
        let mut followed = Followed::default();
        // Said once, not at every look.
        let mut said = None;
        loop {
            match self.catch_up(log, &mut followed).await {
                Ok(()) if said.take().is_some() => tracing::warn!("the log is followed again"),
                Ok(()) => {}
                Err(error) if fatal(&error) => return Err(error),
                Err(error) => {
                    let why = Some(error.to_string());
                    if said != why {
                        tracing::warn!(%error, "the log was not followed; it is tried again");
                    }
                    said = why;
                }
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Reads what the log has more than at the last time, and checks and keeps it.
    ///
    /// # Errors
    /// As [`Self::follow`]; and any error of the log, after which it may be called again.
    pub async fn catch_up(
        &self,
        log: &LogReader,
        followed: &mut Followed,
    ) -> Result<(), RekorError> {
        let note = log.checkpoint().await?;
        let checkpoint = self.anchors.verify_checkpoint(&note, (self.now)())?;
        self.not_rolled_back(&checkpoint)?;
        let mut fresh = Vec::new();
        let mut tree = followed.tree.clone();
        while tree.size() < checkpoint.size {
            let (from, to) = (tree.size(), (tree.size() + PAGE).min(checkpoint.size));
            for body in log.entries(from, to).await? {
                let index = tree.push(merkle::leaf_hash(&body));
                // What is no entry names no payload.
                let digest = HashedRekord::parse(&body).map(|record| record.digest);
                fresh.extend(digest.map(|digest| (index, digest)));
            }
        }
        if tree.root_at(checkpoint.size) != Some(checkpoint.root) {
            return Err(RekorError::Answer {
                url: self.anchors.origin.clone(),
                why: "its entries are not those of its checkpoint".into(),
            });
        }
        self.still_the_same(&tree, &note)?;
        followed.tree = tree;
        followed.missing.extend(fresh);
        while followed.missing.len() > MOST_MISSING {
            followed.missing.pop_first();
        }
        self.remember(&note)?;
        let mut left = BTreeMap::new();
        for (index, digest) in std::mem::take(&mut followed.missing) {
            match self.keep_entry(log, &digest).await {
                Ok(()) => {}
                Err(error) if fatal(&error) => return Err(error),
                Err(error) => {
                    tracing::warn!(%error, index, "an entry's payloads are not all there");
                    left.insert(index, digest);
                }
            }
        }
        followed.missing = left;
        Ok(())
    }

    /// The bytes with this digest.
    ///
    /// # Errors
    /// [`RekorError::NotFound`], [`RekorError::OtherBytes`] if they have rotted, [`RekorError::Io`].
    pub async fn get(&self, digest: &Digest) -> Result<Vec<u8>, RekorError> {
        self.archive.get(digest).await
    }

    /// The signed note about bytes that are kept here, and can be read now.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub async fn archived(&self, digest: &Digest) -> Result<String, RekorError> {
        self.get(digest).await?;
        let missing = || RekorError::NotFound(format!("object {digest}"));
        let since = self.lock().since.of(digest).ok_or_else(missing)?;
        Ok(self.key.sign(&Archived {
            origin: self.anchors.origin.clone(),
            time: since,
            sha256: *digest,
        }))
    }

    /// Signed bytes, artifact, and what that names.
    async fn keep_entry(&self, log: &LogReader, digest: &Digest) -> Result<(), RekorError> {
        let pae = self.keep(log, digest).await?;
        let statement = Statement::parse(dsse::payload_of_pae(&pae)?)?;
        let artifact = self.keep(log, &statement.digest).await?;
        let named: BTreeSet<_> = (self.names)(&statement.predicate_type, &artifact)
            .into_iter()
            .collect();
        for digest in named {
            self.keep(log, &digest).await?;
        }
        Ok(())
    }

    /// Fetches an object if it is not here, and makes it durable; then the time, if it is new.
    async fn keep(&self, log: &LogReader, digest: &Digest) -> Result<Vec<u8>, RekorError> {
        let bytes = match self.archive.get(digest).await {
            Ok(bytes) => bytes,
            Err(RekorError::NotFound(_) | RekorError::OtherBytes { .. }) => {
                // The reader has checked them against the digest.
                let bytes = log.archive_get(digest).await?;
                self.archive.put(*digest, bytes.clone()).await?;
                bytes
            }
            Err(other) => return Err(other),
        };
        let mut kept = self.lock();
        if kept.since.of(digest).is_none() {
            if kept.unclear {
                return Err(RekorError::Stopped);
            }
            let time = (self.now)();
            let written = kept.folder.append(Since::line(digest, time).as_bytes());
            kept.unclear = written.is_err();
            written?;
            kept.since.add(*digest, time);
        }
        Ok(bytes)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The log's note that was verified and followed last; `None` before the first.
    ///
    /// # Errors
    /// [`RekorError::Damaged`], [`RekorError::Io`] of this mirror's folder.
    pub fn checkpoint(&self) -> Result<Option<String>, RekorError> {
        Ok(self.last()?.map(|(_, note)| note))
    }

    /// The last note that was followed, over restarts.
    fn last(&self) -> Result<Option<(Checkpoint, String)>, RekorError> {
        let Some(note) = self.lock().folder.read("checkpoint")? else {
            return Ok(None);
        };
        let (origin, key) = (&self.anchors.origin, &self.anchors.key);
        let checkpoint = Checkpoint::verify_note(&note, origin, key);
        let checkpoint = checkpoint.map_err(|why| RekorError::Damaged(why.to_string()))?;
        Ok(Some((checkpoint, note)))
    }

    fn not_rolled_back(&self, shown: &Checkpoint) -> Result<(), RekorError> {
        match self.last()? {
            // A reader may be late; what it shows next tells.
            Some((last, _)) if shown.size < last.size => {
                tracing::warn!(
                    shown = shown.size,
                    seen = last.size,
                    "the log shows less than before"
                );
                Err(RekorError::Busy)
            }
            _ => Ok(()),
        }
    }

    /// What was followed before is a part of what is shown now.
    fn still_the_same(&self, tree: &Tree, note: &str) -> Result<(), RekorError> {
        let Some((last, before)) = self.last()? else {
            return Ok(());
        };
        if tree.root_at(last.size) == Some(last.root) {
            return Ok(());
        }
        let name = Digest::of(note.as_bytes()).to_string();
        let (name, text) = (format!("evidence/fork-{name}"), format!("{before}\n{note}"));
        self.lock().folder.put(&name, text.as_bytes())?;
        Err(RekorError::Damaged(format!(
            "the log shows another history than before; both notes are in {name}"
        )))
    }

    fn remember(&self, note: &str) -> Result<(), RekorError> {
        let kept = self.lock();
        match kept.folder.read("checkpoint")?.as_deref() == Some(note) {
            true => Ok(()),
            false => kept.folder.put("checkpoint", note.as_bytes()),
        }
    }
}

/// Not to be tried again.
fn fatal(error: &RekorError) -> bool {
    matches!(
        error,
        RekorError::Damaged(_)
            | RekorError::StorageFull { .. }
            | RekorError::Stopped
            | RekorError::Io { .. }
    )
}
