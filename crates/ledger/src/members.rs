//! Who takes part: places, and the process that holds each of them now.
//!
//! A place is a number that placement knows and that stays. A member is one process in it, with an id
//! that is never given twice and the signing key that the process drew when it started (I10). The
//! voters are as many as were founded, always: a process comes in only by taking a dead one's place.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use siegel_ident::NodeId;

use crate::Refusal;

/// One process of the cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Member {
    /// Its id in Raft; never reused.
    pub id: NodeId,
    /// The place that it holds, or will hold.
    pub place: NodeId,
    /// Its per-boot Ed25519 key: sessions that proved it speak for this member.
    #[serde(with = "siegel_ident::hex_serde")]
    pub signing_key: [u8; 32],
}

/// An admission that is under way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Joining {
    /// Who comes.
    pub member: Member,
    /// Whom it replaces.
    pub leaves: NodeId,
    /// True from the joint configuration on: then there is no way back.
    pub swapping: bool,
}

/// All members. Part of the replicated state; changed by entries only.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Members {
    voters: BTreeMap<NodeId, Member>,
    joining: Option<Joining>,
    last: NodeId,
}

impl Members {
    /// The members of a new cluster: the first ids are the places' numbers.
    pub fn founded(keys: impl IntoIterator<Item = (NodeId, [u8; 32])>) -> Self {
        let member = |(place, signing_key)| {
            let id = place;
            (
                place,
                Member {
                    id,
                    place,
                    signing_key,
                },
            )
        };
        let voters: BTreeMap<_, _> = keys.into_iter().map(member).collect();
        let last = voters.keys().copied().max().unwrap_or_default();
        Self {
            voters,
            joining: None,
            last,
        }
    }

    /// Every process that has a voice: the voters, and who is being admitted.
    pub fn iter(&self) -> impl Iterator<Item = &Member> {
        let joining = self.joining.iter().map(|joining| &joining.member);
        self.voters.values().chain(joining)
    }

    /// Who holds a place.
    pub fn at(&self, place: NodeId) -> Option<&Member> {
        self.voters.get(&place)
    }

    /// The admission under way.
    pub fn joining(&self) -> Option<&Joining> {
        self.joining.as_ref()
    }

    /// The last id that was given.
    pub fn last(&self) -> NodeId {
        self.last
    }

    /// True for an id that was given once and has no voice any more. It stays true for ever.
    pub fn is_gone(&self, id: NodeId) -> bool {
        id <= self.last && self.iter().all(|member| member.id != id)
    }

    /// Gives a process the next id. It has no vote before [`Self::end_swap`].
    ///
    /// `leaves` is whom the proposer found dead, and `over` the admission that it found dead: both
    /// are compared, since something may have changed meanwhile.
    ///
    /// # Errors
    /// A place that does not exist, a key that is a voter's, or another admission under way.
    pub fn admit(
        &mut self,
        place: NodeId,
        signing_key: [u8; 32],
        leaves: NodeId,
        over: Option<NodeId>,
    ) -> Result<NodeId, Refusal> {
        let Some(holder) = self.voters.get(&place) else {
            return Err(Refusal::UnknownPlace { place });
        };
        if let Some(joining) = &self.joining {
            let same = &joining.member;
            if (same.place, same.signing_key) == (place, signing_key) {
                return Ok(same.id);
            }
            if joining.swapping || over != Some(same.id) {
                let (place, member) = (same.place, same.id);
                return Err(Refusal::AdmissionPending { place, member });
            }
        }
        if holder.id != leaves {
            let (member, found) = (holder.id, leaves);
            return Err(Refusal::MemberChanged {
                place,
                member,
                found,
            });
        }
        if self.iter().any(|member| member.signing_key == signing_key) {
            // One process with two votes would be a quorum by itself.
            return Err(Refusal::PeerNotAllowed {
                field: "signing key".to_owned(),
                found: "that of a member".to_owned(),
            });
        }
        let id = self.last.next();
        self.last = id;
        self.joining = Some(Joining {
            member: Member {
                id,
                place,
                signing_key,
            },
            leaves,
            swapping: false,
        });
        Ok(id)
    }

    /// Ends an admission that leads nowhere; its id is gone.
    ///
    /// # Errors
    /// [`Refusal::NoAdmission`] unless exactly this one is under way and not swapping yet.
    pub fn withdraw(&mut self, member: NodeId) -> Result<(), Refusal> {
        match &self.joining {
            Some(joining) if joining.member.id == member && !joining.swapping => {
                self.joining = None;
                Ok(())
            }
            _ => Err(Refusal::NoAdmission { member }),
        }
    }

    /// True if this swap may begin: it is the admission under way.
    pub fn may_swap(&self, joins: NodeId, leaves: NodeId) -> bool {
        let fits = |joining: &Joining| {
            joining.member.id == joins && joining.leaves == leaves && !joining.swapping
        };
        self.joining.as_ref().is_some_and(fits)
    }

    /// The joint configuration of this swap holds from here on. Changes nothing unless it may.
    pub fn begin_swap(&mut self, joins: NodeId, leaves: NodeId) {
        let may = self.may_swap(joins, leaves);
        if let Some(joining) = self.joining.as_mut().filter(|_| may) {
            joining.swapping = true;
        }
    }

    /// The joint configuration is left: the place has its new holder, the old id is gone.
    pub fn end_swap(&mut self) {
        if let Some(joining) = self.joining.take_if(|joining| joining.swapping) {
            self.voters.insert(joining.member.place, joining.member);
        }
    }
}
