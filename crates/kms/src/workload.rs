//! Sessions of roots and workers. Their evidence was kept until now; every request that leads to a
//! key appraises it against the policy of the very run that the request names (I3), and the fields
//! of the appraisal enter the log, where each replica checks them once more.

mod authorize;
mod register;

use std::sync::Arc;

use prost::Message as _;
use siegel_attest::{Context, Role, root_config, worker_config};
use siegel_ident::{ConfigDigest, PolicyDigest, ProgramDigest, RequestId, RunId, Timestamp};
use siegel_ledger::limits::LEASE;
use siegel_ledger::{Done, Event, Ledger, Outcome, Refusal, Workload};
use siegel_link::SessionStream;
use siegel_policy::Policy;
use siegel_session::Peer;
use siegel_wire::v1::{self, KmsRequest, KmsResponse, kms_request, kms_response};

use crate::convert;
use crate::member::{Member, Process};
use crate::refusal::Refused;

/// Answers requests in turn until the session ends.
pub(crate) async fn serve(process: &Arc<Process>, mut stream: SessionStream) {
    let mut asker = Asker {
        process: process.clone(),
        peer: stream.peer().clone(),
        known: None,
    };
    loop {
        let bytes = match stream.recv().await {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return,
            Err(error) => return tracing::debug!(%error, "workload session ended"),
        };
        let body = match Box::pin(asker.answer(&bytes)).await {
            Ok(body) => body,
            Err(refused) => {
                let refusal = refused.into_wire();
                tracing::info!(code = refusal.code, place = refusal.r#where, "refused");
                kms_response::Body::Refusal(refusal)
            }
        };
        let response = KmsResponse { body: Some(body) };
        if stream.send(&response.encode_to_vec()).await.is_err() {
            return;
        }
    }
}

/// The workload at the other end.
struct Asker {
    process: Arc<Process>,
    peer: Arc<Peer>,
    /// The last successful appraisal. The evidence stays the same during a session, so only another
    /// policy or configuration asks for another appraisal, or the end of what vouches for it.
    known: Option<Known>,
}

/// An appraisal, and for what it holds.
struct Known {
    policy: PolicyDigest,
    config: ConfigDigest,
    valid_until: Option<Timestamp>,
    workload: Workload,
}

impl Known {
    fn holds(&self, policy: PolicyDigest, config: ConfigDigest, now: Timestamp) -> bool {
        (self.policy, self.config) == (policy, config)
            && self.valid_until.is_none_or(|until| now <= until)
    }
}

/// The policy and the program of a run.
struct Rules {
    policy: Policy,
    program: ProgramDigest,
}

impl Asker {
    async fn answer(&mut self, bytes: &[u8]) -> Result<kms_response::Body, Refused> {
        let request =
            KmsRequest::decode(bytes).map_err(|error| Refused::malformed("request", error))?;
        let id = convert::request_id(&request.request_id)?;
        let body = request
            .body
            .ok_or_else(|| Refused::malformed("body", "no request inside"))?;
        let member = self.process.member()?.clone();
        use kms_request::Body as Ask;
        use kms_response::Body as Answer;
        match body {
            Ask::RegisterRun(ask) => self
                .register_run(&member, id, ask)
                .await
                .map(Answer::RunGrant),
            Ask::TakeRun(ask) => {
                let run = convert::run_id(&ask.run_id)?;
                self.take_run(&member, id, run).await.map(Answer::RunGrant)
            }
            Ask::Authorize(ask) => {
                let run = convert::run_id(&ask.run_id)?;
                self.authorize(&member, id, run)
                    .await
                    .map(Answer::WorkerGrant)
            }
            Ask::RunPeers(ask) => {
                let run = convert::run_id(&ask.run_id)?;
                self.run_peers(&member, run).await.map(Answer::PeerKeys)
            }
            Ask::CommitStep(ask) => {
                self.must_be(Role::Root)?;
                let event = convert::commit_step(ask, self.peer.signing_key())?;
                self.commit_step(&member, id, event)
                    .await
                    .map(Answer::StepDone)
            }
            Ask::RenewLease(ask) => {
                self.must_be(Role::Worker)?;
                let run = convert::run_id(&ask.run_id)?;
                self.renew_lease(&member, id, run).await.map(Answer::Lease)
            }
            Ask::FinishRun(ask) => {
                self.must_be(Role::Root)?;
                let event = convert::finish_run(&ask, self.peer.signing_key())?;
                let now = self.process.platform.now();
                member
                    .replica
                    .propose(id, now, event, |_, outcome| done(outcome))
                    .await?;
                Ok(Answer::Finished(v1::Finished {}))
            }
        }
    }

    /// Role confusion ends here, before anything is read (I3).
    fn must_be(&self, role: Role) -> Result<(), Refused> {
        let found = self.peer.role();
        if found == role {
            return Ok(());
        }
        let message = format!("only a {role} may ask this; the session is of a {found}");
        Err(Refused::new("wrong-role", "I3", "session", message))
    }

    /// Appraises the session's evidence for a run under these rules.
    fn appraise(&mut self, member: &Member, rules: &Rules) -> Result<Workload, Refused> {
        let kms = member.cluster.config();
        let config = match self.peer.role() {
            Role::Root => root_config(kms, rules.program),
            _ => worker_config(kms),
        };
        let now = self.process.platform.now();
        if let Some(known) = &self.known
            && known.holds(rules.policy.digest(), config, now)
        {
            return Ok(known.workload.clone());
        }
        let pending = self.peer.pending().ok_or_else(|| {
            Refused::new(
                "no-evidence",
                "I3",
                "session",
                "this session brought no evidence",
            )
        })?;
        let policy = &rules.policy;
        let context = Context {
            now,
            profile: policy.profile,
            genesis_profile: member.cluster.genesis().config.profile,
            anchors: &member.cluster.anchors(),
        };
        let appraisal = pending.appraise(config, policy.allowed(pending.role()), &context)?;
        let workload = Workload::of(&appraisal)
            .ok_or_else(|| Refused::new("wrong-role", "I3", "evidence", "not a workload"))?;
        self.known = Some(Known {
            policy: policy.digest(),
            config,
            valid_until: appraisal.valid_until(),
            workload: workload.clone(),
        });
        Ok(workload)
    }

    async fn rules_of_run(&self, member: &Member, run: RunId) -> Result<Rules, Refused> {
        member
            .replica
            .read(move |ledger| {
                let view = ledger.run(run).ok_or(Refusal::UnknownRun { run })?;
                rules(ledger, view.policy, view.program)
            })
            .await
    }

    async fn commit_step(
        &self,
        member: &Member,
        id: RequestId,
        event: Event,
    ) -> Result<v1::StepDone, Refused> {
        let now = self.process.platform.now();
        let receipt = member
            .replica
            .propose(id, now, event, |ledger, outcome| match outcome {
                Outcome::Done(Done::StepCommitted { receipt, .. }) => body_of(ledger, receipt),
                other => Err(unexpected(other)),
            })
            .await?;
        Ok(v1::StepDone { receipt })
    }

    async fn renew_lease(
        &self,
        member: &Member,
        id: RequestId,
        run: RunId,
    ) -> Result<v1::Lease, Refused> {
        let by = self.peer.signing_key().to_vec();
        let now = self.process.platform.now();
        member
            .replica
            .propose(
                id,
                now,
                Event::RenewLease { run, by },
                |_, outcome| match outcome {
                    Outcome::Done(Done::LeaseRenewed { lease }) => Ok(v1::Lease {
                        lease_seconds: lease.0.min(LEASE.0),
                    }),
                    other => Err(unexpected(other)),
                },
            )
            .await
    }

    /// The workers of a run, for its present root only.
    async fn run_peers(&self, member: &Member, run: RunId) -> Result<v1::PeerKeys, Refused> {
        self.must_be(Role::Root)?;
        let by = *self.peer.signing_key();
        member
            .replica
            .read(move |ledger| {
                let view = ledger.run(run).ok_or(Refusal::UnknownRun { run })?;
                if view.root.is_none_or(|root| root.signing_key != by) {
                    let message = "only the present root of the run may ask for its workers";
                    return Err(Refused::new("not-the-root", "I3", "run_id", message));
                }
                let keys = |worker: &Workload| v1::PeerKey {
                    signing_key: worker.signing_key.clone(),
                    kem_key: worker.kem_key.clone(),
                };
                Ok(v1::PeerKeys {
                    workers: ledger.workers(run).map(keys).collect(),
                })
            })
            .await
    }
}

fn rules(ledger: &Ledger, digest: PolicyDigest, program: ProgramDigest) -> Result<Rules, Refused> {
    let policy = ledger
        .policy(digest)
        .ok_or(Refusal::UnknownPolicy { policy: digest })?;
    Ok(Rules {
        policy: policy.policy.clone(),
        program,
    })
}

fn done(outcome: Outcome) -> Result<(), Refused> {
    match outcome {
        Outcome::Done(_) => Ok(()),
        Outcome::Refused(refusal) => Err(refusal.into()),
    }
}

/// A refusal, or an outcome that does not belong to the request.
fn unexpected(outcome: Outcome) -> Refused {
    match outcome {
        Outcome::Refused(refusal) => refusal.into(),
        Outcome::Done(_) => Refused::internal("replica", "outcome of another request"),
    }
}

fn body_of(ledger: &Ledger, seq: u64) -> Result<Vec<u8>, Refused> {
    let body = ledger
        .receipt(seq)
        .ok_or(Refusal::ReceiptForgotten { seq })?;
    Ok(body.to_vec())
}
