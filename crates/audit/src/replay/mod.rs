//! The judging half: what the entries of a log say together.

mod account;
mod chain;
mod cluster;
mod cover;
mod endorsements;
mod epochs;
mod facts;
mod genesis;
mod offers;
mod policies;
mod runs;
mod steps;
mod wrong;

use std::collections::BTreeMap;

use siegel_endorse::Voice;
use siegel_ident::{ClusterId, EpochId, PolicyDigest, ProgramDigest};
use siegel_translog::Tree;

use crate::anchors::AuditAnchors;
use crate::findings::Findings;
use crate::item::{Item, Kind};
use crate::report::{Counts, PipelineReport, PolicyReport, RunReport};
use chain::LoggedReceipt;
use genesis::LoggedGenesis;
use offers::{LoggedOffer, OfferedKey};
use policies::LoggedPolicy;

/// All that was read, sorted by what it is; then judged.
#[derive(Default)]
pub(crate) struct Replay {
    pub(crate) world: World,
    receipts: BTreeMap<ClusterId, Vec<LoggedReceipt>>,
    runs: Vec<RunReport>,
    budgets: Vec<PipelineReport>,
}

/// What receipts may refer to.
#[derive(Default)]
pub(crate) struct World {
    pub(crate) clusters: BTreeMap<ClusterId, LoggedGenesis>,
    pub(crate) policies: BTreeMap<PolicyDigest, LoggedPolicy>,
    /// Program to its first place in the log.
    pub(crate) programs: BTreeMap<ProgramDigest, u64>,
    /// Endorsements, in the order of the log.
    pub(crate) voices: Vec<Voice>,
    /// Key offers that are not judged yet.
    pub(crate) offers: Vec<LoggedOffer>,
    /// The keys of those that are good, in the order of the log.
    pub(crate) keys: BTreeMap<(ClusterId, EpochId), Vec<OfferedKey>>,
}

impl Replay {
    /// Sorts in one opened entry.
    pub(crate) fn take(&mut self, mut item: Item, counts: &mut Counts, findings: &mut Findings) {
        for finding in std::mem::take(&mut item.named) {
            findings.add(finding);
        }
        match &item.kind {
            Kind::Policy(bytes) => {
                counts.policies += 1;
                policies::take(&mut self.world, &item, bytes, findings);
            }
            Kind::Genesis(bytes) => {
                counts.genesis += 1;
                genesis::take(&mut self.world, &item, bytes, findings);
            }
            Kind::Receipt(bytes) => {
                counts.receipts += 1;
                if let Some(receipt) = chain::read(&item, bytes, findings) {
                    self.receipts
                        .entry(receipt.receipt.cluster)
                        .or_default()
                        .push(receipt);
                }
            }
            Kind::Program => {
                counts.programs += 1;
                self.world
                    .programs
                    .entry(item.artifact.into())
                    .or_insert(item.index);
            }
            Kind::Endorsement(bytes) => {
                counts.endorsements += 1;
                endorsements::take(&mut self.world, &item, bytes, findings);
            }
            Kind::KeyOffer(bytes) => {
                counts.key_offers += 1;
                offers::take(&mut self.world, &item, bytes, findings);
            }
            Kind::Other(kind) => {
                counts.other += 1;
                let message = format!(
                    "log entry {}: unknown kind of statement {kind:?}",
                    item.index
                );
                findings.warning("unknown-statement", "", message);
            }
        }
    }

