//! Sessions with roots.

use std::sync::Arc;

use prost::Message as _;
use siegel_attest::Role;
use siegel_ident::RunId;
use siegel_link::{Acceptor, LinkError, Refusal, SessionStream};
use siegel_session::{Expect, PeerKeys, Setup};
use siegel_wire::v1::{self, worker_request, worker_response};

use crate::compute;
use crate::serve::Node;
use crate::stop::Stop;

pub(crate) struct Roots(pub(crate) Arc<Node>);

impl Acceptor for Roots {
    /// The dialling side names a run; it must then prove that it is the root whose key the key
    /// service granted for that run (I3).
    async fn setup(&self, run: Option<RunId>) -> Result<Setup, Refusal> {
        let granted = run
            .ok_or(Stop::BadRequest)
            .and_then(|run| self.0.runs.get(run));
        let run = granted.map_err(|stop| stop.to_refusal())?;
        Ok(Setup {
            identity: self.0.kms.keys().identity().clone(),
            deployment: None,
            run: Some(run.grant.run),
            expect: Expect::Vouched {
                role: Role::Root,
                keys: vec![run.grant.root.clone()],
            },
        })
    }

    async fn serve(&self, stream: SessionStream) {
        let Some(run) = stream.run() else { return };
        if let Err(error) = self.talk(run, stream).await {
            tracing::debug!(%run, %error, "session with the root ended");
        }
    }
}

impl Roots {
    /// One question at a time. A root that goes away, or asks again before it has its answer,
    /// ends the work on its question.
    async fn talk(&self, run: RunId, stream: SessionStream) -> Result<(), LinkError> {
        let (mut sender, mut receiver, peer) = stream.split();
        let mut next = receiver.recv().await?;
        while let Some(request) = next.take() {
            let reply = tokio::select! {
                reply = self.answer(run, peer.keys(), &request) => reply,
                _ = receiver.recv() => return Err(LinkError::Cut),
            };
            sender.send(&reply.encode_to_vec()).await?;
            next = receiver.recv().await?;
        }
        sender.close().await
    }

    async fn answer(&self, run: RunId, root: &PeerKeys, request: &[u8]) -> v1::WorkerResponse {
        let body = match self.carry_out(run, root, request).await {
            Ok(sums) => worker_response::Body::Sums(sums),
            Err(stop) => {
                tracing::warn!(%run, error = %stop, "request refused");
                worker_response::Body::Refusal(stop.to_refusal())
            }
        };
        v1::WorkerResponse { body: Some(body) }
    }

    async fn carry_out(
        &self,
        run: RunId,
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
        compute::compute(node, run, root, ask).await
    }
}
