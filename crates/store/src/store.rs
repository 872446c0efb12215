//! The store: an `object_store` URL, in memory or a folder.

use std::fs;
use std::ops::Range;
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use futures::{Stream, TryStreamExt as _};
use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt as _, PutMode, PutOptions, PutPayload};

use crate::StoreError;
use crate::sweep::{sweep, sync_folder};

/// Where the objects lie.
#[derive(Clone, Debug)]
pub struct Store {
    objects: Arc<dyn ObjectStore>,
    /// Of a `file:` store.
    folder: Option<PathBuf>,
}

impl Store {
    /// Opens `memory:`, `file:/folder` or `file:///folder`. A folder is made if it is not there.
    ///
    /// # Errors
    /// [`StoreError::Url`] says what is wrong with it.
    pub fn open(url: &str) -> Result<Self, StoreError> {
        let refuse = |why: &str| StoreError::Url {
            url: url.into(),
            why: why.into(),
        };
        match url.split_once(':') {
            Some(("memory", "" | "/" | "//" | "///")) => Ok(Self::memory()),
            Some(("file", rest)) => {
                let path = rest.strip_prefix("//").unwrap_or(rest);
                match path.starts_with('/') {
                    true if path.contains('%') => Err(refuse("percent signs are not decoded")),
                    true => Self::folder(FilePath::new(path)),
                    false => Err(refuse("write file:///an/absolute/path")),
                }
            }
            Some(("s3" | "gs", _)) => Err(refuse("not built yet: use file: or memory:")),
            _ => Err(refuse("use file:///path or memory:")),
        }
    }

    /// In memory: gone with the process.
    pub fn memory() -> Self {
        Self {
            objects: Arc::new(InMemory::new()),
            folder: None,
        }
    }

    /// In a folder, made if it is not there. A put is on the disk, file and folder, before it is
    /// answered. What a killed process left half written is removed: whoever opens is the only
    /// writer, and sees to that.
    ///
    /// # Errors
    /// [`StoreError::Url`] if the folder cannot be made, read or synced.
    pub fn folder(path: &FilePath) -> Result<Self, StoreError> {
        let refuse = |error: std::io::Error| StoreError::Url {
            url: format!("file://{}", path.display()),
            why: error.to_string(),
        };
        fs::create_dir_all(path).map_err(refuse)?;
        let path = path.canonicalize().map_err(refuse)?;
        if let Some(parent) = path.parent() {
            sync_folder(parent).map_err(refuse)?;
        }
        sweep(&path).map_err(refuse)?;
        Self::local(path)
    }

    /// In a folder that another process may be writing to: nothing is made, removed or synced.
    ///
    /// # Errors
    /// [`StoreError::Url`] if there is no such folder.
    pub fn reading(path: &FilePath) -> Result<Self, StoreError> {
        let refuse = |error: std::io::Error| StoreError::Url {
            url: format!("file://{}", path.display()),
            why: error.to_string(),
        };
        Self::local(path.canonicalize().map_err(refuse)?)
    }

    fn local(path: PathBuf) -> Result<Self, StoreError> {
        let objects = LocalFileSystem::new_with_prefix(&path)?
            .with_fsync(true)
            .with_automatic_cleanup(true);
        Ok(Self {
            objects: Arc::new(objects),
            folder: Some(path),
        })
    }

    /// The same store behind a wrapper, for tests that make it fail.
    #[must_use]
    pub fn wrapped<S: ObjectStore>(self, wrap: impl FnOnce(Arc<dyn ObjectStore>) -> S) -> Self {
        Self {
            objects: Arc::new(wrap(self.objects)),
            folder: self.folder,
        }
    }

