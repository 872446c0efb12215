//! What each receipt may say, given all before it: policies, epochs, and the way to the runs.

use siegel_ident::{Budget, EpochId, PolicyDigest, RunId, Timestamp};
use siegel_ledger::Fact;

use super::World;
use super::account::Account;
use super::chain::LoggedReceipt;
use super::cluster::{Cluster, Epoch, Says, words};

impl Cluster {
    /// Checks one fact and takes it as happened, so that one error does not bring ten more.
    pub(super) fn fact(&mut self, world: &mut World, logged: &LoggedReceipt, says: &mut Says<'_>) {
        match &logged.receipt.fact {
            Fact::PolicyRegistered {
                policy,
                pipeline,
                predecessor,
                log_index,
                total,
                spent,
            } => {
                policy_is_logged(world, self, *policy, *log_index, logged.index, says);
                policy_says(world, *policy, pipeline, *predecessor, *total, says);
                self.policy_registered(*policy, pipeline, *predecessor, *total, *spent, says);
            }
            Fact::EpochOpened {
                epoch,
                policy,
                expires,
            } => {
                self.epoch_opened(world, *epoch, *policy, *expires, says);
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
            let account = Account {
                current: policy,
                total,
                spent: Budget::ZERO,
            };
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
    }

    fn epoch_opened(
        &mut self,
        world: &World,
        epoch: EpochId,
        policy: PolicyDigest,
        expires: Timestamp,
        says: &mut Says<'_>,
    ) {
        let current = self
            .pipelines
            .values()
            .any(|account| account.current == policy);
        says.must(
            current,
            "epoch-policy",
            "I3",
            "the epoch's policy is not a current one",
        );
        let newest = self
            .epochs
            .last_key_value()
            .map_or(EpochId(0), |(id, _)| *id);
        says.must(
            epoch > newest,
            "epoch-order",
            "I9",
            "the epoch's number was used before",
        );
        if let Some(rules) = world
            .policies
            .get(&policy)
            .map(|logged| logged.policy.rules())
        {
            let latest = self.clock.plus(rules.key_ttl).min(rules.not_after);
            let fits = self.clock < expires && expires <= latest;
            says.must(
                fits,
                "epoch-ttl",
                "I9",
                "the epoch lives longer than its policy allows",
            );
            let open = rules.check_window(self.clock).is_ok();
            says.must(
                open,
                "policy-window",
                "I9",
                "the policy is not in use at that time",
            );
        }
        self.epochs.insert(
            epoch,
            Epoch {
                policy,
                expires,
                over: false,
            },
        );
    }

    fn epoch_expired(&mut self, epoch: EpochId, stated: &[RunId], says: &mut Says<'_>) {
        let clock = self.clock;
        let Some(found) = self.epochs.get_mut(&epoch).filter(|found| !found.over) else {
            says.error("epoch-unknown", "I9", "the epoch that expired was not open");
            return;
        };
        says.must(
            found.expires <= clock,
            "epoch-early",
            "I9",
            "the epoch expired before its time",
        );
        found.over = true;
        let mut erased = Vec::new();
        for (id, run) in &mut self.runs {
            if run.epochs.contains(&epoch) && !run.erased {
                says.must(
                    !run.is_open(),
                    "run-not-ended",
                    "I9",
                    "a run outlived its epoch",
                );
                run.erased = true;
                erased.push(*id);
            }
        }
        let all = stated == erased;
        says.must(
            all,
            "epoch-runs",
            "I9",
            "the runs that lost their keys are not those over the epoch",
        );
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
