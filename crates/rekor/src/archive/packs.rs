//! Reading packs: their directories once, objects by ranges.

use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use futures::{StreamExt as _, TryStreamExt as _};
use siegel_ident::Digest;
use siegel_store::{ObjectMeta, Path, Store};

use super::index::Index;
use super::pack::{PREAMBLE, PackDirectory, PackError};
use super::recent::Recent;
use crate::error::RekorError;
use crate::log::same_bytes;

/// Directories that are read at once.
const READ_AT_ONCE: usize = 8;
/// How often an object is looked up again whose pack has gone meanwhile.
const TRIES: usize = 8;

/// The packs of a store, and the index of what is in them.
pub(crate) struct Packs {
    store: Store,
    index: RwLock<Index>,
    /// Others write and merge: what is not found may have come, and packs may have gone.
    follows: bool,
    /// Packs that could not be read, by name, when the store was last listed.
    damaged: RwLock<Vec<(Digest, PackError)>>,
    /// Of a reader.
    recent: Recent,
}

impl Packs {
    /// Reads the directories of all packs, as the one who writes them.
    ///
    /// # Errors
    /// [`RekorError::Damaged`] names a file that is no pack, or is damaged: objects that were
    /// acknowledged may be in it, so nobody may go on without it.
    pub(crate) async fn open(store: Store) -> Result<Self, RekorError> {
        let packs = Self::new(store, false);
        packs.refresh().await?;
        let damaged = packs.damaged();
        match damaged.first() {
            Some((name, why)) => Err(damaged_pack(name, why)),
            None => {
                drop(damaged);
                Ok(packs)
            }
        }
    }

    /// For a reader beside a writer. Nothing is read yet.
    pub(crate) fn following(store: Store) -> Self {
        Self::new(store, true)
    }

    fn new(store: Store, follows: bool) -> Self {
        Self {
            store,
            index: RwLock::default(),
            follows,
            damaged: RwLock::default(),
            recent: Recent::default(),
        }
    }

    /// The object with this digest, checked (I2).
    ///
    /// # Errors
    /// [`RekorError::NotFound`]; [`RekorError::OtherBytes`] if it has rotted;
    /// [`RekorError::Damaged`] if it may be in a pack that cannot be read; [`RekorError::Io`].
    pub(crate) async fn get(&self, digest: &Digest) -> Result<Vec<u8>, RekorError> {
        let mut listed = !self.follows;
        let mut rotten = None;
        for _ in 0..TRIES {
            let places = self.index().find(digest);
            let mut gone = false;
            for (name, range) in &places {
                let read = match self.follows {
                    true => self.recent.read(&self.store, name, range.clone()).await,
                    false => self.store.get_range(&pack_path(name), range.clone()).await,
                };
                match read.map_err(RekorError::store("an archived object")) {
                    Ok(Some(bytes)) => match same_bytes(digest, &bytes) {
                        Ok(()) => return Ok(bytes.into()),
                        Err(why) => {
                            self.recent.forget(name);
                            rotten = Some(why);
                        }
                    },
                    Ok(None) => gone = true,
                    Err(why) => rotten = Some(why),
                }
            }
            match rotten {
                Some(why) if !gone => return Err(why),
                _ if gone && self.follows => self.refresh().await?,
                // The writer merged its packs between our two looks.
                _ if gone => {}
                _ if !listed => {
                    self.refresh().await?;
                    listed = true;
                }
                _ => return Err(self.missing(digest)),
            }
            rotten = None;
        }
        Err(self.missing(digest))
    }

    fn missing(&self, digest: &Digest) -> RekorError {
        match self.damaged().first() {
            Some((name, why)) => damaged_pack(name, why),
            None => RekorError::NotFound(format!("object {digest}")),
        }
    }

    /// Lists the packs; reads the directories of new ones, and forgets those that have gone.
    async fn refresh(&self) -> Result<(), RekorError> {
        let failed = RekorError::store("the archive");
        let listed: Vec<ObjectMeta> = self
            .store
            .list("archive")
            .try_collect()
            .await
            .map_err(&failed)?;
        let mut names = Vec::with_capacity(listed.len());
        let mut new = Vec::new();
        for object in listed {
            let Some(name) = name_of(&object.location) else {
                if self.follows {
                    continue;
                }
                let path = object.location;
                return Err(RekorError::Damaged(format!("{path} is no pack of a log")));
            };
            names.push(name);
            if !self.index().has(&name) {
                new.push((name, object.size));
            }
        }
        names.sort_unstable();
        let read: Vec<_> = futures::stream::iter(new)
            .map(|(name, size)| async move { (name, self.directory(&name, size).await) })
            .buffer_unordered(READ_AT_ONCE)
            .collect()
            .await;
        let mut damaged = Vec::new();
        let mut index = self.index_mut();
        let old: Vec<Digest> = index.packs().map(|pack| pack.name).collect();
        for name in old {
            if names.binary_search(&name).is_err() {
                index.gone(&name);
            }
        }
        for (name, directory) in read {
            match directory? {
                Some(Ok(directory)) => index.add(name, &directory, false),
                Some(Err(why)) => damaged.push((name, why)),
                // Merged away since it was listed.
                None => {}
            }
        }
        drop(index);
        *self.damaged.write().unwrap_or_else(PoisonError::into_inner) = damaged;
        Ok(())
    }

    /// The directory of a pack; its bodies are not read.
    async fn directory(
        &self,
        name: &Digest,
        size: u64,
    ) -> Result<Option<Result<PackDirectory, PackError>>, RekorError> {
        let at = pack_path(name);
        let first = async |len: usize| {
            let range = 0..size.min(len as u64);
            let read = self.store.get_range(&at, range).await;
            read.map_err(RekorError::store("a pack of the archive"))
        };
        let Some(preamble) = first(PREAMBLE).await? else {
            return Ok(None);
        };
        let len = match PackDirectory::len_of(&preamble) {
            Ok(len) => len,
            Err(why) => return Ok(Some(Err(why))),
        };
        let Some(bytes) = first(len).await? else {
            return Ok(None);
        };
        let directory = PackDirectory::named(name, &bytes);
        let whole = |directory: PackDirectory| directory.check_len(size).map(|()| directory);
        Ok(Some(directory.and_then(whole)))
    }

    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    pub(crate) fn index(&self) -> RwLockReadGuard<'_, Index> {
        self.index.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn index_mut(&self) -> RwLockWriteGuard<'_, Index> {
        self.index.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn damaged(&self) -> RwLockReadGuard<'_, Vec<(Digest, PackError)>> {
        self.damaged.read().unwrap_or_else(PoisonError::into_inner)
    }
}

fn damaged_pack(name: &Digest, why: &PackError) -> RekorError {
    RekorError::Damaged(format!(
        "archive/{name}: {why}; bring it back from a copy, or move it away if its objects may be lost"
    ))
}

/// Where a pack is.
pub(crate) fn pack_path(name: &Digest) -> Path {
    Path::from(format!("archive/{name}"))
}

fn name_of(path: &Path) -> Option<Digest> {
    let name: Digest = path.filename()?.parse().ok()?;
    (pack_path(&name) == *path).then_some(name)
}
