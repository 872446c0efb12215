//! Key offers: what clients encrypted to, and the evidence for it (I1, I3).

use siegel_attest::hardware::TrustRoots;
use siegel_attest::{
    Context, Genesis, KeyBundle, KeyOffer, Profile, Refusal, Role, TrustAnchors, appraise,
    claimed_time,
};
use siegel_ident::{ClusterId, Digest, Seconds, Timestamp};
use siegel_policy::Policy;
use siegel_translog::Tree;

use super::World;
use super::wrong::{Wrong, require};
use crate::anchors::AuditAnchors;
use crate::findings::Findings;

/// An offer in the log.
pub(crate) struct LoggedOffer {
    pub(super) offer: KeyOffer,
    pub(super) index: u64,
}

/// An epoch's key that evidence vouches for.
pub(crate) struct OfferedKey {
    pub(crate) bundle: KeyBundle,
    /// Place in the log.
    pub(crate) index: u64,
}

/// How long after the witnesses saw its checkpoint evidence is made, at most: what the vendor published in between counts.
const SOON: Seconds = Seconds(3600);

/// Checks each offer as a client does, and that all clients saw this log. `tree` is absent if the
/// log is not known as a whole.
pub(super) fn judge(
    world: &mut World,
    anchors: &AuditAnchors,
    tree: Option<&Tree>,
    findings: &mut Findings,
) {
    for logged in std::mem::take(&mut world.offers) {
        findings.about(Some(logged.index));
        let proved = prove(world, anchors, tree, &logged)
            .and_then(|bundle| one_key(world, &bundle).map(|()| bundle));
        match proved {
            Ok(bundle) => {
                let keys = world.keys.entry((bundle.cluster_id, bundle.epoch));
                let index = logged.index;
                keys.or_default().push(OfferedKey { bundle, index });
            }
            Err(wrong) => {
                let message = format!("log entry {}, a key offer: {}", logged.index, wrong.why);
                findings.error(wrong.id, wrong.invariant, message);
            }
        }
    }
    findings.about(None);
}

fn prove(
    world: &World,
    anchors: &AuditAnchors,
    tree: Option<&Tree>,
    logged: &LoggedOffer,
) -> Result<KeyBundle, Wrong> {
    let offer = &logged.offer;
    let forged = |why: &dyn std::fmt::Display| Wrong::new("key-bundle-forged", "I1", why);
    let bytes = offer.bundle.as_bytes();
    let claimed = KeyBundle::parse(bytes).map_err(|e| forged(&e))?;
    let genesis = &world
        .clusters
        .get(&claimed.cluster_id)
        .ok_or_else(|| forged(&"the genesis of its cluster is not in the log"))?
        .genesis;
    let bundle = KeyBundle::verify(bytes, &offer.signature, genesis).map_err(|e| forged(&e))?;
    let logged_policy = world.policies.get(&bundle.policy);
    let (policy, first) = logged_policy
        .map(|logged| (&logged.policy, logged.first_index()))
        .ok_or_else(|| misquotes(format!("policy {} is not in the log", bundle.policy)))?;
    fits_policy(&bundle, policy)?;
    let witnessed = checkpoint(offer, &bundle, first, anchors, tree)?;
    evidence(offer, &bundle, (genesis, policy), anchors, witnessed)?;
    Ok(bundle)
}

fn misquotes(why: impl ToString) -> Wrong {
    Wrong::new("key-bundle-misquotes", "I3", why)
}

/// I3: a key of that policy's cluster, in a suite and for a time that the policy allows.
fn fits_policy(bundle: &KeyBundle, policy: &Policy) -> Result<(), Wrong> {
    let (id, invariant) = ("key-bundle-misquotes", "I3");
    let ours = policy.kms.cluster_id == bundle.cluster_id;
    require(ours, id, invariant, "its policy names another cluster")?;
    policy.check_suite(bundle.suite).map_err(misquotes)?;
    let short = bundle.expires.since(bundle.not_before) <= policy.key_ttl;
    require(
        short,
        id,
        "I9",
        "the key lives longer than its policy allows",
    )
}

