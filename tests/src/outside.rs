//! All that can be seen of a run from outside, in a form that two runs can be compared by.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;
use siegel_depot::segment::Directory;
use siegel_ident::EpochId;
use siegel_operator::{FinishedRun, RunEvent};
use siegel_seal::object::ObjectHeader;

use crate::World;

/// What is random by nature is masked, but not its length: digests, keys, signatures, times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outside {
    /// Sizes of the depot's objects by kind; sealed ones by what they are and their step.
    pub objects: BTreeMap<String, Vec<usize>>,
    /// The receipts, in order.
    pub receipts: Vec<String>,
    /// What the root said, in order.
    pub events: Vec<String>,
}

impl World {
    /// Runs, and tells what was to be seen. The depot must be in the world's folder.
    pub async fn run_watched(&mut self, epoch: EpochId) -> (FinishedRun, Outside) {
        let mut events = Vec::new();
        let order = self.order(epoch);
        let operator = &self.deployment.operator;
        let run = operator.run(&order, |event| events.push(said(event))).await;
        let run = run.expect("a run");
        let deployment = &mut self.deployment;
        let carried = deployment.operator.carry_receipts(&mut deployment.trail);
        carried.await.expect("receipts");
        let receipts = deployment.trail.carried().iter().map(|carried| {
            let body = carried.receipt.to_bytes().expect("JSON");
            masked(serde_json::from_slice(&body).expect("JSON")).to_string()
        });
        let receipts = receipts.collect();
        let mut objects = BTreeMap::new();
        let depot = self.dir.path().join("depot");
        collect(&depot, &depot, &mut objects);
        let outside = Outside {
            objects,
            receipts,
            events,
        };
        (run, outside)
    }
}

fn said(event: &RunEvent) -> String {
    match event {
        RunEvent::Registered { blobs, .. } => format!("registered with {blobs} blobs"),
        RunEvent::Progress { phase, done, total } => format!("{phase}: {done} of {total}"),
        RunEvent::Committed(step) => {
            let name = step.release.as_ref().map(|(name, _)| name);
            format!("step {} committed, release {name:?}", step.step)
        }
        other => format!("{other:?}"),
    }
}

fn masked(value: Value) -> Value {
    let time = |key: &str| ["at", "deadline", "endorsed_until", "expires", "opened"].contains(&key);
    match value {
        Value::String(text) if text.len() >= 16 => Value::String("?".repeat(text.len())),
        Value::Array(values) => values.into_iter().map(masked).collect(),
        Value::Object(fields) => {
            let field = |(key, value): (String, Value)| match time(&key) {
                true => (key, "time".into()),
                false => (key, masked(value)),
            };
            Value::Object(fields.into_iter().map(field).collect())
        }
        other => other,
    }
}

fn collect(depot: &Path, at: &Path, objects: &mut BTreeMap<String, Vec<usize>>) {
    for entry in std::fs::read_dir(at).expect("the depot's folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect(depot, &path, objects);
            continue;
        }
        let bytes = std::fs::read(&path).expect("an object");
        let inside = path.strip_prefix(depot).expect("inside");
        let kind = inside.iter().next().expect("a kind").to_string_lossy();
        if kind == "upload" {
            // How they are packed follows from when they came.
            objects
                .entry("upload".into())
                .or_default()
                .extend(uploads(&bytes));
            continue;
        }
        let kind = match ObjectHeader::parse_prefix(&bytes) {
            Ok((header, _)) if kind == "sealed" => {
                format!("{:?} of step {}", header.purpose, header.context.step)
            }
            _ => kind.into_owned(),
        };
        objects.entry(kind).or_default().push(bytes.len());
    }
    objects.values_mut().for_each(|sizes| sizes.sort_unstable());
}

/// The lengths of the uploads in a segment.
fn uploads(segment: &[u8]) -> Vec<usize> {
    let len = Directory::len_of(segment).expect("a segment");
    let directory = Directory::parse(&segment[..len]).expect("a directory");
    let places = directory.places();
    places.map(|(upload, _)| upload.len as usize).collect()
}
