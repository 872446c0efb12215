//! What the operator sees of a run. All of it is public: digests, counts of public things, phases.

use siegel_ident::{ObjectDigest, Step};
use siegel_keys::RootGrant;
use siegel_wire::v1::{self, run_event::Body};
use tokio::sync::mpsc;
use tonic::Status;

/// Events that wait for the reader.
pub(crate) const QUEUE: usize = 64;

/// The run goes on when nobody listens any more.
#[derive(Clone)]
pub(crate) struct Events(pub(crate) mpsc::Sender<Result<v1::RunEvent, Status>>);

impl Events {
    /// How far a phase is. Dropped if the reader is slow: only the latest one matters.
    pub(crate) fn progress(&self, phase: &str, done: u64, total: u64) {
        let body = Body::Progress(v1::PhaseProgress {
            phase: phase.to_owned(),
            done,
            total,
        });
        let _ = self.0.try_send(Ok(v1::RunEvent { body: Some(body) }));
    }

    /// The run is this root's. What it committed before is in the receipts.
    pub(crate) async fn registered(&self, grant: &RootGrant) {
        self.send(Body::Registered(v1::RunRegistered {
            run_id: grant.run.to_vec(),
            blob_count: grant.registered.blob_count,
            input_root: grant.registered.input_root.to_vec(),
            resumed_after: grant.step.0,
        }))
        .await;
    }

    pub(crate) async fn committed(
        &self,
        step: Step,
        checkpoint: ObjectDigest,
        release: Option<(ObjectDigest, String)>,
    ) {
        let (release, release_name) = release
            .map(|(digest, name)| (digest.to_vec(), name))
            .unwrap_or_default();
        self.send(Body::Step(v1::StepCommitted {
            step: step.0,
            checkpoint: checkpoint.to_vec(),
            release,
            release_name,
        }))
        .await;
    }

    pub(crate) async fn finished(&self) {
        self.send(Body::Finished(v1::RunFinished {})).await;
    }

    pub(crate) async fn failed(&self, refusal: v1::Refusal) {
        self.send(Body::Failed(refusal)).await;
    }

    async fn send(&self, body: Body) {
        let _ = self.0.send(Ok(v1::RunEvent { body: Some(body) })).await;
    }
}
