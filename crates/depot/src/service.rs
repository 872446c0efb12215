//! The depot as a tonic service.

use std::future::Future;
use std::sync::Arc;

use bytes::Bytes;
use futures::stream::{self, BoxStream};
use futures::{Stream, StreamExt as _};
use siegel_ident::{Digest, EpochId, PolicyDigest};
use siegel_wire::v1;
use siegel_wire::v1::depot_server::{Depot as DepotRpc, DepotServer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tonic::transport::server::Connected;
use tonic::{Request, Response, Status, Streaming};

use crate::reading::Reading;
use crate::{Depot, DepotError, Kind, PutOutcome};

/// Bytes per chunk of an answer.
const CHUNK: usize = 256 * 1024;
/// Digests per page of a list: 32 KiB.
const PAGE: usize = 1024;

/// Serves until `shutdown` resolves, on any stream of connections.
pub async fn serve<IO, E>(
    incoming: impl Stream<Item = Result<IO, E>>,
    depot: Depot,
    shutdown: impl Future<Output = ()>,
) -> Result<(), DepotError>
where
    IO: AsyncRead + AsyncWrite + Connected + Unpin + Send + 'static,
    E: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let puts = Arc::new(Semaphore::new(depot.limits().concurrent_puts));
    let service = Service { depot, puts };
    tonic::transport::Server::builder()
        .serve_with_incoming_shutdown(DepotServer::new(service), incoming, shutdown)
        .await
        .map_err(|e| DepotError::Service(e.to_string()))
}

struct Service {
    depot: Depot,
    puts: Arc<Semaphore>,
}

#[tonic::async_trait]
impl DepotRpc for Service {
    async fn put(
        &self,
        request: Request<Streaming<v1::PutChunk>>,
    ) -> Result<Response<v1::PutReply>, Status> {
        let outcome = self.receive(request.into_inner()).await.map_err(|error| {
            tracing::warn!(%error, "put refused");
            error.to_status()
        })?;
        Ok(Response::new(v1::PutReply {
            duplicate: outcome == PutOutcome::Duplicate,
        }))
    }

    type GetStream = BoxStream<'static, Result<v1::GetChunk, Status>>;

    async fn get(
        &self,
        request: Request<v1::GetRequest>,
    ) -> Result<Response<Self::GetStream>, Status> {
        let v1::GetRequest { kind, digest } = request.into_inner();
        let bytes = async {
            let digest = digest_of("digest", &digest)?;
            self.depot.get(Kind::from_wire(kind)?, digest).await
        };
        let bytes = bytes.await.map_err(|e| e.to_status())?;
        let chunks = stream::unfold(bytes, |mut rest: Bytes| async move {
            let data = rest.split_to(CHUNK.min(rest.len()));
            (!data.is_empty()).then(|| (Ok(v1::GetChunk { data: data.into() }), rest))
        });
        Ok(Response::new(chunks.boxed()))
    }

    type GetUploadsStream = BoxStream<'static, Result<v1::UploadParts, Status>>;

    async fn get_uploads(
        &self,
        request: Request<v1::GetUploadsRequest>,
    ) -> Result<Response<Self::GetUploadsStream>, Status> {
        let asked = request.into_inner().digests;
        let asked = asked
            .iter()
            .map(|bytes| Ok(digest_of("digests", bytes)?.into()));
        let reading = asked
            .collect::<Result<_, DepotError>>()
            .and_then(|asked| Reading::new(self.depot.clone(), asked));
        let uploads = reading.map_err(|e| e.to_status())?.stream();
        let uploads = uploads.map(|sent| sent.map_err(|e| e.to_status()));
        Ok(Response::new(uploads.boxed()))
    }

    type ListStream = BoxStream<'static, Result<v1::ListPage, Status>>;

    async fn list(
        &self,
        request: Request<v1::ListRequest>,
    ) -> Result<Response<Self::ListStream>, Status> {
        let v1::ListRequest {
            policy_digest,
            epoch,
        } = request.into_inner();
        let policy = digest_of("policy_digest", &policy_digest).map_err(|e| e.to_status())?;
        let digests = self.depot.list(PolicyDigest::from(policy), EpochId(epoch));
        let page = |some: &[siegel_ident::BlobDigest]| v1::ListPage {
            digests: some.iter().map(|d| d.to_vec()).collect(),
        };
        let pages: Vec<_> = digests.chunks(PAGE).map(|some| Ok(page(some))).collect();
        Ok(Response::new(stream::iter(pages).boxed()))
    }
}

impl Service {
    async fn receive(&self, mut chunks: Streaming<v1::PutChunk>) -> Result<PutOutcome, DepotError> {
        let closed = |_| DepotError::Service("the depot is closing".into());
        let _permit = self.puts.acquire().await.map_err(closed)?;
        let limits = *self.depot.limits();
        let first = self
            .next(&mut chunks)
            .await?
            .ok_or(DepotError::EmptyStream)?;
        let kind = Kind::from_wire(first.kind)?;
        let digest = digest_of("digest", &first.digest)?;
        let mut bytes = first.data;
        while bytes.len() <= limits.max_object_bytes {
            let Some(chunk) = self.next(&mut chunks).await? else {
                break;
            };
            bytes.extend_from_slice(&chunk.data);
        }
        self.depot.put(kind, digest, bytes.into()).await
    }

    async fn next(
        &self,
        chunks: &mut Streaming<v1::PutChunk>,
    ) -> Result<Option<v1::PutChunk>, DepotError> {
        let idle = self.depot.limits().idle;
        timeout(idle, chunks.message())
            .await
            .map_err(|_| DepotError::Idle {
                seconds: idle.as_secs(),
            })?
            .map_err(|status| DepotError::Broken(status.message().into()))
    }
}

fn digest_of(field: &'static str, bytes: &[u8]) -> Result<Digest, DepotError> {
    Digest::try_from_slice(bytes).ok_or(DepotError::DigestLength {
        field,
        len: bytes.len(),
    })
}
