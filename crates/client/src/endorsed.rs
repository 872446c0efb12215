//! Who vouches for what a policy lets in.

use siegel_endorse::{VOICES_MAX, Voice, endorsed_until};
use siegel_ident::Timestamp;
use siegel_policy::AccessPolicy;
use siegel_translog::LoggedEntry;

use crate::{ClientConfig, ClientRefusal};

/// An endorsement as it is fetched: exact bytes, not trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndorsementProof {
    /// The endorsement, canonical JSON.
    pub document: Vec<u8>,
    /// Proof that it is in the log: Sigstore v0.3 bundle.
    pub bundle: Vec<u8>,
}

/// What a policy's endorsements come to.
pub(crate) struct Endorsed {
    /// First second without cover; `None` if the policy demands no endorsements.
    pub(crate) until: Option<Timestamp>,
    /// Where they stand in the log.
    pub(crate) entries: Vec<LoggedEntry>,
}

/// Holds a policy against the endorsements that were offered with it.
///
/// A policy adds demands, it chooses no anchors (I1): a device with endorsers of its own takes no
/// policy that a stranger's voice would satisfy, now or later.
pub(crate) fn check_endorsed(
    config: &ClientConfig,
    policy: &AccessPolicy,
    proofs: &[EndorsementProof],
    now: Timestamp,
) -> Result<Endorsed, ClientRefusal> {
    check_endorsers(config, policy)?;
    if proofs.len() > VOICES_MAX {
        return Err(ClientRefusal::TooManyEndorsements {
            found: proofs.len(),
            allowed: VOICES_MAX,
        });
    }
    let proved = |proof: &EndorsementProof| {
        Voice::with_entry(&proof.document, &proof.bundle, &config.log, now)
    };
    let proved = proofs.iter().map(proved).collect::<Result<Vec<_>, _>>();
    let (voices, entries): (Vec<_>, Vec<_>) = proved
        .map_err(ClientRefusal::Endorsement)?
        .into_iter()
        .unzip();
    let until = endorsed_until(policy, &voices, now).map_err(ClientRefusal::NotEndorsed)?;
    Ok(Endorsed { until, entries })
}

fn check_endorsers(config: &ClientConfig, policy: &AccessPolicy) -> Result<(), ClientRefusal> {
    if config.endorsers.is_empty() {
        return Ok(());
    }
    if policy.endorsers.is_empty() {
        return Err(ClientRefusal::EndorsersNotDemanded);
    }
    let stranger = |key: &&_| !config.endorsers.contains(key);
    match policy.endorsers.iter().find(stranger) {
        Some(found) => Err(ClientRefusal::EndorserNotPinned { found: *found }),
        None => Ok(()),
    }
}
