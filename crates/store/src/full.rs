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

/// What becomes of a put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It goes through.
    None,
    /// Refused, nothing is stored.
    Before,
    /// Stored, and then refused: only the last sync failed.
    After,
}

type Rule = Box<dyn Fn(&Path, u64) -> Refusal + Send + Sync>;

/// Answers puts with ENOSPC by a rule.
pub struct StoreFull {
    inner: Arc<dyn ObjectStore>,
    rule: Rule,
}

impl StoreFull {
    /// Takes `bytes` more bytes, then is full.
    pub fn after(inner: Arc<dyn ObjectStore>, bytes: u64) -> Self {
        let left = AtomicU64::new(bytes);
        Self::when(inner, move |_, size| {
            let take = |left: u64| left.checked_sub(size);
            match left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take) {
                Ok(_) => Refusal::None,
                Err(_) => Refusal::Before,
            }
        })
    }

    /// Asks `rule` about the path and the size of each put.
    pub fn when(
        inner: Arc<dyn ObjectStore>,
        rule: impl Fn(&Path, u64) -> Refusal + Send + Sync + 'static,
    ) -> Self {
        let rule = Box::new(rule);
        Self { inner, rule }
    }
}

impl fmt::Debug for StoreFull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
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
        match (self.rule)(at, data.content_length() as u64) {
            Refusal::None => self.inner.put_opts(at, data, opts).await,
            Refusal::Before => Err(full()),
            Refusal::After => {
                self.inner.put_opts(at, data, opts).await?;
                Err(full())
            }
        }
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
