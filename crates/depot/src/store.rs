//! The store under the depot: an `object_store` URL.

use std::fs;
use std::ops::Range;
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt as _, PutMode, PutOptions, PutPayload};

use crate::DepotError;

/// Where the objects lie.
#[derive(Clone, Debug)]
pub struct Store {
    objects: Arc<dyn ObjectStore>,
    /// Of a `file:` store.
    folder: Option<PathBuf>,
}

impl Store {
    /// Opens `memory:`, `file:/folder` or `file:///folder`. A folder is made if it is not there.
    pub fn open(url: &str) -> Result<Self, DepotError> {
        let refuse = |why: &str| DepotError::Url {
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

    /// In a folder. A put is on the disk, file and folder, before it is answered.
    pub fn folder(path: &FilePath) -> Result<Self, DepotError> {
        let refuse = |error: std::io::Error| DepotError::Url {
            url: format!("file://{}", path.display()),
            why: error.to_string(),
        };
        fs::create_dir_all(path).map_err(refuse)?;
        let path = path.canonicalize().map_err(refuse)?;
        if let Some(parent) = path.parent() {
            sync_folder(parent).map_err(refuse)?;
        }
        sweep(&path).map_err(refuse)?;
        let objects = LocalFileSystem::new_with_prefix(&path)?.with_fsync(true);
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

    /// Stores the parts as one object, durably; true if the object was there already.
    pub(crate) async fn put(
        &self,
        at: &Path,
        parts: impl IntoIterator<Item = Bytes>,
    ) -> Result<bool, DepotError> {
        let options = PutOptions {
            mode: PutMode::Create,
            ..PutOptions::default()
        };
        match self
            .objects
            .put_opts(at, PutPayload::from_iter(parts), options)
            .await
        {
            Ok(_) => Ok(false),
            Err(object_store::Error::AlreadyExists { .. }) => {
                self.settle(at).await?;
                Ok(true)
            }
            Err(error) => Err(error.into()),
        }
    }

    pub(crate) async fn get(&self, at: &Path) -> Result<Option<Bytes>, DepotError> {
        match self.objects.get(at).await {
            Ok(found) => Ok(Some(found.bytes().await?)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Some bytes of an object. Fewer, if it is shorter: readers check.
    pub(crate) async fn get_range(
        &self,
        at: &Path,
        bytes: Range<u64>,
    ) -> Result<Option<Bytes>, DepotError> {
        if bytes.is_empty() {
            return Ok(Some(Bytes::new()));
        }
        match self.objects.get_range(at, bytes).await {
            Ok(bytes) => Ok(Some(bytes)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    pub(crate) fn list(
        &self,
        prefix: &str,
    ) -> impl futures::Stream<Item = object_store::Result<object_store::ObjectMeta>> + use<> {
        self.objects.list(Some(&Path::from(prefix)))
    }

    /// A duplicate may come while the first put has linked its file but not yet synced the folder:
    /// what we answer must be durable for both. The file itself was synced before it was linked.
    async fn settle(&self, at: &Path) -> Result<(), DepotError> {
        let Some(folder) = &self.folder else {
            return Ok(());
        };
        let file = folder.join(at.as_ref());
        let synced = tokio::task::spawn_blocking(move || file.parent().map_or(Ok(()), sync_folder));
        let failed = |e| {
            DepotError::from(object_store::Error::Generic {
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

/// Removes what a killed process was writing: `DIGEST#N`, never linked under its own name, never
/// listed, never acknowledged. Nothing else is touched.
fn sweep(folder: &FilePath) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sweep(&entry.path())?;
        } else if is_leftover(&entry.file_name().to_string_lossy()) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

fn is_leftover(name: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    name.split_once('#')
        .is_some_and(|(digest, n)| digest.parse::<siegel_ident::Digest>().is_ok() && digits(n))
}

fn sync_folder(path: &FilePath) -> std::io::Result<()> {
    fs::File::open(path)?.sync_all()
}