    /// Judges all of it, once everything is there: the log orders entries by arrival, and a
    /// courier may bring receipts in any order. `tree` is absent if the log is not known as a whole.
    pub(crate) fn judge(
        &mut self,
        anchors: &AuditAnchors,
        tree: Option<&Tree>,
        findings: &mut Findings,
    ) {
        genesis::judge(&self.world, anchors, findings);
        self.left_open(anchors, findings);
        policies::judge(&self.world, anchors, findings);
        endorsements::judge(&self.world, anchors, findings);
        offers::judge(&mut self.world, anchors, tree, findings);
        let mut receipts = std::mem::take(&mut self.receipts);
        for expected in &anchors.clusters {
            receipts.entry(expected.id).or_default();
        }
        for (id, logged) in receipts {
            let expected = anchors.clusters.iter().find(|cluster| cluster.id == id);
            let chain = chain::order(&self.world, id, logged, expected, findings);
            let known = expected.and_then(|cluster| cluster.receipts);
            let all = known.is_some_and(|count| chain.len() as u64 >= count);
            if let Some(replayed) = cluster::replay(&mut self.world, id, chain, findings) {
                replayed.keys_are_vouched_for(&self.world, all, findings);
                let (runs, budgets) = replayed.into_reports();
                self.runs.extend(runs);
                self.budgets.extend(budgets);
            }
        }
        self.one_cluster_per_pipeline(findings);
    }

    /// A check that the anchors do not ask for was not made: a good verdict must not hide that.
    fn left_open(&self, anchors: &AuditAnchors, findings: &mut Findings) {
        if self.world.clusters.is_empty() {
            return;
        }
        if anchors.clusters.is_empty() {
            let message = "the anchors pin no cluster: whatever is in the log was audited";
            findings.warning("anchors-no-cluster", "I3", message);
        }
        if anchors
            .clusters
            .iter()
            .any(|cluster| cluster.receipts.is_none())
        {
            let message = "the anchors do not say how many receipts a cluster has: receipts held \
                           back at the end of its chain cannot be seen";
            findings.warning("anchors-no-receipt-count", "I17", message);
        }
        let simulated = self
            .world
            .clusters
            .values()
            .any(|cluster| cluster.is_simulation());
        if simulated && anchors.simulation_root.is_none() {
            let message = "the anchors pin no simulation root: which one a genesis names was not \
                           checked";
            findings.warning("anchors-no-simulation-root", "I11", message);
        }
        let mut policies = self.world.policies.values();
        let demands = policies.any(|logged| !logged.policy.endorsers.is_empty());
        if demands && anchors.endorsers.is_empty() {
            let message = "the anchors pin no endorser: whoever the policies name was believed";
            findings.warning("anchors-no-endorser", "I3", message);
        }
        if anchors.known_checkpoints.is_empty() {
            let message = "the anchors know no earlier checkpoint: a log rewritten by its own key \
                           cannot be seen";
            findings.info("anchors-no-checkpoint", message);
        }
    }

    /// A budget belongs to the pipeline (I6): a second cluster would give it a second one.
    fn one_cluster_per_pipeline(&self, findings: &mut Findings) {
        let mut clusters: BTreeMap<&str, Vec<ClusterId>> = BTreeMap::new();
        for budget in &self.budgets {
            clusters
                .entry(&budget.pipeline)
                .or_default()
                .push(budget.cluster);
        }
        for (pipeline, ids) in clusters.into_iter().filter(|(_, ids)| ids.len() > 1) {
            let simulation = ids.iter().all(|id| {
                self.world
                    .clusters
                    .get(id)
                    .is_some_and(|cluster| cluster.is_simulation())
            });
            let message = format!(
                "pipeline {pipeline} has a budget at {} clusters: its users may pay more than once",
                ids.len()
            );
            match simulation {
                true => findings.warning("pipeline-in-several-clusters", "I6", message),
                false => findings.error("pipeline-in-several-clusters", "I6", message),
            }
        }
    }

    /// Some receipt tells of a run.
    pub(crate) fn has_runs(&self) -> bool {
        !self.runs.is_empty()
    }

    pub(crate) fn into_reports(self) -> (Vec<PolicyReport>, Vec<RunReport>, Vec<PipelineReport>) {
        let mut policies: Vec<_> = self
            .world
            .policies
            .values()
            .map(|policy| policy.report(&self.world.voices))
            .collect();
        policies.sort_by_key(|policy| policy.log_index);
        (policies, self.runs, self.budgets)
    }
}
