//! One node: a session service and the public RPCs, both scripted.

use std::sync::{Arc, Mutex, PoisonError};

use prost::Message as _;
use siegel_attest::Role;
use siegel_ident::{ClusterId, ConfigDigest, Measurement, NodeId};
use siegel_link::{
    Acceptor, Endpoint, LinkService, Refusal, SessionStream, refusal_to_status, server,
};
use siegel_platform::StartInfo;
use siegel_session::{Expect, Peer, PeerKeys, Purpose, Setup};
use siegel_wire::v1::{self, kms_response, kms_server};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tonic::{Request, Response, Status};

use super::{World, measurement_of};
use crate::{BootKeys, KmsNode};

/// How a node answers.
pub trait NodeScript: Send + Sync + 'static {
    /// A request on a session; `None` drops the session without an answer.
    fn session(
        &self,
        node: NodeId,
        peer: &Peer,
        request: v1::KmsRequest,
    ) -> Option<Result<kms_response::Body, Refusal>>;

    /// A public RPC that carries a request id (empty if it has none).
    fn rpc(&self, node: NodeId, request_id: &[u8]) -> Result<(), Refusal> {
        let _ = (node, request_id);
        Ok(())
    }

    /// A policy that a courier registers, as it arrived.
    fn policy(&self, request: &v1::RegisterPolicyRequest) {
        let _ = request;
    }
}

/// A running node; dropping it kills it.
pub struct FakeNode {
    /// For the client.
    pub node: KmsNode,
    task: JoinHandle<()>,
    dead: watch::Sender<bool>,
    met: Arc<Mutex<Vec<PeerKeys>>>,
}

impl Drop for FakeNode {
    fn drop(&mut self) {
        self.task.abort();
        // Connections live on in tasks of their own: they must see it.
        self.dead.send_replace(true);
    }
}

impl FakeNode {
    /// The keys of the workloads that it has met, in order.
    pub fn met(&self) -> Vec<PeerKeys> {
        self.met
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Starts a good node.
    pub async fn start(world: &World, id: u64, script: Arc<dyn NodeScript>) -> Self {
        let measured = measurement_of(Role::KmsPeer.as_str());
        let (config, cluster) = (world.config_digest(), world.cluster());
        Self::start_as(world, id, script, measured, config, cluster).await
    }

    /// Starts a node that measures, is configured, or belongs to a cluster as told.
    #[allow(clippy::unwrap_used)]
    pub async fn start_as(
        world: &World,
        id: u64,
        script: Arc<dyn NodeScript>,
        measurement: Measurement,
        config: ConfigDigest,
        cluster: ClusterId,
    ) -> Self {
        let endpoint: Endpoint = format!("pipe:kms-{id}").parse().unwrap();
        let (endpoint, incoming) = world.net.listen(&endpoint).await.unwrap();
        let platform = world.platform(measurement, config, StartInfo::default(), |_| {});
        let keys = BootKeys::generate(&mut platform.rng(), Role::KmsPeer, config).unwrap();
        let id = NodeId(id);
        let (dead, dying) = watch::channel(false);
        let met: Arc<Mutex<Vec<PeerKeys>>> = Arc::default();
        let accepts = Sessions {
            node: id,
            keys,
            expect: Expect::KmsOrWorkload(Arc::new(world.config().clone())),
            cluster,
            script: script.clone(),
            dead: dying.clone(),
            met: met.clone(),
        };
        let rpcs = kms_server::KmsServer::new(Rpcs {
            node: id,
            script,
            dead: dying,
        });
        let serving = server()
            .add_service(LinkService::server(platform, Arc::new(accepts)))
            .add_service(rpcs)
            .serve_with_incoming(incoming);
        let task = tokio::spawn(async {
            let _ = serving.await;
        });
        Self {
            node: KmsNode { id, endpoint },
            task,
            dead,
            met,
        }
    }
}

struct Sessions {
    node: NodeId,
    keys: BootKeys,
    expect: Expect,
    cluster: ClusterId,
    script: Arc<dyn NodeScript>,
    dead: watch::Receiver<bool>,
    met: Arc<Mutex<Vec<PeerKeys>>>,
}

impl Acceptor for Sessions {
    async fn setup(&self, purpose: Option<Purpose>) -> Result<Setup, Refusal> {
        Ok(Setup {
            identity: self.keys.identity().clone(),
            deployment: Some(self.cluster),
            purpose,
            expect: self.expect.clone(),
        })
    }

