//! What each receipt may say, given all before it: policies, and the way to epochs and runs.

use siegel_ident::{Budget, PolicyDigest};
use siegel_ledger::Fact;

use super::World;
use super::account::Account;
use super::chain::LoggedReceipt;
use super::cluster::{Cluster, Says, words};

impl Cluster {
    /// Checks one fact and takes it as happened, so that one error does not bring ten more.
    pub(super) fn fact(&mut self, world: &mut World, logged: &LoggedReceipt, says: &mut Says<'_>) {
        match &logged.fact {
            Fact::PolicyRegistered {
                policy,
                pipeline,
                predecessor,
                log_index,
                total,
                spent,
                endorsed_until,
            } => {
                policy_is_logged(world, self, *policy, *log_index, logged.index, says);
                policy_says(world, *policy, pipeline, *predecessor, *total, says);
                self.policy_registered(*policy, pipeline, *predecessor, *total, *spent, says);
                self.endorsed_as_stated(world, *policy, *endorsed_until, logged.index, says);
            }
            Fact::EpochOpened {
                epoch,
                policy,
                expires,
            } => {
                self.epoch_opened(world, *epoch, *policy, *expires, logged.index, says);
            }
            Fact::EpochExpired { epoch, runs } => self.epoch_expired(*epoch, runs, says),
            Fact::RunRegistered { .. } => self.run_registered(world, logged, says),
            other => self.run_fact(other, says),
        }
    }

    fn policy_registered(
        &mut self,
        policy: PolicyDigest,
        pipeline: &str,
        predecessor: Option<PolicyDigest>,
        total: Budget,
        spent: Budget,
        says: &mut Says<'_>,
    ) {
        let Some(account) = self.pipelines.get_mut(pipeline) else {
            says.must(
                predecessor.is_none(),
                "policy-order",
                "I6",
                "its predecessor was never here",
            );
            says.must(
                spent == Budget::ZERO,
                "budget-total",
                "I6",
                "a new pipeline has spent nothing",
            );
            let mut account = Account {
                current: policy,
                total,
                spent: Budget::ZERO,
                history: Vec::new(),
            };
            account.note(self.clock, None);
            self.pipelines.insert(pipeline.to_owned(), account);
            return;
        };
        let follows = predecessor == Some(account.current);
        says.must(
            follows,
            "policy-order",
            "I6",
            "it does not replace the pipeline's current policy",
        );
        if !total.within(account.total) {
            let message = format!(
                "the budget of {pipeline} was raised from {} to {}",
                words(account.total),
                words(total)
            );
            says.error("budget-raised", "I6", message);
        }
        running_total(account, spent, says);
        (account.current, account.total) = (policy, total);
        account.note(self.clock, None);
    }
}

/// I1: the policy was in the log, and before anything was done under it.
fn policy_is_logged(
    world: &mut World,
    cluster: &Cluster,
    policy: PolicyDigest,
    log_index: u64,
    receipt_index: u64,
    says: &mut Says<'_>,
) {
    let Some(logged) = world.policies.get_mut(&policy) else {
        says.error(
            "policy-not-logged",
            "I1",
            format!("policy {policy} is not in the log"),
        );
        return;
    };
    logged.registered = true;
    let there = logged.indices.contains(&log_index);
    says.must(
        there,
        "policy-log-index",
        "I1",
        "the policy is not at the log index that was proved",
    );
    let earlier = log_index < receipt_index;
    says.must(
        earlier,
        "policy-logged-late",
        "I1",
        "the policy was logged after its registration",
    );
    let ours = logged.policy.kms.cluster_id == cluster.id;
    says.must(
        ours,
        "policy-other-cluster",
        "I3",
        "the policy names another cluster",
    );
}

/// I2: the receipt repeats the policy truly.
fn policy_says(
    world: &World,
    policy: PolicyDigest,
    pipeline: &str,
    predecessor: Option<PolicyDigest>,
    total: Budget,
    says: &mut Says<'_>,
) {
    if let Some(rules) = world
        .policies
        .get(&policy)
        .map(|logged| logged.policy.rules())
    {
        let same = rules.pipeline == pipeline
            && rules.predecessor == predecessor
            && rules.privacy.total == total;
        says.must(
            same,
            "policy-misquoted",
            "I2",
            "pipeline, predecessor or total is not the policy's",
        );
    }
}

/// Compares the stated running total with the recomputed one, then goes on with the stated one.
pub(super) fn running_total(account: &mut Account, stated: Budget, says: &mut Says<'_>) {
    if account.spent != stated {
        let message = format!(
            "states a running total of {}, the receipts add up to {}",
            words(stated),
            words(account.spent)
        );
        says.error("budget-total", "I6", message);
        account.spent = stated;
    }
}
