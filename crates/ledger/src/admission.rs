//! Admit and Withdraw: a process takes a dead member's place. The rule is genesis' (I10): the same
//! binaries and the same configuration as at birth.

use serde::{Deserialize, Serialize};
use siegel_attest::hardware::Mark;
use siegel_attest::{Appraisal, ReferenceId, Role};
use siegel_ident::{ClusterId, ConfigDigest, NodeId};

use crate::limits::MAX_KEY;
use crate::refusal::bounded;
use crate::{Done, Ledger, Members, Refusal};

/// A process that wants to be a member, as the leader appraised it. Each replica checks the fields
/// against genesis once more at apply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Joiner {
    /// The place that it asks for.
    pub place: NodeId,
    /// The reference value that its evidence satisfied.
    pub measured: ReferenceId,
    /// How new the vendor's statements are on which its evidence rests; none in a simulation.
    pub marks: Vec<Mark>,
    /// The configuration its evidence names.
    pub config: ConfigDigest,
    /// The cluster its evidence binds.
    pub cluster: ClusterId,
    /// Its per-boot Ed25519 key.
    #[serde(with = "siegel_ident::hex_serde")]
    pub signing_key: [u8; 32],
    /// Its per-boot KEM key (u16 BE suite ‖ key).
    #[serde(with = "siegel_ident::hex_serde::vec")]
    pub kem_key: Vec<u8>,
}

impl Joiner {
    /// The fields of an appraisal; `None` unless it is that of a KMS node in some cluster.
    pub fn of(appraisal: &Appraisal, place: NodeId) -> Option<Self> {
        if appraisal.role() != Role::KmsPeer {
            return None;
        }
        Some(Self {
            place,
            measured: appraisal.reference().id(),
            marks: appraisal.marks(),
            config: appraisal.config(),
            cluster: appraisal.deployment()?,
            signing_key: appraisal.signing_key().try_into().ok()?,
            kem_key: appraisal.kem_key().to_vec(),
        })
    }
}

impl Ledger {
    /// The members.
    pub fn members(&self) -> &Members {
        &self.state.members
    }

    /// The joint configuration of this swap was applied.
    pub fn begin_swap(&mut self, joins: NodeId, leaves: NodeId) {
        self.state.members.begin_swap(joins, leaves);
    }

    /// The joint configuration was left.
    pub fn end_swap(&mut self) {
        self.state.members.end_swap();
    }

    pub(crate) fn admit(
        &mut self,
        joiner: &Joiner,
        leaves: NodeId,
        over: Option<NodeId>,
    ) -> Result<Done, Refusal> {
        bounded("kem_key", joiner.kem_key.len(), MAX_KEY)?;
        let refuse = |field: &str, found: String| {
            let field = field.to_owned();
            Err(Refusal::PeerNotAllowed { field, found })
        };
        let peers = &self.genesis.config.peers;
        if !peers.iter().any(|value| value.id() == joiner.measured) {
            return refuse("measurement", joiner.measured.digest.to_string());
        }
        if joiner.config != self.config {
            return refuse("config", joiner.config.to_string());
        }
        if joiner.cluster != self.cluster {
            return refuse("cluster", joiner.cluster.to_string());
        }
        let marks = self.newer(&joiner.marks)?;
        let key = joiner.signing_key;
        let member = self.state.members.admit(joiner.place, key, leaves, over)?;
        self.state.marks = marks;
        Ok(Done::Admitted { member })
    }

    pub(crate) fn withdraw(&mut self, member: NodeId) -> Result<Done, Refusal> {
        self.state.members.withdraw(member)?;
        Ok(Done::Withdrawn { member })
    }
}
