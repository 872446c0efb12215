//! The whole of I1 and I2 from a client's side, offline: everything that must hold before a single
//! byte is encrypted.

use siegel_attest::{Context, Genesis, KeyBundle, appraise};
use siegel_ident::{ClusterId, Digest, EpochId, NamedKey, Timestamp};
use siegel_policy::{AccessPolicy, Policy};
use siegel_seal::{KemPublic, UploadContext};
use siegel_translog::{LoggedEntry, predicate, verify_logged};

use crate::endorsed::check_endorsed;
use crate::{ClientConfig, ClientRefusal, EndorsementProof};

/// What a client has fetched. None of it is trusted, all of it is exact bytes.
#[derive(Clone, Copy)]
pub struct Offer<'a> {
    /// The policy, canonical JSON.
    pub policy: &'a [u8],
    /// Proof that the policy is in the log: Sigstore v0.3 bundle.
    pub policy_bundle: &'a [u8],
    /// Who vouches for the policy's binaries and programs; at most 64.
    pub endorsements: &'a [EndorsementProof],
    /// The cluster's genesis, canonical JSON.
    pub genesis: &'a [u8],
    /// Proof that the genesis is in the log.
    pub genesis_bundle: &'a [u8],
    /// The key bundle, canonical JSON.
    pub key_bundle: &'a [u8],
    /// The cluster key's signature over it.
    pub key_bundle_signature: &'a [u8],
    /// Evidence of the KMS node that made it.
    pub evidence: &'a [u8],
    /// The log checkpoint that the evidence binds: a signed note.
    pub checkpoint: &'a str,
    /// Notes of mirrors that keep the policy's bytes; at most 16.
    pub archived: &'a [String],
}

/// A policy that this device may upload under, and the key to do it with. Only [`verify`] makes
/// one, so holding it means that every check was made.
#[derive(Clone)]
pub struct VerifiedPolicy {
    policy: Policy,
    cluster: ClusterId,
    epoch: EpochId,
    key: KemPublic,
    expires: Timestamp,
    log_index: u64,
    pub(crate) sights: Sights,
}

/// What was shown of the log: all of it verified.
#[derive(Clone)]
pub(crate) struct Sights {
    /// Id of the log.
    pub(crate) log: Digest,
    /// Size and root of the checkpoint that the evidence binds.
    pub(crate) checkpoint: (u64, Digest),
    /// Those of the proofs.
    pub(crate) proofs: Vec<(u64, Digest)>,
}

impl VerifiedPolicy {
    /// The policy, exact bytes included.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }
    /// The cluster that holds the key.
    pub fn cluster(&self) -> ClusterId {
        self.cluster
    }
    /// The key's epoch.
    pub fn epoch(&self) -> EpochId {
        self.epoch
    }
    /// The key to encrypt to.
    pub fn key(&self) -> &KemPublic {
        &self.key
    }
    /// First second in which nothing more may be encrypted to it: of the key, of the policy,
    /// or of an endorsement that the policy needs.
    pub fn expires(&self) -> Timestamp {
        self.expires
    }
    /// Where the policy stands in the log.
    pub fn log_index(&self) -> u64 {
        self.log_index
    }
    /// What an upload under it is bound to.
    pub fn upload_context(&self) -> UploadContext {
        UploadContext {
            cluster: self.cluster,
            epoch: self.epoch,
            policy: self.policy.digest(),
        }
    }
}

