//! A step's result, sealed, stored, committed: in this order, so that what the key service has
//! committed can always be fetched (I8).

use siegel_driver::{DriverError, State};
use siegel_ident::{Budget, Digest, Fencing, ObjectDigest, RunId, Secret, SecretBytes, Step};
use siegel_keys::CommitStep;
use siegel_link::depot::ObjectKind;
use siegel_program::{Plan, Release, Released};
use siegel_seal::KemPublic;
use siegel_seal::object::{ObjectContext, Sealed, seal_checkpoint, seal_release};

use crate::serve::Node;
use crate::stop::RunStop;

/// What this incarnation seals with, and where the run stands.
pub(crate) struct Position {
    pub(crate) run: RunId,
    pub(crate) fencing: Fencing,
    pub(crate) checkpoint_key: Secret<32>,
    pub(crate) release_key: KemPublic,
    /// What the last committed step left, or the registration.
    pub(crate) previous: Digest,
}

/// A committed step.
pub(crate) struct Committed {
    pub(crate) checkpoint: ObjectDigest,
    pub(crate) release: Option<(ObjectDigest, String)>,
}

impl Position {
    /// Commits step `n` by compare-and-set: only the newest incarnation can, and only once (I6). A
    /// refusal, as after lost fencing, ends the run for this root.
    pub(crate) async fn commit(
        &mut self,
        node: &Node,
        plan: &Plan,
        n: Step,
        state: &State,
        released: Option<&Released>,
    ) -> Result<Committed, RunStop> {
        let context = ObjectContext {
            run: self.run,
            step: n,
            previous: self.previous.into(),
        };
        let checkpoint = self.seal_state(node, plan, &context, state)?;
        let step = plan.step(n);
        let planned = step.and_then(|step| step.release.as_ref());
        let release = match (planned, released) {
            (Some(planned), Some(released)) => {
                Some(self.seal_result(node, planned, &context, released)?)
            }
            (None, None) => None,
            // The driver releases what its plan says, no more and no less (I6, I12).
            _ => return Err(DriverError::OtherRelease.into()),
        };
        let header = release
            .as_ref()
            .map(|sealed| (sealed.digest, sealed.header.clone()));
        let next = checkpoint.digest;
        store(node, checkpoint).await?;
        if let Some(release) = release {
            store(node, release).await?;
        }
        let cost = step.map_or(Budget::ZERO, |step| step.cost);
        let commit = CommitStep {
            run: self.run,
            fencing: self.fencing,
            step: n,
            previous: self.previous,
            next,
            release: header.clone(),
            cost,
        };
        // Repeated under one id until it is answered: it happens once.
        node.kms.commit_step(node.kms.request_id(), &commit).await?;
        self.previous = next.digest();
        let name = planned.map(|planned| planned.name.clone());
        Ok(Committed {
            checkpoint: next,
            release: header.map(|(digest, _)| digest).zip(name),
        })
    }

    fn seal_state(
        &self,
        node: &Node,
        plan: &Plan,
        context: &ObjectContext,
        state: &State,
    ) -> Result<Sealed, RunStop> {
        let plain = SecretBytes::new(state.to_bytes()?);
        let (rng, size) = (&mut node.platform.rng(), plan.checkpoint_bytes);
        Ok(seal_checkpoint(
            rng,
            &self.checkpoint_key,
            context,
            size,
            &plain,
        )?)
    }

    fn seal_result(
        &self,
        node: &Node,
        planned: &Release,
        context: &ObjectContext,
        released: &Released,
    ) -> Result<Sealed, RunStop> {
        let plain = SecretBytes::new(released.to_bytes()?);
        let (rng, size) = (&mut node.platform.rng(), planned.bytes);
        Ok(seal_release(rng, &self.release_key, context, size, &plain)?)
    }
}

async fn store(node: &Node, sealed: Sealed) -> Result<(), RunStop> {
    let put = node
        .depot
        .put(ObjectKind::Sealed, sealed.bytes.into())
        .await;
    put.map_err(RunStop::depot("storing a sealed object"))?;
    Ok(())
}
