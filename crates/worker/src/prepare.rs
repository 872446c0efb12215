//! Taking part in a run. Whoever asks is not trusted: the key service decides.

use std::sync::Arc;

use siegel_ident::RunId;
use siegel_wire::v1::{self, worker_server};
use tonic::{Request, Response, Status};

use crate::serve::Node;
use crate::stop::Stop;

pub(crate) struct PrepareService(pub(crate) Arc<Node>);

#[tonic::async_trait]
impl worker_server::Worker for PrepareService {
    async fn prepare(
        &self,
        request: Request<v1::PrepareRequest>,
    ) -> Result<Response<v1::PrepareReply>, Status> {
        let refusal = match self.authorize(&request.into_inner().run_id).await {
            Ok(()) => None,
            Err(stop) => {
                tracing::warn!(error = %stop, "run not prepared");
                Some(stop.to_refusal())
            }
        };
        let signing_key = self.0.kms.keys().identity().signing_key().to_vec();
        Ok(Response::new(v1::PrepareReply {
            signing_key,
            refusal,
        }))
    }
}

impl PrepareService {
    /// Asks for a fresh grant, every time: a new incarnation of the root has new keys, and only
    /// the key service may say so. One at a time, so that strangers cannot make a crowd of us.
    async fn authorize(&self, run: &[u8]) -> Result<(), Stop> {
        let run = RunId::try_from_slice(run).ok_or(Stop::BadRequest)?;
        let _one = self.0.preparing.lock().await;
        let kms = &self.0.kms;
        let grant = kms.authorize(kms.request_id(), run).await?;
        tracing::info!(%run, fencing = %grant.fencing, blobs = grant.blob_count, "run prepared");
        self.0.runs.insert(grant);
        Ok(())
    }
}
