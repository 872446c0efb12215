//! What the nodes say of themselves, and waiting until a replaced one is a full member again.

use std::time::Duration;

use siegel_ident::{NodeId, Timestamp};
use siegel_link::LinkError;
use siegel_wire::v1;
use tokio::time::Instant;

use super::Courier;
use crate::KeysError;
use crate::grant::bad;

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(100);

/// What one node says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeStatus {
    /// Its place, which stays when a dead process is replaced.
    pub node: NodeId,
    /// Place of the leader, as far as it knows.
    pub leader: Option<NodeId>,
    /// Raft term.
    pub term: u64,
    /// Index of the last applied entry.
    pub applied: u64,
    /// The replicated clock.
    pub clock: Timestamp,
    /// How many receipts there are.
    pub receipts: u64,
    /// True once it belongs to a cluster.
    pub founded: bool,
    /// What it is in the group.
    pub role: NodeRole,
    /// Its id in the group: another one for each process (I10). `None` while it is no member.
    pub member: Option<u64>,
}

/// What a node is in its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeRole {
    /// In no cluster yet.
    Starting,
    /// Asks to take a dead member's place.
    Joining,
    /// Admitted; catches up without a vote.
    Learner,
    /// Votes.
    Voter,
}

impl NodeRole {
    /// The word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Joining => "joining",
            Self::Learner => "learner",
            Self::Voter => "voter",
        }
    }

    fn parse(word: &str) -> Option<Self> {
        [Self::Starting, Self::Joining, Self::Learner, Self::Voter]
            .into_iter()
            .find(|role| role.as_str() == word)
    }
}

impl Courier {
    /// What each node says of itself, or why it says nothing. Asks all at once, each once.
    pub async fn status(&self) -> Vec<(NodeId, Result<NodeStatus, KeysError>)> {
        let mut asked = Vec::new();
        for (id, client) in &self.nodes {
            let (id, mut client, limit) = (*id, client.clone(), self.patience.attempt);
            asked.push((
                id,
                tokio::spawn(async move {
                    match tokio::time::timeout(limit, client.status(v1::StatusRequest {})).await {
                        Ok(reply) => node_status(reply.map_err(LinkError::from)?.into_inner()),
                        Err(_) => Err(LinkError::Timeout {
                            what: "a status request",
                            after: limit,
                        }
                        .into()),
                    }
                }),
            ));
        }
        let mut answers = Vec::with_capacity(asked.len());
        for (id, task) in asked {
            let answer = task.await.unwrap_or(Err(bad("status")));
            answers.push((id, answer));
        }
        answers
    }

    /// Waits until a process that was started in a dead member's `place` votes, and all the others
    /// do too under one leader: from then on one more node may die. Status is a node's own word and
    /// untrusted; nothing is released by it.
    ///
    /// # Errors
    /// [`KeysError::NotCaughtUp`] after `patience`, with what was missing last.
    pub async fn await_caught_up(
        &self,
        place: NodeId,
        patience: Duration,
    ) -> Result<NodeStatus, KeysError> {
        let begun = Instant::now();
        loop {
            let missing = match caught_up(place, &self.status().await) {
                Ok(status) => return Ok(status),
                Err(missing) => missing,
            };
            if begun.elapsed() >= patience {
                return Err(KeysError::NotCaughtUp {
                    place,
                    waited: begun.elapsed(),
                    missing,
                });
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// The status of `place`, if every node votes and names the same leader in the same term.
fn caught_up(
    place: NodeId,
    all: &[(NodeId, Result<NodeStatus, KeysError>)],
) -> Result<NodeStatus, String> {
    let mut view = None;
    let mut found = None;
    for (node, answer) in all {
        let status = answer
            .as_ref()
            .map_err(|error| format!("node {node}: {error}"))?;
        if status.role != NodeRole::Voter {
            return Err(format!("node {node} is {}", status.role.as_str()));
        }
        let Some(leader) = status.leader else {
            return Err(format!("node {node} knows no leader"));
        };
        let seen = (leader, status.term);
        if *view.get_or_insert(seen) != seen {
            return Err(format!("node {node} follows another leader or term"));
        }
        if *node == place {
            found = Some(*status);
        }
    }
    found.ok_or_else(|| format!("there is no place {place}"))
}

fn node_status(wire: v1::StatusReply) -> Result<NodeStatus, KeysError> {
    Ok(NodeStatus {
        node: NodeId(wire.node_id),
        leader: (wire.leader_id != 0).then_some(NodeId(wire.leader_id)),
        term: wire.term,
        applied: wire.applied,
        clock: Timestamp(wire.clock),
        receipts: wire.receipts,
        founded: wire.founded,
        role: NodeRole::parse(&wire.role).ok_or(bad("status"))?,
        member: (wire.member_id != 0).then_some(wire.member_id),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn voter(node: u64) -> (NodeId, Result<NodeStatus, KeysError>) {
        let status = NodeStatus {
            node: NodeId(node),
            leader: Some(NodeId(2)),
            term: 7,
            applied: 9,
            clock: Timestamp(1),
            receipts: 3,
            founded: true,
            role: NodeRole::Voter,
            member: Some(node),
        };
        (NodeId(node), Ok(status))
    }

    fn with(change: fn(&mut NodeStatus)) -> Vec<(NodeId, Result<NodeStatus, KeysError>)> {
        let mut all = vec![voter(1), voter(2), voter(3)];
        if let Ok(status) = &mut all[2].1 {
            change(status);
        }
        all
    }

    // I8: catches a wait that ends while the group could not lose another node.
    #[test]
    fn only_a_whole_group_has_caught_up() {
        let place = NodeId(3);
        assert_eq!(caught_up(place, &with(|_| ())).unwrap().node, place);
        let changes: [fn(&mut NodeStatus); 5] = [
            |s| s.role = NodeRole::Learner,
            |s| s.role = NodeRole::Joining,
            |s| s.leader = None,
            |s| s.leader = Some(NodeId(1)),
            |s| s.term = 6,
        ];
        for change in changes {
            assert!(caught_up(place, &with(change)).is_err());
        }
        let mut dead = with(|_| ());
        dead[0].1 = Err(bad("status"));
        assert!(caught_up(place, &dead).is_err());
        assert!(caught_up(NodeId(4), &with(|_| ())).is_err());
    }

    // I14: catches an unknown word that is taken for a voter.
    #[test]
    fn an_unknown_role_is_no_status() {
        let word = |role: &str| {
            let role = role.to_owned();
            node_status(v1::StatusReply {
                role,
                ..Default::default()
            })
        };
        assert_eq!(word("learner").unwrap().role, NodeRole::Learner);
        assert!(word("king").is_err());
        assert!(word("").is_err());
    }
}