/// Checks an offer against the device's configuration at the device's own clock.
///
/// In order: the policy parses and its exact bytes are in the pinned log; it is inside the device's
/// limits, in use, and on that log; enough mirrors keep its bytes; its binaries and programs are endorsed as it demands, and by nobody
/// whom the device does not believe; the genesis is in the log and is the cluster that the policy
/// names, with the log key and vendor roots of this device; the key bundle is signed by that
/// cluster, for this policy, in a suite and for a time that the policy allows; the checkpoint is
/// of the pinned log, covers policy and endorsements, and is the one that the bundle names; fresh evidence binds
/// key, cluster and checkpoint to a measurement that the policy names.
///
/// # Errors
/// A [`ClientRefusal`] that names the first check that failed.
pub fn verify(
    config: &ClientConfig,
    offer: &Offer<'_>,
    now: Timestamp,
) -> Result<VerifiedPolicy, ClientRefusal> {
    let policy = AccessPolicy::parse(offer.policy)?;
    let policy_entry = logged(
        (config, now),
        offer.policy_bundle,
        offer.policy,
        predicate::POLICY,
    )
    .map_err(ClientRefusal::PolicyProof)?;
    check_limits(config, &policy, now).map_err(ClientRefusal::Limits)?;
    config
        .mirrors
        .verify(offer.archived, &policy_entry.artifact, &config.log, now)
        .map_err(ClientRefusal::NotArchived)?;
    let endorsed = check_endorsed(config, &policy, offer.endorsements, now)?;
    let genesis = check_genesis(config, offer.genesis, &policy)?;
    let genesis_entry = logged(
        (config, now),
        offer.genesis_bundle,
        offer.genesis,
        predicate::GENESIS,
    )
    .map_err(ClientRefusal::GenesisProof)?;
    let bundle = KeyBundle::verify(offer.key_bundle, offer.key_bundle_signature, &genesis)
        .map_err(ClientRefusal::KeyBundle)?;
    let key = check_key(&bundle, &policy, now)?;
    let sights = check_checkpoint(
        (config, now),
        offer.checkpoint,
        &bundle,
        &policy_entry,
        &endorsed.entries,
        &genesis_entry,
    )?;
    let vouched = check_evidence(config, offer.evidence, &bundle, &genesis, &policy, now)?;
    let ends = [Some(policy.not_after), endorsed.until, vouched];
    Ok(VerifiedPolicy {
        cluster: bundle.cluster_id,
        epoch: bundle.epoch,
        key,
        expires: ends.into_iter().flatten().fold(bundle.expires, Ord::min),
        log_index: policy_entry.log_index,
        policy,
        sights,
    })
}

fn logged(
    (config, now): (&ClientConfig, Timestamp),
    bundle: &[u8],
    artifact: &[u8],
    predicate: &str,
) -> Result<LoggedEntry, siegel_translog::ProofError> {
    // Who signed does not matter: the log makes it public, and the limits bound what it may say.
    verify_logged(bundle, artifact, predicate, None, &config.log, now)
}

fn check_limits(
    config: &ClientConfig,
    policy: &AccessPolicy,
    now: Timestamp,
) -> Result<(), siegel_policy::NotAllowed> {
    policy.within(&config.limits)?;
    policy.check_window(now)?;
    policy.check_log(&config.log.origin, config.log.witnesses.required)
}

fn check_genesis(
    config: &ClientConfig,
    bytes: &[u8],
    policy: &AccessPolicy,
) -> Result<Genesis, ClientRefusal> {
    let genesis = Genesis::parse(bytes).map_err(ClientRefusal::Genesis)?;
    let digest = genesis.config.digest().map_err(ClientRefusal::Genesis)?;
    policy
        .check_cluster(ClusterId::of(bytes), digest, &genesis.config)
        .map_err(ClientRefusal::Cluster)?;
    // The cluster admits policies and workloads by its own anchors. If they are not ours, its word
    // is worth nothing to us.
    if genesis.config.log_key != config.log.key {
        return Err(ClientRefusal::ClusterLogKey);
    }
    let own = &config.log.witnesses;
    let stranger = |witness: &&NamedKey| !own.witnesses.contains(witness);
    if !own.is_none() {
        let theirs = &genesis.config.witnesses;
        if theirs.required < own.required || theirs.max_age > own.max_age {
            return Err(ClientRefusal::ClusterQuorum);
        }
        if let Some(witness) = theirs.witnesses.iter().find(stranger) {
            let name = witness.name.clone();
            return Err(ClientRefusal::ClusterWitness { name });
        }
    }
    let theirs = genesis.config.anchors().simulation_root;
    if theirs.is_some() && theirs != config.trust.simulation_root {
        return Err(ClientRefusal::ClusterTrust);
    }
    Ok(genesis)
}

