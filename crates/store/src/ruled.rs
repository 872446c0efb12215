//! A store that does with a put or a read what a rule says: a full disk, a long wait, a lost object.
//! For tests.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use futures::future::{BoxFuture, FutureExt as _, ready};
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

/// What a [`RuledStore`] asks.
pub trait Rule: Send + Sync + 'static {
    /// What becomes of a put of `data` at `path`. The put waits for the answer.
    fn put<'a>(&'a self, path: &'a Path, data: &'a PutPayload) -> BoxFuture<'a, Refusal>;

    /// Whether the object at `path` is not there for readers.
    fn hides(&self, _path: &Path) -> bool {
        false
    }
}

/// A store behind a [`Rule`]. It refuses with ENOSPC.
pub struct RuledStore {
    inner: Arc<dyn ObjectStore>,
    rule: Box<dyn Rule>,
}

impl RuledStore {
    /// Asks `rule` about each put and read.
    pub fn new(inner: Arc<dyn ObjectStore>, rule: impl Rule) -> Self {
        let rule = Box::new(rule);
        Self { inner, rule }
    }

    /// Asks `rule` about the path and the size of each put.
    pub fn when(
        inner: Arc<dyn ObjectStore>,
        rule: impl Fn(&Path, u64) -> Refusal + Send + Sync + 'static,
    ) -> Self {
        Self::new(inner, BySize(rule))
    }

    /// Takes `bytes` more bytes, then is full.
    pub fn full_after(inner: Arc<dyn ObjectStore>, bytes: u64) -> Self {
        let left = AtomicU64::new(bytes);
        Self::when(inner, move |_, size| {
            let take = |left: u64| left.checked_sub(size);
            match left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take) {
                Ok(_) => Refusal::None,
                Err(_) => Refusal::Before,
            }
        })
    }
}

struct BySize<F>(F);

impl<F: Fn(&Path, u64) -> Refusal + Send + Sync + 'static> Rule for BySize<F> {
    fn put<'a>(&'a self, path: &'a Path, data: &'a PutPayload) -> BoxFuture<'a, Refusal> {
        ready((self.0)(path, data.content_length() as u64)).boxed()
    }
}

impl fmt::Debug for RuledStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for RuledStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RuledStore({})", self.inner)
    }
}

fn full() -> object_store::Error {
    let source = Box::new(std::io::Error::from_raw_os_error(28));
    object_store::Error::Generic {
        store: "RuledStore",
        source,
    }
}

#[async_trait::async_trait]
impl ObjectStore for RuledStore {
    async fn put_opts(&self, at: &Path, data: PutPayload, opts: PutOptions) -> Result<PutResult> {
        match self.rule.put(at, &data).await {
            Refusal::None => self.inner.put_opts(at, data, opts).await,
            Refusal::Before => Err(full()),
            Refusal::After => {
                self.inner.put_opts(at, data, opts).await?;
                Err(full())
            }
        }
    }

    // No way around the rule: our stores neither put in parts nor copy.
    async fn put_multipart_opts(
        &self,
        _: &Path,
        _: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        Err(full())
    }

    async fn copy_opts(&self, _: &Path, _: &Path, _: CopyOptions) -> Result<()> {
        Err(full())
    }

    async fn get_opts(&self, at: &Path, options: GetOptions) -> Result<GetResult> {
        if self.rule.hides(at) {
            let path = at.to_string();
            let source = "hidden by the test".into();
            return Err(object_store::Error::NotFound { path, source });
        }
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
}
