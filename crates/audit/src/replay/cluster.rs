//! One cluster's history, replayed receipt by receipt.

use std::collections::{BTreeMap, BTreeSet};

use siegel_ident::{Budget, ClusterId, EpochId, PolicyDigest, RunId, Timestamp};

use super::World;
use super::account::Account;
use super::chain::LoggedReceipt;
use super::epochs::Epoch;
use super::runs::Run;
use crate::audit::short;
use crate::findings::Findings;
use crate::report::{PipelineReport, RunReport, RunState};

/// What is known of a cluster after the receipts so far.
pub(crate) struct Cluster {
    pub(crate) id: ClusterId,
    pub(crate) clock: Timestamp,
    pub(crate) pipelines: BTreeMap<String, Account>,
    pub(crate) epochs: BTreeMap<EpochId, Epoch>,
    pub(crate) runs: BTreeMap<RunId, Run>,
    /// Which runs read an epoch.
    pub(crate) readers: BTreeMap<EpochId, BTreeSet<RunId>>,
    /// Until when each registered policy is endorsed.
    pub(crate) covers: BTreeMap<PolicyDigest, Timestamp>,
    /// Runs in the order of their registration.
    order: Vec<RunId>,
}

/// Where a finding goes, and what it is about.
pub(crate) struct Says<'a> {
    findings: &'a mut Findings,
    about: String,
}

impl Says<'_> {
    pub(crate) fn error(&mut self, id: &str, invariant: &str, message: impl std::fmt::Display) {
        self.findings
            .error(id, invariant, format!("{}: {message}", self.about));
    }

    /// An error unless it holds.
    pub(crate) fn must(&mut self, holds: bool, id: &str, invariant: &str, message: &str) {
        if !holds {
            self.error(id, invariant, message);
        }
    }
}

/// Replays a whole chain. `None` for a cluster without genesis.
pub(super) fn replay(
    world: &mut World,
    id: ClusterId,
    chain: Vec<LoggedReceipt>,
    findings: &mut Findings,
) -> Option<Cluster> {
    world.clusters.get(&id)?;
    let mut cluster = Cluster {
        id,
        clock: Timestamp(0),
        pipelines: BTreeMap::new(),
        epochs: BTreeMap::new(),
        runs: BTreeMap::new(),
        readers: BTreeMap::new(),
        covers: BTreeMap::new(),
        order: Vec::new(),
    };
    for receipt in &chain {
        let about = format!("cluster {}, receipt {}", short(&id.digest()), receipt.seq);
        let mut says = Says { findings, about };
        let at = receipt.at;
        says.must(
            at >= cluster.clock,
            "receipt-time",
            "I9",
            "the cluster's clock went back",
        );
        cluster.clock = cluster.clock.max(at);
        cluster.fact(world, receipt, &mut says);
    }
    let open = cluster.runs.values().filter(|run| run.is_open()).count();
    if open > 0 {
        let name = short(&id.digest());
        findings.info(
            "runs-open",
            format!("cluster {name}: {open} runs have not ended yet"),
        );
    }
    Some(cluster)
}

impl Cluster {
    /// Adds a run; false if its id was used before.
    pub(crate) fn add_run(&mut self, id: RunId, run: Run) -> bool {
        self.order.push(id);
        self.runs.insert(id, run).is_none()
    }

    pub(super) fn into_reports(self) -> (Vec<RunReport>, Vec<PipelineReport>) {
        let mut runs = self.runs;
        let run_reports = self
            .order
            .into_iter()
            .filter_map(|id| runs.remove(&id).map(|run| run.report(id, self.id)))
            .collect();
        let budgets = self
            .pipelines
            .into_iter()
            .map(|(pipeline, account)| PipelineReport {
                cluster: self.id,
                pipeline,
                total: account.total,
                spent: account.spent,
                history: account.history,
            })
            .collect();
        (run_reports, budgets)
    }
}

impl Run {
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.state, RunState::Registered | RunState::Taken)
    }

    fn report(self, run: RunId, cluster: ClusterId) -> RunReport {
        RunReport {
            run,
            cluster,
            policy: self.policy,
            program: self.program,
            pipeline: self.pipeline,
            blob_count: self.blob_count,
            cost: self.cost,
            steps: self.planned,
            committed: self.step.0,
            releases: self.releases,
            state: self.state,
            registered_at: self.registered_at,
            ended_at: self.ended_at,
        }
    }
}

/// Words for a budget in a message.
pub(crate) fn words(budget: Budget) -> String {
    format!(
        "rho {} and delta0 {}·2^-64",
        budget.rho_nano, budget.delta0.0
    )
}
