//! One run, from the operator's wish to the last commit (DESIGN, section 3).

use std::sync::Arc;

use siegel_ident::Step;
use siegel_wire::v1;

use crate::bridge::{self, Script};
use crate::commit::Position;
use crate::compute::{Crew, Job};
use crate::events::Events;
use crate::prepare::{Prepared, prepare};
use crate::serve::Node;
use crate::stop::RunStop;

/// Prepares, registers, and goes through all steps. The same uploads, program, parameters and run
/// secret give the same table, whatever the workers do (I7).
pub(crate) async fn run(
    node: &Arc<Node>,
    events: &Events,
    request: v1::RunRequest,
) -> Result<(), RunStop> {
    events.progress("plan", 0, 1);
    let Prepared {
        driver,
        public,
        plan,
        register,
    } = prepare(node, request).await?;
    // Here the whole cost is debited; nothing is read before (I6).
    let grant = node
        .kms
        .register_run(node.kms.request_id(), &register)
        .await?;
    tracing::info!(run = %grant.run, fencing = %grant.fencing, "registered");
    events
        .registered(grant.run, register.blob_count, register.input_root)
        .await;

    let job = Job {
        run: grant.run,
        fencing: grant.fencing,
        blob_count: register.blob_count,
        noise: grant.noise,
    };
    let mut crew = Crew::of(node, job);
    let mut position = Position {
        run: grant.run,
        fencing: grant.fencing,
        checkpoint_key: grant.checkpoint,
        release_key: grant.release_key,
        previous: grant.previous,
    };
    let script = Arc::new(Script {
        driver,
        public,
        plan,
    });
    let mut state = bridge::pure(&script, |s| s.driver.init(&s.public)).await?;
    for n in 1..=u64::from(script.plan.rounds) {
        let n = Step(n);
        state = bridge::step(&script, &mut crew, events, state, n).await?;
        let table = match n.0 == u64::from(script.plan.rounds) {
            true => {
                let last = state.clone();
                Some(bridge::pure(&script, move |s| s.driver.finish(&s.plan, &last)).await?)
            }
            false => None,
        };
        let committed = position
            .commit(node, &script.plan, n, &state, table.as_ref())
            .await?;
        tracing::info!(run = %position.run, step = %n, "committed");
        events
            .committed(n, committed.checkpoint, committed.release)
            .await;
    }
    node.kms
        .finish_run(node.kms.request_id(), position.run, position.fencing)
        .await?;
    Ok(())
}
