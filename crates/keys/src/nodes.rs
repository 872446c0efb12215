//! Which node to ask next.

use siegel_ident::NodeId;
use siegel_link::Endpoint;
use siegel_platform::Peer;

use crate::KeysError;

/// One node of the key service, as placement names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KmsNode {
    /// Its place; a leader hint names it. A process that replaces a dead one has the same.
    pub id: NodeId,
    /// Where it listens.
    pub endpoint: Endpoint,
}

impl KmsNode {
    /// The nodes in a process's start message.
    pub fn from_start(peers: &[Peer]) -> Result<Vec<Self>, KeysError> {
        let node = |peer: &Peer| {
            Ok(Self {
                id: peer.node,
                endpoint: peer.address.parse()?,
            })
        };
        peers.iter().map(node).collect()
    }
}

/// Remembers who led last. Pure: the caller waits and sends.
#[derive(Clone, Debug)]
pub(crate) struct Picker {
    ids: Vec<NodeId>,
    at: usize,
}

impl Picker {
    /// `ids` must be distinct and not empty.
    pub(crate) fn new(ids: Vec<NodeId>) -> Result<Self, KeysError> {
        let distinct: std::collections::BTreeSet<_> = ids.iter().collect();
        if ids.is_empty() || distinct.len() != ids.len() {
            return Err(KeysError::Nodes);
        }
        Ok(Self { ids, at: 0 })
    }

    /// The node to ask now.
    pub(crate) fn current(&self) -> NodeId {
        self.ids.get(self.at).copied().unwrap_or_default()
    }

    /// How many nodes there are.
    pub(crate) fn len(&self) -> usize {
        self.ids.len()
    }

    /// `node` did not help: the next in turn, unless somebody moved on meanwhile.
    pub(crate) fn skip(&mut self, node: NodeId) {
        if self.current() == node {
            self.at = (self.at + 1) % self.ids.len();
        }
    }

    /// `node` is not the leader and may know who is. True if there is a fresh hint to follow.
    pub(crate) fn redirect(&mut self, node: NodeId, hint: NodeId) -> bool {
        match self.ids.iter().position(|&id| id == hint && id != node) {
            Some(at) => {
                self.at = at;
                true
            }
            None => {
                self.skip(node);
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picker() -> Picker {
        Picker::new(vec![NodeId(1), NodeId(2), NodeId(3)]).unwrap()
    }

    #[test]
    fn follows_hints_and_goes_round() {
        let mut p = picker();
        assert_eq!(p.current(), NodeId(1));
        assert!(p.redirect(NodeId(1), NodeId(3)));
        assert_eq!(p.current(), NodeId(3));
        p.skip(NodeId(3));
        assert_eq!(p.current(), NodeId(1));
        // Unknown leader, a node that this process does not know, a node that names itself.
        for (no_help, next) in [(0, 2), (9, 3), (3, 1)] {
            assert!(!p.redirect(p.current(), NodeId(no_help)));
            assert_eq!(p.current(), NodeId(next));
        }
    }

    // Catches two calls in flight that push each other off the node that works.
    #[test]
    fn a_late_failure_of_another_node_moves_nothing() {
        let mut p = picker();
        p.skip(NodeId(2));
        assert_eq!(p.current(), NodeId(1));
    }

    #[test]
    fn needs_distinct_nodes() {
        assert!(matches!(Picker::new(vec![]), Err(KeysError::Nodes)));
        assert!(matches!(
            Picker::new(vec![NodeId(1), NodeId(1)]),
            Err(KeysError::Nodes)
        ));
    }
}
