//! The endorsements that a policy demands: every replica verifies them and holds the policy against
//! them (crate `siegel-endorse`).

use serde::{Deserialize, Serialize};
use siegel_endorse::{ENDORSEMENT_MAX, NotEndorsed, Thing, Voice, endorsed_until};
use siegel_ident::Timestamp;
use siegel_policy::AccessPolicy;

use crate::limits::{MAX_BUNDLE, MAX_ENDORSEMENT_BYTES, MAX_ENDORSEMENTS};
use crate::refusal::{bounded, detail};
use crate::state::PolicyRecord;
use crate::{Ledger, Refusal};

/// An endorsement, with the proof that exactly these bytes are in the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EndorsementProof {
    /// Exact canonical JSON of `siegel_endorse::Endorsement`; at most 16 KiB.
    #[serde(with = "siegel_ident::hex_serde::vec")]
    pub document: Vec<u8>,
    /// Sigstore v0.3 bundle.
    #[serde(with = "siegel_ident::hex_serde::vec")]
    pub bundle: Vec<u8>,
}

impl EndorsementProof {
    /// Refuses more or longer ones than an entry holds, before any is looked at (I14).
    ///
    /// # Errors
    /// [`Refusal::OutOfBounds`] names the field.
    pub fn check_bounds(all: &[Self]) -> Result<(), Refusal> {
        bounded("endorsements", all.len(), MAX_ENDORSEMENTS)?;
        for Self { document, bundle } in all {
            bounded("endorsements.document", document.len(), ENDORSEMENT_MAX)?;
            bounded("endorsements.bundle", bundle.len(), MAX_BUNDLE)?;
        }
        let bytes: usize = all
            .iter()
            .map(|one| one.document.len() + one.bundle.len())
            .sum();
        bounded("endorsements.bytes", bytes, MAX_ENDORSEMENT_BYTES)
    }
}

impl Ledger {
    /// The first second in which something that the policy lets in is endorsed no more; `None` for a
    /// policy that demands no endorsements. Such a policy takes none either: what is not enforced
    /// would only look as if it were.
    pub(crate) fn endorsed_until(
        &self,
        policy: &AccessPolicy,
        endorsements: &[EndorsementProof],
    ) -> Result<Option<Timestamp>, Refusal> {
        if policy.endorsers.is_empty() && !endorsements.is_empty() {
            return Err(Refusal::EndorsementsNotDemanded {});
        }
        let anchors = self.log_anchors();
        let voice = |(at, proof): (usize, &EndorsementProof)| {
            Voice::proved(&proof.document, &proof.bundle, &anchors, self.state.clock).map_err(|e| {
                Refusal::BadEndorsement {
                    at: at as u64,
                    detail: detail(&e),
                }
            })
        };
        let voices: Vec<Voice> = endorsements
            .iter()
            .enumerate()
            .map(voice)
            .collect::<Result<_, _>>()?;
        endorsed_until(policy, &voices, self.state.clock).map_err(|e| Refusal::from(&e))
    }

    /// All that the policy lets in is still endorsed (I9).
    pub(crate) fn is_endorsed(&self, record: &PolicyRecord) -> Result<(), Refusal> {
        let clock = self.state.clock;
        match record.endorsed_until {
            Some(until) if until <= clock => Err(Refusal::EndorsementExpired {
                detail: format!(
                    "the policy's endorsements lasted until {until}, the cluster's clock is {clock}"
                ),
            }),
            _ => Ok(()),
        }
    }
}

impl From<&NotEndorsed> for Refusal {
    fn from(error: &NotEndorsed) -> Self {
        let detail = detail(error);
        match error {
            NotEndorsed::Nobody { thing } | NotEndorsed::OtherEndorser { thing, .. } => match thing
            {
                Thing::Binary { .. } => Self::BinaryNotEndorsed { detail },
                Thing::Program(_) => Self::ProgramNotEndorsed { detail },
            },
            NotEndorsed::OtherFlavour { .. } => Self::EndorsedOtherFlavour { detail },
            NotEndorsed::Window { .. } => Self::EndorsementExpired { detail },
            // A kind that this build does not know: refused all the same (I3).
            _ => Self::BinaryNotEndorsed { detail },
        }
    }
}