    async fn serve(&self, mut stream: SessionStream) {
        let mut dead = self.dead.clone();
        let keys = stream.peer().keys().clone();
        self.met
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(keys);
        tokio::select! {
            () = self.talk(&mut stream) => {}
            _ = dead.wait_for(|dead| *dead) => {}
        }
    }
}

impl Sessions {
    async fn talk(&self, stream: &mut SessionStream) {
        while let Ok(Some(bytes)) = stream.recv().await {
            let Ok(request) = v1::KmsRequest::decode(bytes.as_slice()) else {
                return;
            };
            let peer = stream.peer().clone();
            let Some(answer) = self.script.session(self.node, &peer, request) else {
                return;
            };
            let body = answer.unwrap_or_else(kms_response::Body::Refusal);
            let reply = v1::KmsResponse { body: Some(body) };
            if stream.send(&reply.encode_to_vec()).await.is_err() {
                return;
            }
        }
    }
}

struct Rpcs {
    node: NodeId,
    script: Arc<dyn NodeScript>,
    dead: watch::Receiver<bool>,
}

impl Rpcs {
    fn answer<T>(&self, request_id: &[u8], reply: T) -> Result<Response<T>, Status> {
        if *self.dead.borrow() {
            return Err(Status::unavailable("dead"));
        }
        self.script
            .rpc(self.node, request_id)
            .map_err(|refusal| refusal_to_status(&refusal))?;
        Ok(Response::new(reply))
    }
}

#[tonic::async_trait]
impl kms_server::Kms for Rpcs {
    async fn status(
        &self,
        _: Request<v1::StatusRequest>,
    ) -> Result<Response<v1::StatusReply>, Status> {
        let reply = v1::StatusReply {
            node_id: self.node.0,
            founded: true,
            role: "voter".to_owned(),
            ..Default::default()
        };
        self.answer(&[], reply)
    }

    async fn genesis(
        &self,
        _: Request<v1::GenesisRequest>,
    ) -> Result<Response<v1::GenesisReply>, Status> {
        self.answer(
            &[],
            v1::GenesisReply {
                genesis: b"genesis".to_vec(),
            },
        )
    }

    async fn register_policy(
        &self,
        request: Request<v1::RegisterPolicyRequest>,
    ) -> Result<Response<v1::RegisterPolicyReply>, Status> {
        self.script.policy(request.get_ref());
        self.answer(&request.get_ref().request_id, v1::RegisterPolicyReply {})
    }

    async fn key_bundle(
        &self,
        request: Request<v1::KeyBundleRequest>,
    ) -> Result<Response<v1::KeyBundleReply>, Status> {
        self.answer(&request.get_ref().request_id, v1::KeyBundleReply::default())
    }

    async fn receipts(
        &self,
        _: Request<v1::ReceiptsRequest>,
    ) -> Result<Response<v1::ReceiptsReply>, Status> {
        self.answer(&[], v1::ReceiptsReply::default())
    }

    async fn open_release(
        &self,
        request: Request<v1::OpenReleaseRequest>,
    ) -> Result<Response<v1::OpenReleaseReply>, Status> {
        let reply = v1::OpenReleaseReply { dek: vec![5; 32] };
        self.answer(&request.get_ref().request_id, reply)
    }

    async fn cancel_run(
        &self,
        request: Request<v1::CancelRunRequest>,
    ) -> Result<Response<v1::CancelRunReply>, Status> {
        self.answer(&request.get_ref().request_id, v1::CancelRunReply {})
    }
}
