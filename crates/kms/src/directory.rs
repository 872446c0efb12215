//! Who speaks on which session, and where each member is dialled.
//!
//! The truth is the ledger's table of members, as applied here. A replica that is behind may meet a
//! member that it does not know yet: that one shows a credential, signed by the cluster key after its
//! admission was applied by somebody. Nobody else has a voice (I10).

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use siegel_ident::NodeId;
use siegel_ledger::Members;

/// One process: the place where it is dialled, and the key that its sessions prove.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Contact {
    pub(crate) place: NodeId,
    pub(crate) key: [u8; 32],
}

pub(crate) struct Directory(Mutex<Known>);

struct Known {
    members: Members,
    /// By credential, with ids above all that the table has given.
    vouched: BTreeMap<NodeId, Contact>,
}

impl Directory {
    pub(crate) fn new(members: Members) -> Self {
        Self(Mutex::new(Known {
            members,
            vouched: BTreeMap::new(),
        }))
    }

    /// Takes over the table as applied now. A newcomer's own is empty at first, and older than the
    /// one that it was welcomed with.
    pub(crate) fn refresh(&self, applied: &Members) {
        let mut known = self.lock();
        if applied.last() < known.members.last() || *applied == known.members {
            return;
        }
        known.members = applied.clone();
        let last = applied.last();
        known.vouched.retain(|id, _| *id > last);
    }

    /// Notes a member by its credential, which the caller has checked. False if the table knows
    /// better: that id is a member already under its own key, or gone.
    pub(crate) fn vouch(&self, id: NodeId, contact: Contact) -> bool {
        let mut known = self.lock();
        if id <= known.members.last() {
            let member = known.members.iter().find(|member| member.id == id);
            return member.is_some_and(|member| member.signing_key == contact.key);
        }
        // One per place is enough; an older one is gone or will be.
        known
            .vouched
            .retain(|other, held| held.place != contact.place || *other > id);
        if known
            .vouched
            .values()
            .all(|held| held.place != contact.place)
        {
            known.vouched.insert(id, contact);
        }
        true
    }

    /// All that have a voice.
    pub(crate) fn contacts(&self) -> BTreeMap<NodeId, Contact> {
        let known = self.lock();
        let table = known.members.iter().map(|member| {
            let (place, key) = (member.place, member.signing_key);
            (member.id, Contact { place, key })
        });
        table
            .chain(known.vouched.iter().map(|(id, held)| (*id, *held)))
            .collect()
    }

    /// Whose sessions carry this key.
    pub(crate) fn id_of(&self, key: &[u8; 32]) -> Option<NodeId> {
        let contacts = self.contacts();
        contacts
            .iter()
            .find(|(_, contact)| contact.key == *key)
            .map(|(id, _)| *id)
    }

    pub(crate) fn place_of(&self, id: NodeId) -> Option<NodeId> {
        self.contacts().get(&id).map(|contact| contact.place)
    }

    /// True for an id that was a member's once and never will be again.
    pub(crate) fn is_gone(&self, id: NodeId) -> bool {
        self.lock().members.is_gone(id)
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Members {
        Members::founded((1..=3).map(|n| (NodeId(n), [n as u8; 32])))
    }

    fn contact(place: u64, key: u8) -> Contact {
        let place = NodeId(place);
        let key = [key; 32];
        Contact { place, key }
    }

    /// I10: catches a voice for whoever was a member once, and for a stranger under a member's id.
    #[test]
    fn only_members_and_those_to_come_have_a_voice() {
        let directory = Directory::new(table());
        assert_eq!(directory.id_of(&[2; 32]), Some(NodeId(2)));
        assert!(directory.vouch(NodeId(2), contact(2, 2)));
        assert!(!directory.vouch(NodeId(2), contact(2, 9)), "another key");
        assert!(directory.vouch(NodeId(4), contact(1, 9)));
        assert!(directory.vouch(NodeId(5), contact(1, 10)));
        assert!(
            directory.vouch(NodeId(4), contact(1, 9)),
            "late, and harmless"
        );
        assert_eq!(directory.id_of(&[10; 32]), Some(NodeId(5)));
        assert_eq!(directory.id_of(&[9; 32]), None, "one newcomer per place");
        assert_eq!(directory.contacts().len(), 4);

        let mut members = table();
        members.admit(NodeId(1), [9; 32], NodeId(1), None).unwrap();
        members
            .admit(NodeId(1), [10; 32], NodeId(1), Some(NodeId(4)))
            .unwrap();
        members.begin_swap(NodeId(5), NodeId(1));
        members.end_swap();
        directory.refresh(&members);
        directory.refresh(&table());
        assert!(directory.is_gone(NodeId(1)) && directory.is_gone(NodeId(4)));
        assert!(!directory.vouch(NodeId(4), contact(1, 9)));
        assert!(!directory.vouch(NodeId(1), contact(1, 1)));
        assert_eq!(directory.id_of(&[1; 32]), None);
        assert_eq!(directory.place_of(NodeId(5)), Some(NodeId(1)));
    }
}
