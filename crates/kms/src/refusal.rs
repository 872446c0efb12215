//! Typed refusals to whoever asks. Codes and texts are public: nothing in them comes from plaintext
//! or keys (I12).

use siegel_ident::NodeId;
use siegel_wire::v1;

use crate::node::NodeError;

/// Why a request was not done.
#[derive(Debug)]
pub(crate) struct Refused(v1::Refusal);

impl Refused {
    /// A refusal of this service; `place` names the part of the request.
    pub(crate) fn new(
        code: &str,
        invariant: &str,
        place: &str,
        message: impl std::fmt::Display,
    ) -> Self {
        Self(v1::Refusal {
            code: code.to_owned(),
            invariant: invariant.to_owned(),
            r#where: place.to_owned(),
            message: message.to_string(),
            leader_id: 0,
        })
    }

    /// A field that is absent, of the wrong length or not canonical (I14).
    pub(crate) fn malformed(field: &str, message: impl std::fmt::Display) -> Self {
        Self::new("malformed-request", "I14", field, message)
    }

    /// Only the leader answers. The hint is its place, which clients and joiners can dial.
    pub(crate) fn not_leader(leader: Option<NodeId>) -> Self {
        let mut refused = Self::new("not-leader", "", "node", NodeError::NotLeader { leader });
        refused.0.leader_id = leader.map_or(0, |id| id.0);
        refused
    }

    /// Too few nodes answer: nothing is released (I9).
    pub(crate) fn no_quorum(message: impl std::fmt::Display) -> Self {
        Self::new("no-quorum", "I9", "cluster", message)
    }

    /// This process is no member yet.
    pub(crate) fn not_founded() -> Self {
        let message = "the cluster is not founded yet; try again in a moment";
        Self::new("not-founded", "", "node", message)
    }

    /// A fault of this node, told without its details.
    pub(crate) fn internal(place: &str, cause: impl std::fmt::Display) -> Self {
        tracing::error!(place, %cause, "internal fault");
        let message = "this node could not do it; its log says why";
        Self::new("internal", "", place, message)
    }

    /// What goes over the wire.
    pub(crate) fn into_wire(self) -> v1::Refusal {
        self.0
    }
}

impl From<NodeError> for Refused {
    fn from(error: NodeError) -> Self {
        match error {
            NodeError::NotLeader { leader } => Self::not_leader(leader),
            NodeError::Busy => Self::new("busy", "", "node", error),
            NodeError::Unknown => Self::no_quorum(error),
            NodeError::MemberAlive { .. } => Self::new("member-alive", "I10", "place", error),
            NodeError::UnknownPlace { .. } => Self::new("unknown-place", "I10", "place", error),
            NodeError::AdmissionPending { .. } => {
                Self::new("admission-pending", "I10", "place", error)
            }
            NodeError::TooLarge { .. } => Self::new("too-large", "I14", "request", error),
            other => Self::internal("replica", other),
        }
    }
}

impl From<siegel_ledger::Refusal> for Refused {
    fn from(refusal: siegel_ledger::Refusal) -> Self {
        Self::new(
            refusal.code(),
            refusal.invariant(),
            refusal.place(),
            &refusal,
        )
    }
}

impl From<siegel_attest::Refusal> for Refused {
    fn from(refusal: siegel_attest::Refusal) -> Self {
        Self::new(refusal.code(), refusal.invariant(), "evidence", &refusal)
    }
}
