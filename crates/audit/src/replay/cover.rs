//! What a cluster does under a policy, against the endorsements that the policy demands (I3, I9).

use siegel_ident::{PolicyDigest, Timestamp};

use super::World;
use super::cluster::{Cluster, Says};
use super::endorsements::{ends_at, until};

impl Cluster {
    /// All that the policy lets in is endorsed now, by what is in the log before entry `index`.
    /// Returns until when.
    pub(super) fn is_endorsed(
        &self,
        world: &World,
        policy: PolicyDigest,
        index: u64,
        says: &mut Says<'_>,
    ) -> Option<Timestamp> {
        let logged = world.policies.get(&policy)?;
        match until(world, &logged.policy, self.clock, index) {
            Ok(until) => until,
            Err(wrong) => {
                says.error(wrong.id, wrong.invariant, wrong.why);
                None
            }
        }
    }

    /// The receipt of a registration states an end that the log bears out (I2). An earlier end than
    /// the log allows is no lie: the cluster was shown fewer endorsements, and stops the sooner.
    pub(super) fn endorsed_as_stated(
        &mut self,
        world: &World,
        policy: PolicyDigest,
        stated: Option<Timestamp>,
        index: u64,
        says: &mut Says<'_>,
    ) {
        let Some(logged) = world.policies.get(&policy) else {
            return;
        };
        let found = self.is_endorsed(world, policy, index, says);
        let demands = !logged.policy.endorsers.is_empty();
        let borne_out = match (stated, found) {
            (Some(end), Some(until)) => end <= until && ends_at(world, &logged.policy, end, index),
            // What is not endorsed at all is an error already.
            (Some(_), None) => demands,
            (None, _) => !demands,
        };
        says.must(
            borne_out,
            "endorsement-misquoted",
            "I2",
            "the endorsements in the log do not end when the receipt says",
        );
        let ends = [stated, found].into_iter().flatten().min();
        if let Some(end) = ends {
            self.covers.insert(policy, end);
        }
    }
}