fn check_key(
    bundle: &KeyBundle,
    policy: &Policy,
    now: Timestamp,
) -> Result<KemPublic, ClientRefusal> {
    if bundle.policy != policy.digest() {
        let (found, expected) = (bundle.policy, policy.digest());
        return Err(ClientRefusal::KeyPolicy { found, expected });
    }
    policy
        .check_suite(bundle.suite)
        .map_err(ClientRefusal::KeySuite)?;
    if !bundle.in_use(now) {
        let (not_before, expires) = (bundle.not_before, bundle.expires);
        return Err(ClientRefusal::KeyWindow {
            not_before,
            expires,
            now,
        });
    }
    let found = bundle.expires.since(bundle.not_before);
    if found > policy.key_ttl {
        return Err(ClientRefusal::KeyLifetime {
            found,
            allowed: policy.key_ttl,
        });
    }
    let bytes = [&bundle.suite.to_be_bytes()[..], &bundle.kem_key].concat();
    KemPublic::parse(&bytes).map_err(ClientRefusal::Key)
}

fn check_checkpoint(
    (config, now): (&ClientConfig, Timestamp),
    note: &str,
    bundle: &KeyBundle,
    policy: &LoggedEntry,
    endorsements: &[LoggedEntry],
    genesis: &LoggedEntry,
) -> Result<Sights, ClientRefusal> {
    let checkpoint = config
        .log
        .verify_checkpoint(note, now)
        .map_err(ClientRefusal::Checkpoint)?;
    let found = Digest::of(note.as_bytes());
    if found != bundle.checkpoint {
        return Err(ClientRefusal::CheckpointNotBound {
            bound: bundle.checkpoint,
            found,
        });
    }
    let endorsed = endorsements.iter().map(|entry| ("endorsement", entry));
    for (what, entry) in std::iter::once(("policy", policy)).chain(endorsed) {
        let (size, log_index) = (checkpoint.size, entry.log_index);
        if size <= log_index {
            return Err(ClientRefusal::CheckpointTooOld {
                size,
                what,
                log_index,
            });
        }
    }
    let entries = [policy, genesis].into_iter().chain(endorsements);
    let proofs = entries.map(|entry| (entry.tree_size, entry.root));
    let sights = Sights {
        log: config.log.log_id(),
        checkpoint: (checkpoint.size, checkpoint.root),
        proofs: proofs.collect(),
    };
    check_one_log(&sights)?;
    Ok(sights)
}

/// Several checkpoints of one log are at hand. Where two have the same size, they have the same root;
/// more needs consistency proofs, which the audit checks.
fn check_one_log(sights: &Sights) -> Result<(), ClientRefusal> {
    let seen: Vec<_> = std::iter::once(&sights.checkpoint)
        .chain(&sights.proofs)
        .copied()
        .collect();
    let differs = |a: &(u64, Digest)| seen.iter().any(|b| a.0 == b.0 && a.1 != b.1);
    match seen.iter().find(|a| differs(a)) {
        Some((size, _)) => Err(ClientRefusal::Equivocation { size: *size }),
        None => Ok(()),
    }
}

/// Returns the end of what the vendor says about the machine, if that has one.
fn check_evidence(
    config: &ClientConfig,
    evidence: &[u8],
    bundle: &KeyBundle,
    genesis: &Genesis,
    policy: &AccessPolicy,
    now: Timestamp,
) -> Result<Option<Timestamp>, ClientRefusal> {
    let binding = bundle.binding(genesis).map_err(ClientRefusal::KeyBundle)?;
    let context = Context {
        now,
        profile: policy.profile,
        genesis_profile: genesis.config.profile,
        anchors: &config.trust,
    };
    let allowed = policy.allowed(binding.role);
    let appraisal =
        appraise(evidence, &binding, allowed, &context).map_err(ClientRefusal::Evidence)?;
    let Some(issued_at) = appraisal.issued_at() else {
        // Then only the checkpoint in it does: witnesses dated that, and it is as young as this device demands.
        return match config.log.witnesses.is_none() {
            true => Err(ClientRefusal::EvidenceUndated),
            false => Ok(appraisal.valid_until()),
        };
    };
    // Evidence is made after its key, and no key is older than this.
    let age = now.since(issued_at);
    if age > policy.key_ttl {
        return Err(ClientRefusal::EvidenceTooOld {
            age,
            allowed: policy.key_ttl,
        });
    }
    Ok(appraisal.valid_until())
}

#[cfg(test)]
mod tests;
