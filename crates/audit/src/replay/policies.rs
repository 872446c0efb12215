//! Policies in the log: do they parse, what does the lint say, whose are they?

use siegel_endorse::Voice;
use siegel_policy::{Finding, Policy, lint, lint_together};

use super::{Entry, World, endorsements};
use crate::anchors::AuditAnchors;
use crate::audit::short;
use crate::findings::Findings;
use crate::report::PolicyReport;

/// A policy in the log.
pub(crate) struct LoggedPolicy {
    pub(crate) policy: Policy,
    /// All its places in the log, ascending.
    pub(crate) indices: Vec<u64>,
    /// A cluster has taken it up.
    pub(crate) registered: bool,
}

impl LoggedPolicy {
    pub(super) fn report(&self, voices: &[Voice]) -> PolicyReport {
        PolicyReport {
            sha256: self.policy.digest(),
            log_index: self.first_index(),
            name: self.policy.name.clone(),
            pipeline: self.policy.pipeline.clone(),
            epsilon: self.policy.privacy.epsilon.to_string(),
            delta: self.policy.privacy.delta.to_string(),
            registered: self.registered,
            endorsed: endorsements::report(voices, &self.policy),
            rules: self.policy.rules().clone(),
        }
    }

    pub(super) fn first_index(&self) -> u64 {
        self.indices.first().copied().unwrap_or(u64::MAX)
    }
}

/// Takes a policy in; all its places in the log count.
pub(super) fn take(world: &mut World, entry: Entry, policy: Policy, findings: &mut Findings) {
    if let Some(known) = world.policies.get_mut(&policy.digest()) {
        known.indices.push(entry.index);
        return;
    }
    for finding in lint(policy.rules()) {
        let message = format!("policy {}: {}", label(&policy), finding.message);
        findings.add(Finding { message, ..finding });
    }
    let logged = LoggedPolicy {
        indices: vec![entry.index],
        registered: false,
        policy,
    };
    world.policies.insert(logged.policy.digest(), logged);
}

/// Each policy names this log and a cluster that was born in it.
pub(super) fn judge(world: &World, anchors: &AuditAnchors, findings: &mut Findings) {
    for logged in world.policies.values() {
        let (policy, name) = (&logged.policy, label(&logged.policy));
        if let Err(e) = policy.check_log(&anchors.log.origin, anchors.log.witnesses.required) {
            findings.error("policy-other-log", "I1", format!("policy {name}: {e}"));
        }
        if let Some(before) = policy.predecessor.and_then(|id| world.policies.get(&id))
            && before.policy.pipeline != policy.pipeline
        {
            let message = format!(
                "policy {name} replaces one of pipeline {:?}: its budget is not that one's",
                before.policy.pipeline
            );
            findings.error("policy-other-pipeline", "I6", message);
        }
        match world.clusters.get(&policy.kms.cluster_id) {
            None => {
                let message = format!(
                    "policy {name} names cluster {}, whose genesis is not in the log",
                    short(&policy.kms.cluster_id.digest())
                );
                findings.error("policy-cluster-unknown", "I1", message);
            }
            Some(cluster) => {
                let (id, config) = (policy.kms.cluster_id, &cluster.genesis.config);
                if let Err(e) = policy.check_cluster(id, cluster.config, config) {
                    let message = format!("policy {name} does not fit its cluster: {e}");
                    findings.error("policy-other-cluster", "I3", message);
                }
                if cluster.index > logged.first_index() {
                    let message = format!("policy {name} was logged before the genesis it names");
                    findings.warning("genesis-late", "I1", message);
                }
            }
        }
    }
}

/// What the policies in use mean together.
pub(super) fn together(world: &World, findings: &mut Findings) {
    let policies = world.policies.values().map(|logged| logged.policy.rules());
    let all: Vec<_> = policies.collect();
    lint_together(&all)
        .into_iter()
        .for_each(|f| findings.add(f));
}

/// Name and digest for a message.
pub(crate) fn label(policy: &Policy) -> String {
    format!("{:?} ({})", policy.name, short(&policy.digest().digest()))
}
