//! Taking over a registered run whose root died (DESIGN, section 9).
//!
//! The operator's request is only a claim: the plan that follows from it must be the registered one
//! (I2, I6). The state comes from exactly the checkpoint that the key service committed last, and
//! the noise from the run's own key, so that nothing is drawn again and the bytes are those of a run
//! that nobody disturbed (I7, I8).

use siegel_driver::State;
use siegel_ident::{Fencing, ObjectDigest, RunId, SecretBytes};
use siegel_keys::{KeysError, RegisterRun, RootGrant};
use siegel_link::LinkError;
use siegel_link::depot::ObjectKind;
use siegel_seal::object::{ObjectContext, Purpose, open_checkpoint, sealed_len};

use crate::bridge::{self, Script};
use crate::prepare::{Held, check_registered, parameters, plan};
use crate::serve::Node;
use crate::stop::RunStop;
use crate::wish::Wish;

/// Takes the run over, at its last committed step; `None` if it is finished already. Every earlier
/// root of it can no longer commit (I6).
pub(crate) async fn resume(node: &Node, wish: Wish, run: RunId) -> Result<Option<Held>, RunStop> {
    let Some(grant) = take(node, run).await? else {
        return Ok(None);
    };
    let registered = &grant.registered;
    let script = plan(node, &wish, registered.blob_count).await?;
    let asked = RegisterRun {
        policy: wish.policy.digest(),
        program: node.program,
        parameters: parameters(&script)?,
        epochs: wish.epochs,
        deadline: wish.deadline,
        // Uploads that came after the registration are none of this run's.
        ..registered.clone()
    };
    check_registered(&asked, registered)?;
    let state = match restore(node, &grant, &script).await? {
        Some(state) => state,
        None => bridge::pure(&script, |s| s.driver.init(&s.public)).await?,
    };
    Ok(Some(Held {
        script,
        grant,
        state,
    }))
}

/// `None` if the run is finished. Its last root may have died after the end and before it said so:
/// finishing a finished run is answered again, whoever asks; fencing number 0 ends no other run.
async fn take(node: &Node, run: RunId) -> Result<Option<RootGrant>, RunStop> {
    let over = match node.kms.take_run(node.kms.request_id(), run).await {
        Ok(grant) => return Ok(Some(grant)),
        Err(KeysError::Refused(refusal)) if refusal.code == "run-over" => refusal,
        Err(error) => return Err(error.into()),
    };
    let id = node.kms.request_id();
    match node.kms.finish_run(id, run, Fencing(0)).await {
        Ok(()) => Ok(None),
        Err(_) => Err(KeysError::Refused(over).into()),
    }
}

/// Opens the checkpoint of the last committed step; `None` if no step is committed. Its bytes must
/// have the committed digest, and its header must name this run, this step and what the step
/// started from: no earlier state takes its place (I6, I8).
async fn restore(
    node: &Node,
    grant: &RootGrant,
    script: &Script,
) -> Result<Option<State>, RunStop> {
    let Some(before) = grant.before else {
        return Ok(None);
    };
    let step = grant.step;
    // The plan fixes the size (I12); what is longer is not even read (I14).
    let size = sealed_len(Purpose::Checkpoint, script.plan.checkpoint_bytes);
    let digest = ObjectDigest::from(grant.previous);
    let got = node
        .depot
        .get(ObjectKind::Sealed, digest.digest(), size as usize)
        .await;
    let bytes = got.map_err(|source| match source {
        LinkError::OtherBytes { .. } | LinkError::TooMuch { .. } => {
            RunStop::CheckpointBytes { step, source }
        }
        source => RunStop::depot("fetching the checkpoint")(source),
    })?;
    let refused = |source| RunStop::Checkpoint { step, source };
    let context = ObjectContext {
        run: grant.run,
        step,
        previous: before.into(),
    };
    let plain: SecretBytes =
        open_checkpoint(&grant.checkpoint, &context, &bytes).map_err(refused)?;
    tracing::info!(run = %grant.run, %step, "checkpoint opened");
    Ok(Some(State::from_bytes(plain.expose())?))
}
