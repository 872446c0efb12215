//! A root or worker process, as far as the KMS sees it.

use std::sync::Arc;
use std::time::Duration;

use prost::Message as _;
use siegel_attest::ClusterConfig;
use siegel_ident::ClusterId;
use siegel_link::{LinkError, Refusal, SessionStream, dial};
use siegel_platform::Platform;
use siegel_seal::KemPrivate;
use siegel_session::{Expect, Identity, Setup};
use siegel_wire::v1::{self, KmsRequest, KmsResponse, kms_request, kms_response};

use crate::world::World;

/// A root or worker process.
pub(crate) struct Workload {
    pub(crate) platform: Platform,
    pub(crate) identity: Arc<Identity>,
    pub(crate) kem: KemPrivate,
    pub(crate) config: ClusterConfig,
}

impl Workload {
    pub(crate) async fn session(
        &self,
        world: &World,
        node: u64,
    ) -> Result<SessionStream, LinkError> {
        self.session_as(world, node, None).await
    }

    pub(crate) async fn session_as(
        &self,
        world: &World,
        node: u64,
        deployment: Option<ClusterId>,
    ) -> Result<SessionStream, LinkError> {
        let channel = world.net.channel(&world.addresses[&node].parse().unwrap());
        let setup = Setup {
            identity: self.identity.clone(),
            deployment,
            purpose: None,
            expect: Expect::Kms(Arc::new(self.config.clone())),
        };
        dial(&self.platform, channel, setup).await
    }

    /// One request on a fresh session with the leader.
    pub(crate) async fn ask(
        &self,
        world: &World,
        request_id: &[u8],
        body: kms_request::Body,
    ) -> Result<kms_response::Body, Refusal> {
        let request = KmsRequest {
            request_id: request_id.to_vec(),
            body: Some(body),
        };
        for _ in 0..40 {
            let leader = world.leader().await;
            let Ok(mut session) = self.session(world, leader).await else {
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            };
            let timeout = Duration::from_secs(20);
            let reply = session
                .call(&request.encode_to_vec(), timeout)
                .await
                .unwrap();
            match KmsResponse::decode(reply.as_slice()).unwrap().body.unwrap() {
                kms_response::Body::Refusal(r) if r.code == "not-leader" || r.code == "busy" => {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
                kms_response::Body::Refusal(refusal) => return Err(refusal),
                body => return Ok(body),
            }
        }
        panic!("no leader answers");
    }

    pub(crate) async fn register(
        &self,
        world: &World,
        request_id: &[u8],
        ask: v1::RegisterRun,
    ) -> Result<v1::RunGrant, Refusal> {
        match self
            .ask(world, request_id, kms_request::Body::RegisterRun(ask))
            .await?
        {
            kms_response::Body::RunGrant(grant) => Ok(grant),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) async fn authorize(
        &self,
        world: &World,
        request_id: &[u8],
        run_id: &[u8],
    ) -> Result<v1::WorkerGrant, Refusal> {
        let body = kms_request::Body::Authorize(v1::Authorize {
            run_id: run_id.to_vec(),
        });
        match self.ask(world, request_id, body).await? {
            kms_response::Body::WorkerGrant(grant) => Ok(grant),
            other => panic!("{other:?}"),
        }
    }
}
