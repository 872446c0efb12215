//! Sessions with roots.

use std::sync::Arc;

use prost::Message as _;
use siegel_attest::Role;
use siegel_link::{Acceptor, LinkError, Refusal, SessionStream};
use siegel_session::{Expect, PeerKeys, Purpose, Setup};
use siegel_wire::v1::{self, worker_request, worker_response};

use crate::compute;
use crate::serve::Node;
use crate::stop::Stop;

pub(crate) struct Roots(pub(crate) Arc<Node>);

impl Acceptor for Roots {
    /// The dialling side names a run, its policy and the root's incarnation, all as this worker was
    /// granted them; it must then prove that it is the root whose key the key service granted for
    /// that run (I3, I6).
    async fn setup(&self, purpose: Option<Purpose>) -> Result<Setup, Refusal> {
        let granted = purpose.ok_or(Stop::BadRequest).and_then(|named| {
            let run = self.0.runs.get(named.run)?;
            run.check_purpose(&named).map(|()| run)
        });
        let run = granted.map_err(|stop| stop.to_refusal())?;
        Ok(Setup {
            identity: self.0.kms.keys().identity().clone(),
            deployment: None,
            purpose,
            expect: Expect::Vouched {
                role: Role::Root,
                keys: vec![run.grant.root.clone()],
            },
        })
    }

    async fn serve(&self, stream: SessionStream) {
        let Some(purpose) = stream.purpose() else {
            return;
        };
        if let Err(error) = self.talk(&purpose, stream).await {
            tracing::debug!(run = %purpose.run, %error, "session with the root ended");
        }
    }
}

impl Roots {
    /// One question at a time. A root that goes away, or asks again before it has its answer,
    /// ends the work on its question.
    async fn talk(&self, purpose: &Purpose, stream: SessionStream) -> Result<(), LinkError> {
        let (mut sender, mut receiver, peer) = stream.split();
        let mut next = receiver.recv().await?;
        while let Some(request) = next.take() {
            let reply = tokio::select! {
                reply = self.answer(purpose, peer.keys(), &request) => reply,
                _ = receiver.recv() => return Err(LinkError::Cut),
            };
            sender.send(&reply.encode_to_vec()).await?;
            next = receiver.recv().await?;
        }
        sender.close().await
    }

    async fn answer(
        &self,
        purpose: &Purpose,
        root: &PeerKeys,
        request: &[u8],
    ) -> v1::WorkerResponse {
        let body = match self.carry_out(purpose, root, request).await {
            Ok(sums) => worker_response::Body::Sums(sums),
            Err(stop) => {
                tracing::warn!(run = %purpose.run, error = %stop, "request refused");
                worker_response::Body::Refusal(stop.to_refusal())
            }
        };
        v1::WorkerResponse { body: Some(body) }
    }

    async fn carry_out(
        &self,
        purpose: &Purpose,
        root: &PeerKeys,
        request: &[u8],
    ) -> Result<v1::BlockSums, Stop> {
        let request = v1::WorkerRequest::decode(request).map_err(|_| Stop::BadRequest)?;
        let Some(worker_request::Body::Compute(ask)) = request.body else {
            return Err(Stop::BadRequest);
        };
        let node = &*self.0;
        // Bounds memory and work; closed never, so the permit always comes.
        let _permit = node
            .computing
            .acquire()
            .await
            .map_err(|_| Stop::BadRequest)?;
        compute::compute(node, purpose, root, ask).await
    }
}
