//! RegisterRun and TakeRun: the whole cost is debited first, then the root gets its keys (I6).

use rand_core::Rng as _;
use siegel_attest::Role;
use siegel_ident::{PolicyDigest, RequestId, RunId, Timestamp};
use siegel_ledger::{Done, Event, FreshRun, Ledger, Outcome, Refusal, Workload};
use siegel_wire::v1;

use super::{Asker, rules, unexpected};
use crate::cluster::RunSecret;
use crate::convert::{RegisterRun, registered, second_half};
use crate::grants::still_before;
use crate::member::Member;
use crate::refusal::Refused;

/// What a root's grant needs, copied out of the ledger.
struct Taken {
    secret: RunSecret,
    deadline: Timestamp,
    grant: v1::RunGrant,
}

impl Asker {
    /// Two entries: the debit, then the taking. A retry with the same request id finds both done.
    pub(super) async fn register_run(
        &mut self,
        member: &Member,
        id: RequestId,
        ask: v1::RegisterRun,
    ) -> Result<v1::RunGrant, Refused> {
        self.must_be(Role::Root)?;
        let ask = RegisterRun::read(ask)?;
        let (policy, program) = (ask.policy, ask.program);
        let found = member
            .replica
            .read(move |ledger| rules(ledger, policy, program))
            .await?;
        let root = self.appraise(member, &found)?;
        let fresh = self.fresh_run(member, policy)?;
        let event = Event::RegisterRun {
            claim: ask.claim(root.clone()),
            fresh,
        };
        let now = self.process.platform.now();
        let run = member
            .replica
            .propose(id, now, event, |_, outcome| match outcome {
                Outcome::Done(Done::RunRegistered { run, .. }) => Ok(run),
                other => Err(unexpected(other)),
            })
            .await?;
        self.take(member, second_half(id), run, root).await
    }

    /// A new incarnation of the root: it gets the same keys, and a larger fencing number.
    pub(super) async fn take_run(
        &mut self,
        member: &Member,
        id: RequestId,
        run: RunId,
    ) -> Result<v1::RunGrant, Refused> {
        self.must_be(Role::Root)?;
        let rules = self.rules_of_run(member, run).await?;
        let root = self.appraise(member, &rules)?;
        self.take(member, id, run, root).await
    }

    async fn take(
        &self,
        member: &Member,
        id: RequestId,
        run: RunId,
        root: Workload,
    ) -> Result<v1::RunGrant, Refused> {
        let platform = &self.process.platform;
        let event = Event::TakeRun {
            run,
            root: root.clone(),
        };
        let key = root.signing_key.clone();
        let taken = member
            .replica
            .propose(id, platform.now(), event, move |ledger, outcome| {
                taken(ledger, outcome, run, &key)
            })
            .await?;
        let sealed_keys =
            member
                .cluster
                .root_grant(run, &taken.secret, &root, &mut platform.rng())?;
        let (_, release_key) = member.cluster.release_kem(&taken.secret)?;
        still_before(taken.deadline, platform)?;
        Ok(v1::RunGrant {
            sealed_keys,
            release_key: release_key.to_bytes(),
            ..taken.grant
        })
    }

    /// Random id and secret, unless the genesis has a seed that fixes both (I7, I11).
    fn fresh_run(
        &self,
        member: &Member,
        policy: PolicyDigest,
    ) -> Result<Option<FreshRun>, Refused> {
        if member.cluster.genesis().config.seed.is_some() {
            return Ok(None);
        }
        let rng = &mut self.process.platform.rng();
        let mut bytes = [0u8; 16];
        rng.fill_bytes(&mut bytes);
        let run = RunId::from_bytes(bytes);
        let secret = member
            .cluster
            .new_run_secret(rng, run, policy)
            .map_err(|error| Refused::internal("run secret", error))?;
        Ok(Some(FreshRun { run, secret }))
    }
}

fn taken(ledger: &Ledger, outcome: Outcome, run: RunId, key: &[u8]) -> Result<Taken, Refused> {
    let fencing = match outcome {
        Outcome::Done(Done::RunTaken {
            run: taken,
            fencing,
        }) if taken == run => fencing,
        other => return Err(unexpected(other)),
    };
    let view = ledger.run(run).ok_or(Refusal::UnknownRun { run })?;
    // Between the entry and this look another root may have taken over: then it has the run.
    if view.fencing != fencing || view.root.is_none_or(|root| root.signing_key != key) {
        let message = "another root has taken the run meanwhile";
        return Err(Refused::new("superseded", "I6", "run_id", message));
    }
    let grant = v1::RunGrant {
        run_id: run.to_vec(),
        fencing: fencing.0,
        step: view.step.0,
        previous: view.previous.to_vec(),
        registered: Some(registered(&view)),
        before: view
            .before
            .map(|before| before.to_vec())
            .unwrap_or_default(),
        ..v1::RunGrant::default()
    };
    Ok(Taken {
        secret: RunSecret::of(&view),
        deadline: view.deadline,
        grant,
    })
}
