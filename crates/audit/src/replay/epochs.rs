//! Key epochs: opened under a policy, vouched for by evidence, expired (I1, I9).

use siegel_ident::{ClusterId, EpochId, PolicyDigest, RunId, Timestamp};

use super::World;
use super::cluster::{Cluster, Says};
use super::offers::OfferedKey;
use crate::audit::short;
use crate::findings::Findings;

/// A key epoch.
pub(crate) struct Epoch {
    pub(crate) policy: PolicyDigest,
    pub(crate) opened: Timestamp,
    pub(crate) expires: Timestamp,
    pub(crate) over: bool,
}

impl Epoch {
    /// The key is this epoch's, as the receipts tell of it.
    pub(crate) fn is_of(&self, key: &OfferedKey) -> bool {
        let bundle = &key.bundle;
        (bundle.policy, bundle.not_before, bundle.expires)
            == (self.policy, self.opened, self.expires)
    }
}

impl Cluster {
    pub(super) fn epoch_opened(
        &mut self,
        world: &World,
        epoch: EpochId,
        policy: PolicyDigest,
        expires: Timestamp,
        index: u64,
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
        let newest = self.newest_epoch();
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
        self.is_endorsed(world, policy, index, says);
        if self.covers.get(&policy).is_some_and(|end| *end < expires) {
            says.error(
                "endorsement-expired",
                "I9",
                "the epoch outlives the endorsements of its policy",
            );
        }
        let opened = Epoch {
            policy,
            opened: self.clock,
            expires,
            over: false,
        };
        self.epochs.insert(epoch, opened);
    }

    pub(super) fn epoch_expired(&mut self, epoch: EpochId, stated: &[RunId], says: &mut Says<'_>) {
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
        for id in self.readers.get(&epoch).into_iter().flatten() {
            if let Some(run) = self.runs.get_mut(id).filter(|run| !run.erased) {
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

    fn newest_epoch(&self) -> EpochId {
        let newest = self.epochs.last_key_value();
        newest.map_or(EpochId(0), |(id, _)| *id)
    }

    /// I1: each epoch has a key with good evidence in the log, and each such key an epoch. `all`:
    /// the anchors say that no receipt is behind the last one.
    pub(super) fn keys_are_vouched_for(&self, world: &World, all: bool, findings: &mut Findings) {
        let name = short(&self.id.digest());
        for (id, epoch) in &self.epochs {
            if !world.keys_of(self.id, *id).any(|key| epoch.is_of(key)) {
                let message = format!(
                    "cluster {name}: epoch {id} was opened, but no key offer with good evidence \
                     for it is in the log"
                );
                findings.error("evidence-missing", "I1", message);
            }
        }
        for key in of_cluster(world, self.id) {
            let id = key.bundle.epoch;
            let about = format!("cluster {name}: log entry {}", key.index);
            match self.epochs.get(&id) {
                Some(epoch) if epoch.is_of(key) => {}
                None if id > self.newest_epoch() && !all => {
                    let message = format!(
                        "{about} offers a key of epoch {id}, of which no receipt tells yet"
                    );
                    findings.warning("key-offer-ahead", "I17", message);
                }
                _ => {
                    let message = format!(
                        "{about} offers a key of epoch {id} with another policy or window than the \
                         receipts"
                    );
                    findings.error("key-bundle-misquotes", "I2", message);
                }
            }
        }
    }
}

fn of_cluster(world: &World, id: ClusterId) -> impl Iterator<Item = &OfferedKey> {
    let first = (id, EpochId(0));
    let last = (id, EpochId(u64::MAX));
    world.keys.range(first..=last).flat_map(|(_, keys)| keys)
}