/// I1: the evidence was made over a state of this very log that holds the policy. Returns when a quorum of witnesses
/// saw that state: the evidence is no older.
fn checkpoint(
    offer: &KeyOffer,
    bundle: &KeyBundle,
    policy_index: u64,
    anchors: &AuditAnchors,
    tree: Option<&Tree>,
) -> Result<Option<Timestamp>, Wrong> {
    let (id, invariant) = ("key-bundle-misquotes", "I1");
    let note = &offer.checkpoint;
    // Seen by its witnesses at any time while clients could be shown it.
    let log = anchors.log.aged(bundle.expires.since(bundle.not_before));
    let (checkpoint, witnessed) = log
        .verify_witnessed(note, bundle.expires)
        .map_err(|e| Wrong::new(id, invariant, e))?;
    let bound = Digest::of(note.as_bytes()) == bundle.checkpoint;
    require(bound, id, invariant, "the bundle names another checkpoint")?;
    let covers = policy_index < checkpoint.size;
    require(
        covers,
        id,
        invariant,
        "its checkpoint does not cover its policy",
    )?;
    let Some(tree) = tree else {
        return Ok(witnessed);
    };
    let same = tree.root_at(checkpoint.size) == Some(checkpoint.root);
    let why = format!(
        "clients were shown a log of {} entries with root {}; this one did not grow from that",
        checkpoint.size, checkpoint.root
    );
    require(same, "log-not-consistent", "I1", why)?;
    Ok(witnessed)
}

/// I3, I11: a binary that the policy names holds this key. The auditor has no clock. Simulated evidence may be as young
/// as the key's end, and as old as a key may get when the key was made. Real evidence has no time of its own: the
/// witnesses of its checkpoint date it, and what the vendor says must have been valid then.
fn evidence(
    offer: &KeyOffer,
    bundle: &KeyBundle,
    (genesis, policy): (&Genesis, &Policy),
    anchors: &AuditAnchors,
    witnessed: Option<Timestamp>,
) -> Result<(), Wrong> {
    let binding = bundle.binding(genesis).map_err(misquotes)?;
    let pinned = anchors.simulation_root.map(|root| *root.as_bytes());
    let anchors = TrustAnchors {
        simulation_root: pinned.or(genesis.config.simulation_root),
        vendors: TrustRoots::vendors(),
    };
    let allowed = policy.allowed(Role::KmsBundle);
    let appraised = |now| {
        let context = Context {
            now,
            profile: policy.profile,
            genesis_profile: genesis.config.profile,
            anchors: &anchors,
        };
        appraise(&offer.evidence, &binding, allowed, &context)
    };
    let appraisal = match (policy.profile, witnessed) {
        (Profile::Production, Some(seen)) => {
            // It was made after its checkpoint was seen, and before its key ended: when it says, or soon after.
            let says =
                claimed_time(&offer.evidence).filter(|at| (seen..=bundle.expires).contains(at));
            let soon = seen.plus(SOON).min(bundle.expires);
            let first = appraised(says.unwrap_or(seen));
            first.or_else(|_| appraised(soon))
        }
        _ => appraised(bundle.expires),
    }
    .map_err(refused)?;
    let invalid = |invariant, why: &str| Wrong::new("evidence-invalid", invariant, why);
    let dated = appraisal.issued_at().or(witnessed);
    let dated = dated.ok_or_else(|| invalid("I1", "nothing says when the evidence was made"))?;
    match bundle.not_before.since(dated) <= policy.key_ttl {
        true => Ok(()),
        false => Err(invalid("I9", "the evidence is older than its key may be")),
    }
}

/// A build without the simulator cannot appraise: that is said, not passed over (I11).
fn refused(refusal: Refusal) -> Wrong {
    match refusal {
        Refusal::SimulationNotBuilt => {
            let why = format!("its evidence cannot be appraised here: {refusal}");
            Wrong::new("evidence-not-appraised", "I11", why)
        }
        other => Wrong::new("evidence-invalid", other.invariant(), &other),
    }
}

/// I1: one epoch has one key per suite; two would mean that clients were told different things.
fn one_key(world: &World, bundle: &KeyBundle) -> Result<(), Wrong> {
    let known = world.keys.get(&(bundle.cluster_id, bundle.epoch));
    let differs =
        |key: &OfferedKey| key.bundle.suite == bundle.suite && key.bundle.kem_key != bundle.kem_key;
    let fork = known.is_some_and(|keys| keys.iter().any(differs));
    let why = format!("epoch {} was offered with two different keys", bundle.epoch);
    require(!fork, "key-bundle-fork", "I1", why)
}

impl World {
    /// The keys that were offered for an epoch.
    pub(super) fn keys_of(
        &self,
        cluster: ClusterId,
        epoch: siegel_ident::EpochId,
    ) -> impl Iterator<Item = &OfferedKey> {
        self.keys.get(&(cluster, epoch)).into_iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// I11. A build without the simulator says that it cannot judge; it does not pass it over.
    #[test]
    fn i11_without_the_simulator_evidence_is_not_appraised() {
        let wrong = refused(Refusal::SimulationNotBuilt);
        assert_eq!(
            (wrong.id, wrong.invariant),
            ("evidence-not-appraised", "I11")
        );
    }
}
