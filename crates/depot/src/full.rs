//! A store that says that its disk is full. For tests.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use futures::stream::BoxStream;
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};

/// Answers every put with ENOSPC once its budget of bytes is used up.
#[derive(Debug)]
pub struct StoreFull {
    inner: Arc<dyn ObjectStore>,
    left: AtomicU64,
}

impl StoreFull {
    /// Takes `bytes` more bytes, then is full.
    pub fn after(inner: Arc<dyn ObjectStore>, bytes: u64) -> Self {
        Self {
            inner,
            left: bytes.into(),
        }
    }
}

impl fmt::Display for StoreFull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoreFull({})", self.inner)
    }
}

fn full() -> object_store::Error {
    let source = Box::new(std::io::Error::from_raw_os_error(28));
    object_store::Error::Generic {
        store: "StoreFull",
        source,
    }
}

#[async_trait::async_trait]
impl ObjectStore for StoreFull {
    async fn put_opts(&self, at: &Path, data: PutPayload, opts: PutOptions) -> Result<PutResult> {
        let size = data.content_length() as u64;
        let take = |left: u64| left.checked_sub(size);
        if self
            .left
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, take)
            .is_err()
        {
            return Err(full());
        }
        self.inner.put_opts(at, data, opts).await
    }

    async fn put_multipart_opts(
        &self,
        _: &Path,
        _: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        Err(full())
    }

    async fn get_opts(&self, at: &Path, options: GetOptions) -> Result<GetResult> {
        self.inner.get_opts(at, options).await
    }

    async fn get_ranges(&self, at: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.inner.get_ranges(at, ranges).await
    }

    fn delete_stream(
        &self,
        paths: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        self.inner.delete_stream(paths)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.inner.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, _: &Path, _: &Path, _: CopyOptions) -> Result<()> {
        Err(full())
    }
}
