//! A store that makes others wait, or says that it has lost something.
//!
//! It stops a root at an exact place: with a step computed and sealed, and nothing of it stored or
//! committed.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use futures::future::{BoxFuture, FutureExt as _};
use siegel_depot::Store;
use siegel_ident::Step;
use siegel_seal::object::{ObjectHeader, Purpose};
use siegel_store::{Path, PutPayload, Refusal, Rule, RuledStore};
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
        let gated = Gated(Arc::clone(self));
        Store::memory().wrapped(|inner| RuledStore::new(inner, gated))
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

struct Gated(Arc<Gate>);

impl Rule for Gated {
    fn put<'a>(&'a self, _: &'a Path, data: &'a PutPayload) -> BoxFuture<'a, Refusal> {
        self.0.pass(data).map(|()| Refusal::None).boxed()
    }

    fn hides(&self, path: &Path) -> bool {
        self.0.hides(path)
    }
}
