//! A depot in memory that can be made to lie.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use siegel_ident::Digest;
use siegel_link::{Net, server};
use siegel_wire::v1::{self, depot_server};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};

/// What it stores and what it says.
#[derive(Clone, Default)]
pub(crate) struct LyingDepot {
    /// Served as they are, under whatever digest.
    pub(crate) objects: Arc<Mutex<BTreeMap<Vec<u8>, Vec<u8>>>>,
    /// Digests of what was asked for, in order.
    pub(crate) gets: Arc<Mutex<Vec<Vec<u8>>>>,
    /// Answers no get while set.
    pub(crate) stalls: Arc<AtomicBool>,
}

impl LyingDepot {
    pub(crate) fn put(&self, bytes: &[u8]) -> Digest {
        let digest = Digest::of(bytes);
        self.objects
            .lock()
            .unwrap()
            .insert(digest.to_vec(), bytes.to_vec());
        digest
    }

    /// Serves other bytes under this digest, or none.
    pub(crate) fn lie(&self, digest: Vec<u8>, bytes: Option<Vec<u8>>) {
        let mut objects = self.objects.lock().unwrap();
        match bytes {
            None => objects.remove(&digest),
            Some(bytes) => objects.insert(digest, bytes),
        };
    }

    pub(crate) async fn serve(&self, net: &Net) {
        let endpoint = "pipe:depot".parse().unwrap();
        let (_, incoming) = net.listen(&endpoint).await.unwrap();
        let service = depot_server::DepotServer::new(self.clone());
        tokio::spawn(server().add_service(service).serve_with_incoming(incoming));
    }
}

fn one<T: Send + 'static>(item: T) -> Response<ReceiverStream<Result<T, Status>>> {
    let (sender, receiver) = mpsc::channel(1);
    sender.try_send(Ok(item)).ok();
    Response::new(ReceiverStream::new(receiver))
}

#[tonic::async_trait]
impl depot_server::Depot for LyingDepot {
    type GetStream = ReceiverStream<Result<v1::GetChunk, Status>>;
    type GetUploadsStream = ReceiverStream<Result<v1::UploadParts, Status>>;
    type ListStream = ReceiverStream<Result<v1::ListPage, Status>>;

    async fn put(
        &self,
        _: Request<Streaming<v1::PutChunk>>,
    ) -> Result<Response<v1::PutReply>, Status> {
        Err(Status::unimplemented("tests put by hand"))
    }

    async fn get(
        &self,
        request: Request<v1::GetRequest>,
    ) -> Result<Response<Self::GetStream>, Status> {
        let digest = request.get_ref().digest.clone();
        self.gets.lock().unwrap().push(digest);
        if self.stalls.load(Ordering::SeqCst) {
            std::future::pending::<()>().await;
        }
        let objects = self.objects.lock().unwrap();
        match objects.get(&request.get_ref().digest) {
            Some(bytes) => Ok(one(v1::GetChunk {
                data: bytes.clone(),
            })),
            None => Err(Status::not_found("no such object")),
        }
    }

    async fn get_uploads(
        &self,
        request: Request<v1::GetUploadsRequest>,
    ) -> Result<Response<Self::GetUploadsStream>, Status> {
        let asked = request.into_inner().digests;
        self.gets.lock().unwrap().extend(asked.iter().cloned());
        if self.stalls.load(Ordering::SeqCst) {
            std::future::pending::<()>().await;
        }
        let (sender, receiver) = mpsc::channel(asked.len() + 1);
        let objects = self.objects.lock().unwrap();
        for digest in asked {
            let sent = objects.get(&digest).map(|bytes| v1::UploadParts {
                parts: vec![v1::UploadPart {
                    data: bytes.clone(),
                    last: true,
                }],
            });
            let missing = sent.is_none();
            let sent = sent.ok_or_else(|| Status::not_found("no such object"));
            sender.try_send(sent).unwrap();
            if missing {
                break;
            }
        }
        Ok(Response::new(ReceiverStream::new(receiver)))
    }

    async fn list(
        &self,
        _: Request<v1::ListRequest>,
    ) -> Result<Response<Self::ListStream>, Status> {
        Err(Status::unimplemented(
            "a worker does not ask the depot which uploads there are",
        ))
    }
}
