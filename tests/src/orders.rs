//! What any operator may ask of any root, and what the receipts say came of it.

use siegel_ident::{ObjectDigest, PolicyDigest, RunId, Step};
use siegel_ledger::Fact;
use siegel_link::{Endpoint, status_to_refusal};
use siegel_operator::{CommittedStep, RunOrder};
use siegel_wire::v1::root_client::RootClient;
use siegel_wire::v1::run_event::Body;
use siegel_wire::v1::{self};

use crate::World;

impl World {
    /// Asks a root to resume a run: all that it says but progress. A refusal is the last of it.
    pub async fn resume(&self, root: &Endpoint, order: &RunOrder, run: RunId) -> Vec<Body> {
        let request = v1::RunRequest {
            policy_digest: PolicyDigest::of(&order.policy).to_vec(),
            policy: order.policy.clone(),
            program_digest: order.program.to_vec(),
            epochs: order.epochs.iter().map(|epoch| epoch.0).collect(),
            deadline: order.deadline.0,
            params: order.params.clone(),
            resume_run_id: run.to_vec(),
        };
        let mut client = RootClient::new(self.deployment.cluster.net().channel(root));
        let mut stream = match client.run(request).await {
            Ok(reply) => reply.into_inner(),
            Err(status) => {
                let refusal = status_to_refusal(&status).expect("a typed refusal");
                return vec![Body::Failed(refusal)];
            }
        };
        let mut said = Vec::new();
        while let Some(event) = stream.message().await.expect("a whole stream") {
            match event.body.expect("an event") {
                Body::Progress(_) => {}
                body => said.push(body),
            }
        }
        said
    }

    /// The results of a run's steps, as their carried receipts have them.
    pub fn committed(&self, run: RunId) -> Vec<CommittedStep> {
        let commit = |(step, _, release)| CommittedStep {
            step,
            release: Option::map(release, |digest| (String::new(), digest)),
        };
        self.commits(run).into_iter().map(commit).collect()
    }

    /// Which root committed each step: its fencing number.
    pub fn committed_by(&self, run: RunId) -> Vec<u64> {
        let commits = self.commits(run).into_iter();
        commits.map(|(_, fencing, _)| fencing).collect()
    }

    fn commits(&self, run: RunId) -> Vec<(Step, u64, Option<ObjectDigest>)> {
        let carried = self.deployment.trail.carried().iter();
        let commits = carried.filter_map(|carried| match &carried.receipt.fact {
            Fact::StepCommitted {
                run: of,
                step,
                fencing,
                release,
                ..
            } if *of == run => Some((*step, fencing.0, *release)),
            _ => None,
        });
        commits.collect()
    }

    /// How many runs were registered, and so debited.
    pub fn registered(&self) -> usize {
        let carried = self.deployment.trail.carried().iter();
        let registered =
            carried.filter(|carried| matches!(carried.receipt.fact, Fact::RunRegistered { .. }));
        registered.count()
    }

    /// Carries the receipts that are not in the log yet.
    pub async fn carry(&mut self) {
        let deployment = &mut self.deployment;
        let carried = deployment.operator.carry_receipts(&mut deployment.trail);
        carried.await.expect("receipts");
    }
}

/// The steps that a root reports, and after which one it went on; it must have come to the end.
pub fn steps(said: &[Body]) -> (u64, Vec<u64>) {
    let (Some(Body::Registered(registered)), Some(Body::Finished(_))) = (said.first(), said.last())
    else {
        panic!("{said:?}");
    };
    let steps = said.iter().filter_map(|body| match body {
        Body::Step(step) => Some(step.step),
        _ => None,
    });
    (registered.resumed_after, steps.collect())
}

/// The refusal that ended it.
pub fn refusal(said: &[Body]) -> &v1::Refusal {
    match said.last() {
        Some(Body::Failed(refusal)) => refusal,
        _ => panic!("{said:?}"),
    }
}
