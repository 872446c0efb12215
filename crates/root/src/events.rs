//! What the operator sees of a run. All of it is public: digests, counts of public things, phases.

use siegel_ident::{InputRoot, ObjectDigest, RunId, Step};
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

    pub(crate) async fn registered(&self, run: RunId, blob_count: u64, input_root: InputRoot) {
        self.send(Body::Registered(v1::RunRegistered {
            run_id: run.to_vec(),
            blob_count,
            input_root: input_root.to_vec(),
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
