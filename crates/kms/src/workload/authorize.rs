//! Authorize: a worker gets the keys of one run, for as long as the run is open (I9).

use siegel_attest::Role;
use siegel_ident::{RequestId, RunId, Timestamp};
use siegel_ledger::limits::LEASE;
use siegel_ledger::{Done, Event, Ledger, Outcome, Refusal};
use siegel_seal::Suite;
use siegel_wire::v1;

use super::{Asker, unexpected};
use crate::bundle::known_suites;
use crate::cluster::RunSecret;
use crate::grants::{EpochSecret, still_before};
use crate::member::Member;
use crate::refusal::Refused;

/// What a worker's grant needs, copied out of the ledger.
struct Authorized {
    secret: RunSecret,
    epochs: Vec<EpochSecret>,
    suites: Vec<Suite>,
    deadline: Timestamp,
    grant: v1::WorkerGrant,
}

impl Asker {
    pub(super) async fn authorize(
        &mut self,
        member: &Member,
        id: RequestId,
        run: RunId,
    ) -> Result<v1::WorkerGrant, Refused> {
        self.must_be(Role::Worker)?;
        let rules = self.rules_of_run(member, run).await?;
        let worker = self.appraise(member, &rules)?;
        let platform = &self.process.platform;
        let event = Event::Authorize {
            run,
            worker: worker.clone(),
        };
        let authorized = member
            .replica
            .propose(id, platform.now(), event, move |ledger, outcome| {
                authorized(ledger, outcome, run)
            })
            .await?;
        let sealed_keys = member.cluster.worker_grant(
            run,
            &authorized.secret,
            &authorized.epochs,
            &authorized.suites,
            &worker,
            &mut platform.rng(),
        )?;
        still_before(authorized.deadline, platform)?;
        Ok(v1::WorkerGrant {
            sealed_keys,
            ..authorized.grant
        })
    }
}

/// All of it comes from the ledger, never from the root: fencing, inputs, program and parameters.
fn authorized(ledger: &Ledger, outcome: Outcome, run: RunId) -> Result<Authorized, Refused> {
    match outcome {
        Outcome::Done(Done::WorkerAuthorized { run: authorized }) if authorized == run => {}
        other => return Err(unexpected(other)),
    }
    let view = ledger.run(run).ok_or(Refusal::UnknownRun { run })?;
    let policy = ledger
        .policy(view.policy)
        .ok_or(Refusal::UnknownPolicy {
            policy: view.policy,
        })?
        .policy;
    let root = view
        .root
        .ok_or_else(|| Refused::new("not-taken", "I3", "run_id", "no root has taken this run"))?;
    let epochs = view.epochs.iter().map(|id| {
        let epoch = ledger.epoch(*id).map(|epoch| EpochSecret::of(&epoch));
        epoch.ok_or_else(|| Refused::new("epoch-expired", "I9", "run_id", "an epoch has expired"))
    });
    Ok(Authorized {
        secret: RunSecret::of(&view),
        suites: known_suites(&policy.suites),
        deadline: view.deadline,
        epochs: epochs.collect::<Result<_, _>>()?,
        grant: v1::WorkerGrant {
            sealed_keys: Vec::new(),
            root_signing_key: root.signing_key.clone(),
            root_kem_key: root.kem_key.clone(),
            fencing: view.fencing.0,
            policy: policy.bytes().to_vec(),
            program_digest: view.program.to_vec(),
            parameters: view.parameters.to_vec(),
            input_root: view.input_root.to_vec(),
            blob_count: view.blob_count,
            epochs: view.epochs.iter().map(|epoch| epoch.0).collect(),
            lease_seconds: LEASE.0,
            inputs: view.inputs.to_vec(),
        },
    })
}
