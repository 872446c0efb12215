//! Whom a side of a session expects at the other end.

use std::sync::Arc;

use siegel_attest::{ClusterConfig, Role};

use crate::{PeerKeys, Purpose, SessionError};

/// The rule by which the peer is authenticated. Both sides of a pair use matching ones:
///
/// | dials | with | accepts | with |
/// |---|---|---|---|
/// | root, worker | `Kms` | KMS node | `KmsOrWorkload` |
/// | KMS node | `Kms` | KMS node | `KmsOrWorkload` |
/// | root | `Vouched { Worker }` | worker | `Vouched { Root }` |
#[derive(Clone)]
pub enum Expect {
    /// A KMS node of this configuration; its evidence is appraised during the handshake.
    Kms(Arc<ClusterConfig>),
    /// The accepting side of a KMS node: another node, appraised as above, or a root or worker,
    /// whose evidence is kept ([`crate::Pending`]) until a request names the policy.
    KmsOrWorkload(Arc<ClusterConfig>),
    /// A root or worker with one of these keys, which the KMS named for the run. No evidence is
    /// exchanged, so neither end needs an appraiser.
    Vouched {
        /// `Root` or `Worker`.
        role: Role,
        /// The keys that the KMS vouched for. None means that nobody is let in.
        keys: Vec<PeerKeys>,
    },
}

/// Which end of the channel.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Initiator,
    Responder,
}

impl Side {
    /// The word that is signed: a signature of one direction never fits the other.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Initiator => "initiator",
            Self::Responder => "responder",
        }
    }

    pub(crate) const fn other(self) -> Self {
        match self {
            Self::Initiator => Self::Responder,
            Self::Responder => Self::Initiator,
        }
    }
}

impl Expect {
    /// True if both sides show evidence.
    pub(crate) fn attested(&self) -> bool {
        !matches!(self, Self::Vouched { .. })
    }

    /// Refuses combinations of the caller that are not in the table.
    pub(crate) fn check_setup(&self, own: Role, side: Side) -> Result<(), SessionError> {
        use Role::{KmsPeer, Root, Worker};
        let good = match (self, own, side) {
            (Self::Kms(_), KmsPeer | Root | Worker, Side::Initiator) => true,
            (Self::KmsOrWorkload(_), KmsPeer, Side::Responder) => true,
            (Self::Vouched { role, .. }, Root, Side::Initiator) => *role == Worker,
            (Self::Vouched { role, .. }, Worker, Side::Responder) => *role == Root,
            _ => false,
        };
        let verb = if side == Side::Initiator {
            "dial"
        } else {
            "accept"
        };
        if good {
            Ok(())
        } else {
            Err(SessionError::Setup { own, verb })
        }
    }

    /// A purpose belongs to root and worker, and only to them.
    pub(crate) fn check_purpose(&self, purpose: Option<&Purpose>) -> Result<(), SessionError> {
        match (self.attested(), purpose) {
            (true, None) | (false, Some(_)) => Ok(()),
            (true, Some(_)) => Err(SessionError::Purpose {
                problem: "not expected here",
            }),
            (false, None) => Err(SessionError::Purpose { problem: "missing" }),
        }
    }

    /// Refuses a peer whose role is not in the table (role confusion, I3).
    pub(crate) fn check_peer(&self, own: Role, peer: Role) -> Result<(), SessionError> {
        let good = match self {
            Self::Kms(_) => peer == Role::KmsPeer,
            Self::KmsOrWorkload(_) => {
                matches!(peer, Role::KmsPeer | Role::Root | Role::Worker)
            }
            Self::Vouched { role, .. } => peer == *role,
        };
        if good {
            Ok(())
        } else {
            Err(SessionError::Role { own, found: peer })
        }
    }
}
