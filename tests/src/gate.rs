//! A store that makes others wait, or says that it has lost something.
//!
//! It stops a root at an exact place: with a step computed and sealed, and nothing of it stored or
//! committed.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures::stream::BoxStream;
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use siegel_depot::Store;
use siegel_ident::Step;
use siegel_seal::object::{ObjectHeader, Purpose};
use tokio::sync::watch::Sender;

/// What is held back, and what is hidden. Share it with the store that it wraps.
#[derive(Debug, Default)]
pub struct Gate(Sender<State>);

#[derive(Debug, Default)]
struct State {
    /// The next checkpoint of these steps will wait.
    armed: BTreeSet<Step>,
    /// These do.
    waiting: BTreeSet<Step>,
    /// Parts of the names of objects that are not there.
    hidden: BTreeSet<String>,
    /// All releases that were stored, committed or not.
    releases: Vec<(Step, Bytes)>,
}

impl Gate {
    /// Lets everything through.
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// A store in memory behind this gate.
    pub fn store(self: &Arc<Self>) -> Store {
        let gate = Arc::clone(self);
        Store::memory().wrapped(|inner| Gated { inner, gate })
    }

    /// The next checkpoint of this step that anybody stores waits until [`Self::open`]; one only.
    pub fn hold(&self, step: u64) {
        self.0.send_modify(|state| {
            state.armed.insert(Step(step));
        });
    }

    /// Returns when somebody waits with the checkpoint of this step.
    pub async fn caught(&self, step: u64) {
        self.until(|state| state.waiting.contains(&Step(step)))
            .await;
    }

    /// Lets it through.
    pub fn open(&self, step: u64) {
        self.0.send_modify(|state| {
            state.waiting.remove(&Step(step));
        });
    }

    /// An object with this in its name is not there any more.
    pub fn hide(&self, name: &str) {
        self.0.send_modify(|state| {
            state.hidden.insert(name.to_owned());
        });
    }

    /// All of them are there again.
    pub fn give_back(&self) {
        self.0.send_modify(|state| state.hidden.clear());
    }

    /// The releases of this step that anybody stored.
    pub fn releases(&self, step: u64) -> Vec<Bytes> {
        let state = self.0.borrow();
        let of = state.releases.iter().filter(|(of, _)| of.0 == step);
        of.map(|(_, bytes)| bytes.clone()).collect()
    }

    async fn pass(&self, data: &PutPayload) {
        let bytes = Bytes::from(data.clone());
        let step = match ObjectHeader::parse_prefix(&bytes) {
            Ok((header, _)) if header.purpose == Purpose::Checkpoint => header.context.step,
            Ok((header, _)) => {
                let release = (header.context.step, bytes);
                return self.0.send_modify(|state| state.releases.push(release));
            }
            Err(_) => return,
        };
        let caught = self.0.send_if_modified(|state| {
            let caught = state.armed.remove(&step);
            if caught {
                state.waiting.insert(step);
            }
            caught
        });
        if caught {
            self.until(|state| !state.waiting.contains(&step)).await;
        }
    }

    async fn until(&self, so: impl FnMut(&State) -> bool) {
        let mut changes = self.0.subscribe();
        changes.wait_for(so).await.expect("the gate outlives it");
    }

    fn hides(&self, at: &Path) -> bool {
        let state = self.0.borrow();
        let name: &str = at.as_ref();
        state.hidden.iter().any(|hidden| name.contains(hidden))
    }
}

#[derive(Debug)]
struct Gated {
    inner: Arc<dyn ObjectStore>,
    gate: Arc<Gate>,
}

impl fmt::Display for Gated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Gated({})", self.inner)
    }
}

#[async_trait::async_trait]
impl ObjectStore for Gated {
    async fn put_opts(&self, at: &Path, data: PutPayload, opts: PutOptions) -> Result<PutResult> {
        self.gate.pass(&data).await;
        self.inner.put_opts(at, data, opts).await
    }

    async fn put_multipart_opts(
        &self,
        at: &Path,
        opts: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(at, opts).await
    }

    async fn get_opts(&self, at: &Path, options: GetOptions) -> Result<GetResult> {
        if self.gate.hides(at) {
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

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}
