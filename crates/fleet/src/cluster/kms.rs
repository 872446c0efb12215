//! The nodes of the key service as their public door shows them: who leads, who has caught up.

use std::time::Duration;

use siegel_ident::NodeId;
use siegel_keys::{Courier, KmsNode, NodeStatus, Patience};
use siegel_link::Net;
use tokio::time::Instant;

use crate::{FleetError, Part, ProcessName};

/// How long one node may take to say how it is. A dead one refuses at once.
const STATUS: Patience = Patience {
    attempt: Duration::from_secs(1),
    overall: Duration::from_secs(2),
};
/// How long an election is waited for.
const ELECTION: Duration = Duration::from_secs(15);
/// How long a replacement is waited for.
const JOINING: Duration = Duration::from_secs(60);
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(50);

/// Asks the nodes of one key service how they are.
pub(crate) struct Keyring {
    courier: Courier,
}

impl Keyring {
    pub(crate) fn new(net: &Net, nodes: &[KmsNode]) -> Result<Self, FleetError> {
        let courier = Courier::new(net, nodes).map_err(|why| FleetError::Config {
            part: "kms",
            why: why.to_string(),
        })?;
        Ok(Self {
            courier: courier.with_patience(STATUS),
        })
    }

    /// Who leads now; waits for an election.
    pub(crate) async fn leader(&self) -> Result<ProcessName, FleetError> {
        let give_up = Instant::now() + ELECTION;
        loop {
            if let Some(leader) = leader_of(&self.statuses().await) {
                return Ok(leader);
            }
            if Instant::now() >= give_up {
                return Err(FleetError::NoLeader {
                    seconds: ELECTION.as_secs(),
                });
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Returns when the new member in this place votes and the group is whole again.
    pub(crate) async fn caught_up(&self, name: ProcessName) -> Result<(), FleetError> {
        let place = NodeId(name.number.into());
        let done = self.courier.await_caught_up(place, JOINING).await;
        done.map(drop).map_err(|_| FleetError::NotCaughtUp {
            name,
            seconds: JOINING.as_secs(),
        })
    }

    async fn statuses(&self) -> Vec<NodeStatus> {
        let answers = self.courier.status().await;
        answers.into_iter().filter_map(|(_, s)| s.ok()).collect()
    }
}

fn leader_of(statuses: &[NodeStatus]) -> Option<ProcessName> {
    leader_status(statuses).map(|status| place(status.node))
}

/// The one that says so of itself, in the latest term: a deposed one may not know it yet.
fn leader_status(statuses: &[NodeStatus]) -> Option<&NodeStatus> {
    let leads = |status: &&NodeStatus| status.leader == Some(status.node);
    statuses.iter().filter(leads).max_by_key(|s| s.term)
}

fn place(node: NodeId) -> ProcessName {
    ProcessName::new(Part::Kms, u32::try_from(node.0).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use siegel_ident::Timestamp;
    use siegel_keys::NodeRole;

    use super::*;

    // Catches a kill of the wrong node: a deposed leader still believes in itself.
    #[test]
    fn the_leader_is_the_one_of_the_latest_term() {
        let says = |node: u64, leader: u64, term: u64| NodeStatus {
            node: NodeId(node),
            leader: (leader != 0).then_some(NodeId(leader)),
            term,
            applied: 0,
            clock: Timestamp(0),
            receipts: 0,
            founded: true,
            role: NodeRole::Voter,
            member: Some(node),
        };
        let split = [says(1, 1, 3), says(2, 3, 4), says(3, 3, 4)];
        assert_eq!(leader_of(&split), Some(ProcessName::new(Part::Kms, 3)));
        // Hearsay is not enough: node 2 may be late.
        assert_eq!(leader_of(&[says(1, 3, 4), says(2, 3, 4)]), None);
        assert_eq!(leader_of(&[says(1, 0, 4)]), None);
    }
}
