//! One run, from the operator's wish to the last commit (DESIGN, section 3).

use std::sync::Arc;

use siegel_ident::Step;
use siegel_wire::v1;

use crate::bridge;
use crate::commit::Position;
use crate::compute::{Crew, Job};
use crate::events::Events;
use crate::prepare::{Held, begin};
use crate::resume::resume;
use crate::serve::Node;
use crate::stop::RunStop;
use crate::wish::Wish;

/// Registers a run or takes one over, and goes through all steps that are left. The same uploads,
/// program, parameters and run secret give the same results, whatever the workers do and however many
/// roots the run needed (I7).
pub(crate) async fn run(
    node: &Arc<Node>,
    events: &Events,
    request: v1::RunRequest,
) -> Result<(), RunStop> {
    events.progress("plan", 0, 1);
    let wish = Wish::read(request, node.program, node.platform.now())?;
    let held = match wish.resume {
        None => Some(begin(node, wish).await?),
        Some(run) => resume(node, wish, run).await?,
    };
    // A finished run: only its last root's word for it was missing.
    let Some(held) = held else { return Ok(()) };
    let Held {
        script,
        grant,
        mut state,
    } = held;
    tracing::info!(run = %grant.run, fencing = %grant.fencing, step = %grant.step, "run held");
    events.registered(&grant).await;

    let job = Job {
        run: grant.run,
        policy: grant.registered.policy,
        fencing: grant.fencing,
        blob_count: grant.registered.blob_count,
        noise: Arc::new(grant.noise),
    };
    let mut crew = Crew::of(node, job);
    let mut position = Position {
        run: grant.run,
        fencing: grant.fencing,
        checkpoint_key: grant.checkpoint,
        release_key: grant.release_key,
        previous: grant.previous,
    };
    let rounds = u64::from(script.plan.rounds);
    for n in grant.step.next().0..=rounds {
        let n = Step(n);
        state = bridge::step(&script, &mut crew, events, state, n).await?;
        let after = state.clone();
        let release = bridge::pure(&script, move |s| s.driver.release(&s.plan, &after, n));
        let released = release.await?;
        let committed = position
            .commit(node, &script.plan, n, &state, released.as_ref())
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
