//! A depot that serves one object in the place of another.

use std::pin::Pin;

use futures::{Stream, stream};
use siegel_ident::Digest;
use siegel_keys::fake::World;
use siegel_link::depot::{DepotClient, ObjectKind};
use siegel_link::server;
use siegel_wire::v1::depot_server::{Depot, DepotServer};
use siegel_wire::v1::{GetChunk, GetRequest, GetUploadsRequest, ListPage, ListRequest, PutChunk};
use siegel_wire::v1::{PutReply, UploadParts};
use tonic::{Request, Response, Status, Streaming};

struct Liar {
    honest: DepotClient,
    asked: Digest,
    served: Digest,
}

/// Listens at `at`; reads only.
pub(crate) async fn start(
    world: &World,
    at: &str,
    honest: DepotClient,
    asked: Digest,
    served: Digest,
) {
    let (_, incoming) = world.net.listen(&at.parse().unwrap()).await.unwrap();
    let liar = Liar {
        honest,
        asked,
        served,
    };
    let serving = server().add_service(DepotServer::new(liar));
    tokio::spawn(serving.serve_with_incoming(incoming));
}

type Answer<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

#[tonic::async_trait]
impl Depot for Liar {
    async fn put(&self, _: Request<Streaming<PutChunk>>) -> Result<Response<PutReply>, Status> {
        Err(Status::unimplemented("reads only"))
    }

    type GetStream = Answer<GetChunk>;

    async fn get(
        &self,
        request: Request<GetRequest>,
    ) -> Result<Response<Answer<GetChunk>>, Status> {
        let request = request.into_inner();
        let kind = ObjectKind::try_from(request.kind).unwrap();
        let asked = Digest::try_from_slice(&request.digest).unwrap();
        let digest = match asked == self.asked {
            true => self.served,
            false => asked,
        };
        let data = self.honest.get(kind, digest, 1 << 20).await.unwrap();
        Ok(Response::new(Box::pin(stream::iter([Ok(GetChunk {
            data,
        })]))))
    }

    type GetUploadsStream = Answer<UploadParts>;

    async fn get_uploads(
        &self,
        _: Request<GetUploadsRequest>,
    ) -> Result<Response<Answer<UploadParts>>, Status> {
        Err(Status::unimplemented("roots read no uploads"))
    }

    type ListStream = Answer<ListPage>;

    async fn list(&self, _: Request<ListRequest>) -> Result<Response<Answer<ListPage>>, Status> {
        Err(Status::unimplemented("reads only"))
    }
}
