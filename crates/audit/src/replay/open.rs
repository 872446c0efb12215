//! What an audit under these anchors leaves open, and what no single entry shows.

use std::collections::BTreeMap;

use siegel_ident::ClusterId;
use siegel_policy::{Finding, Severity};

use super::Replay;
use crate::anchors::AuditAnchors;
use crate::findings::Findings;

/// An entry of a kind that nobody here can judge: an error where publishers are pinned.
pub(crate) fn unknown_kind(index: u64, kind: &str) -> Finding {
    let message = format!("log entry {index}: unknown kind of statement {kind:?}");
    Finding::new(Severity::Error, "unknown-statement", "I1", message)
}

impl Replay {
    /// A check that the anchors do not ask for was not made: a good verdict must not hide that.
    pub(super) fn left_open(&self, anchors: &AuditAnchors, findings: &mut Findings) {
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
    }

    /// A kind of statement that nobody can judge. Where publishers are pinned, none may log one.
    pub(super) fn unknown_kinds(&self, anchors: &AuditAnchors, findings: &mut Findings) {
        let pinned = !anchors.publishers.is_empty();
        let like = |mut finding: Finding| {
            if !pinned {
                (finding.severity, finding.invariant) = (Severity::Warning, None);
            }
            finding
        };
        for (index, kind) in &self.world.unknown {
            findings.about(Some(*index));
            findings.add(like(unknown_kind(*index, kind)));
        }
        findings.about(None);
        let (severity, invariant) = match pinned {
            true => (Severity::Error, "I1"),
            false => (Severity::Warning, ""),
        };
        if self.world.more_unknown > 0 {
            let more = self.world.more_unknown;
            findings.more(severity, "unknown-statement", invariant, more);
        }
    }

    /// A budget belongs to the pipeline (I6): a second cluster would give it a second one.
    pub(super) fn one_cluster_per_pipeline(&self, findings: &mut Findings) {
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
}
