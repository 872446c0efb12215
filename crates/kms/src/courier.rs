//! What an untrusted courier may ask of a node, over plain gRPC. Nothing here is secret but the DEK
//! of a release whose receipt is in the log (I17).

use std::sync::Arc;

use siegel_ident::Step;
use siegel_ledger::limits::MAX_BUNDLE;
use siegel_ledger::{Event, Ledger, Outcome};
use siegel_link::refusal_to_status;
use siegel_policy::POLICY_MAX;
use siegel_wire::v1::kms_server::Kms;
use siegel_wire::v1::{
    CancelRunReply, CancelRunRequest, GenesisReply, GenesisRequest, KeyBundleReply,
    KeyBundleRequest, OpenReleaseReply, OpenReleaseRequest, ReceiptsReply, ReceiptsRequest,
    RegisterPolicyReply, RegisterPolicyRequest, StatusReply, StatusRequest,
};
use tonic::{Request, Response, Status};

use crate::convert::{endorsements, policy_digest, request_id, run_id};
use crate::member::Process;
use crate::node::Seat;
use crate::refusal::Refused;

/// The public service.
pub(crate) struct Courier(pub(crate) Arc<Process>);

impl Courier {
    fn status_now(&self) -> StatusReply {
        let Some(member) = self.0.founded() else {
            let role = match self.0.platform.start.join {
                true => "joining",
                false => "starting",
            };
            return StatusReply {
                node_id: self.0.node().0,
                role: role.to_owned(),
                ..StatusReply::default()
            };
        };
        let standing = member.replica.standing();
        StatusReply {
            node_id: self.0.node().0,
            leader_id: standing.leader_place.map_or(0, |place| place.0),
            term: standing.term,
            applied: standing.applied,
            clock: standing.clock.0,
            receipts: standing.receipts,
            founded: true,
            role: match standing.seat {
                Seat::Joining => "joining",
                Seat::Learner => "learner",
                Seat::Voter => "voter",
            }
            .to_owned(),
            member_id: standing.member.0,
        }
    }

    async fn register_policy(&self, ask: RegisterPolicyRequest) -> Result<(), Refused> {
        let (member, now) = (self.0.member()?, self.0.platform.now());
        bounded("policy", ask.policy.len(), POLICY_MAX)?;
        bounded("bundle", ask.bundle.len(), MAX_BUNDLE)?;
        let endorsements = endorsements(ask.endorsements)?;
        let event = Event::RegisterPolicy {
            policy: ask.policy,
            bundle: ask.bundle,
            endorsements,
        };
        member
            .replica
            .propose(request_id(&ask.request_id)?, now, event, done)
            .await
    }

    async fn key_bundle(&self, ask: KeyBundleRequest) -> Result<KeyBundleReply, Refused> {
        let (id, policy) = (
            request_id(&ask.request_id)?,
            policy_digest(&ask.policy_digest)?,
        );
        self.0
            .member()?
            .key_bundle(&self.0.platform, id, policy, &ask.checkpoint)
            .await
    }

    async fn open_release(&self, ask: OpenReleaseRequest) -> Result<OpenReleaseReply, Refused> {
        let (id, run) = (request_id(&ask.request_id)?, run_id(&ask.run_id)?);
        bounded("bundle", ask.bundle.len(), MAX_BUNDLE)?;
        let (member, platform) = (self.0.member()?, &self.0.platform);
        let dek = member
            .open_release(platform, id, run, Step(ask.step), ask.bundle)
            .await?;
        Ok(OpenReleaseReply {
            dek: dek.expose().to_vec(),
        })
    }

    async fn cancel_run(&self, ask: CancelRunRequest) -> Result<(), Refused> {
        let (member, now) = (self.0.member()?, self.0.platform.now());
        let event = Event::CancelRun {
            run: run_id(&ask.run_id)?,
        };
        member
            .replica
            .propose(request_id(&ask.request_id)?, now, event, done)
            .await
    }
}

/// The ledger would refuse it too, but only from inside the log.
fn bounded(field: &str, len: usize, max: usize) -> Result<(), Refused> {
    if len <= max {
        return Ok(());
    }
    Err(Refused::malformed(
        field,
        format!("{field} has {len} bytes, at most {max} are allowed"),
    ))
}

fn done(_: &Ledger, outcome: Outcome) -> Result<(), Refused> {
    match outcome {
        Outcome::Done(_) => Ok(()),
        Outcome::Refused(refusal) => Err(refusal.into()),
    }
}

fn reply<T>(result: Result<T, Refused>) -> Result<Response<T>, Status> {
    match result {
        Ok(reply) => Ok(Response::new(reply)),
        Err(refused) => Err(refusal_to_status(&refused.into_wire())),
    }
}

#[tonic::async_trait]
impl Kms for Courier {
    async fn status(&self, _: Request<StatusRequest>) -> Result<Response<StatusReply>, Status> {
        Ok(Response::new(self.status_now()))
    }

    async fn genesis(&self, _: Request<GenesisRequest>) -> Result<Response<GenesisReply>, Status> {
        let genesis = |member: &Arc<crate::member::Member>| GenesisReply {
            genesis: member.cluster.genesis_bytes().to_vec(),
        };
        reply(self.0.member().map(genesis))
    }

    async fn register_policy(
        &self,
        ask: Request<RegisterPolicyRequest>,
    ) -> Result<Response<RegisterPolicyReply>, Status> {
        let result = Courier::register_policy(self, ask.into_inner()).await;
        reply(result.map(|()| RegisterPolicyReply {}))
    }

    async fn key_bundle(
        &self,
        ask: Request<KeyBundleRequest>,
    ) -> Result<Response<KeyBundleReply>, Status> {
        reply(Courier::key_bundle(self, ask.into_inner()).await)
    }

    async fn receipts(
        &self,
        ask: Request<ReceiptsRequest>,
    ) -> Result<Response<ReceiptsReply>, Status> {
        let receipts = match self.0.member() {
            Ok(member) => member.receipts(ask.into_inner().from).await,
            Err(refused) => Err(refused),
        };
        reply(receipts.map(|receipts| ReceiptsReply { receipts }))
    }

    async fn open_release(
        &self,
        ask: Request<OpenReleaseRequest>,
    ) -> Result<Response<OpenReleaseReply>, Status> {
        reply(Courier::open_release(self, ask.into_inner()).await)
    }

    async fn cancel_run(
        &self,
        ask: Request<CancelRunRequest>,
    ) -> Result<Response<CancelRunReply>, Status> {
        let result = Courier::cancel_run(self, ask.into_inner()).await;
        reply(result.map(|()| CancelRunReply {}))
    }
}