    /// Stores the parts as one object, durably; true if an object was there already, which stays.
    ///
    /// # Errors
    /// [`StoreError`]: a full or failing store.
    pub async fn put(
        &self,
        at: &Path,
        parts: impl IntoIterator<Item = Bytes>,
    ) -> Result<bool, StoreError> {
        match self.put_as(PutMode::Create, at, parts).await {
            Ok(()) => Ok(false),
            Err(object_store::Error::AlreadyExists { .. }) => {
                self.settle(at).await?;
                Ok(true)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Stores the parts as one object, durably, in place of one that may be there: readers see all
    /// of the one or all of the other.
    ///
    /// # Errors
    /// [`StoreError`]: a full or failing store. Then the new object may be in place all the same, if
    /// only the last sync failed: whoever needs to know reads it.
    pub async fn replace(
        &self,
        at: &Path,
        parts: impl IntoIterator<Item = Bytes>,
    ) -> Result<(), StoreError> {
        Ok(self.put_as(PutMode::Overwrite, at, parts).await?)
    }

    async fn put_as(
        &self,
        mode: PutMode,
        at: &Path,
        parts: impl IntoIterator<Item = Bytes>,
    ) -> object_store::Result<()> {
        let options = PutOptions {
            mode,
            ..PutOptions::default()
        };
        let payload = PutPayload::from_iter(parts);
        self.objects.put_opts(at, payload, options).await.map(drop)
    }

    /// The object, if there is one.
    ///
    /// # Errors
    /// [`StoreError::Failed`].
    pub async fn get(&self, at: &Path) -> Result<Option<Bytes>, StoreError> {
        self.get_at_most(at, u64::MAX).await
    }

    /// The object, if there is one and it is not longer than `max` bytes (I14).
    ///
    /// # Errors
    /// [`StoreError::TooLong`], [`StoreError::Failed`].
    pub async fn get_at_most(&self, at: &Path, max: u64) -> Result<Option<Bytes>, StoreError> {
        self.is_file(at)?;
        match self.objects.get(at).await {
            Ok(found) if found.meta.size > max => Err(StoreError::TooLong {
                path: at.to_string(),
                max,
            }),
            Ok(found) => Ok(Some(found.bytes().await?)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// In a folder anything may lie under a name, and a pipe or device is not to be waited for (I14).
    /// What is not there, or cannot be looked at, the read itself will say.
    fn is_file(&self, at: &Path) -> Result<(), StoreError> {
        let Some(folder) = &self.folder else {
            return Ok(());
        };
        match fs::metadata(folder.join(at.as_ref())) {
            Ok(found) if !found.is_file() && !found.is_dir() => {
                Err(StoreError::NotAFile(at.to_string()))
            }
            _ => Ok(()),
        }
    }

    /// Some bytes of an object. Fewer, if it is shorter: readers check.
    ///
    /// # Errors
    /// [`StoreError::Failed`]; also if the object ends before the first of them.
    pub async fn get_range(
        &self,
        at: &Path,
        bytes: Range<u64>,
    ) -> Result<Option<Bytes>, StoreError> {
        if bytes.is_empty() {
            return Ok(Some(Bytes::new()));
        }
        self.is_file(at)?;
        match self.objects.get_range(at, bytes).await {
            Ok(bytes) => Ok(Some(bytes)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The objects whose path begins with these whole parts. In no order.
    pub fn list(
        &self,
        prefix: &str,
    ) -> impl Stream<Item = Result<ObjectMeta, StoreError>> + Send + use<> {
        let found = self.objects.list(Some(&Path::from(prefix)));
        found.map_err(StoreError::from)
    }

    /// Removes an object, and the folder that it leaves empty. That it is not there is no error.
    /// Not synced: after a power cut it may be back.
    ///
    /// # Errors
    /// [`StoreError::Failed`].
    pub async fn delete(&self, at: &Path) -> Result<(), StoreError> {
        match self.objects.delete(at).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// A duplicate may come while the first put has linked its file but not yet synced the folder:
    /// what we answer must be durable for both. The file itself was synced before it was linked.
    async fn settle(&self, at: &Path) -> Result<(), StoreError> {
        let Some(folder) = &self.folder else {
            return Ok(());
        };
        let file = folder.join(at.as_ref());
        let synced = tokio::task::spawn_blocking(move || file.parent().map_or(Ok(()), sync_folder));
        let failed = |e| {
            StoreError::from(object_store::Error::Generic {
                store: "file",
                source: e,
            })
        };
        synced
            .await
            .map_err(|e| failed(e.into()))?
            .map_err(|e| failed(e.into()))
    }
}
