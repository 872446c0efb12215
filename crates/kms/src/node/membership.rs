//! Changes of the voters: which there are, when the leader proposes one, when a replica applies one.
//!
//! The ledger decides *who* comes and goes ([`Members`]); here it becomes Raft's configuration, in
//! three steps, each a committed entry that every replica checks again before it applies it (I10):
//!
//! 1. `Learn`: the admitted process is replicated to, without a vote;
//! 2. `Swap`, once it has caught up and whom it replaces is still silent: one joint configuration,
//!    so that there are never four voters;
//! 3. `Settle`: the joint configuration is left. Whoever leads does this, not only who began.
//!
//! raft-rs' own way out of a joint configuration is not used: it may never come if the leader dies.

use prost::Message as _;
use raft::StateRole;
use raft::eraftpb::Entry;
use raft::eraftpb::{
    ConfChangeSingle, ConfChangeTransition, ConfChangeType, ConfChangeV2, ConfState,
};
use siegel_ident::NodeId;
use siegel_ident::lp::{Reader, Writer};
use siegel_ledger::Members;
use siegel_wire::v1;

use super::{MessageError, Node, NodeError, StateMachine, Vacancy};

/// Most voters and most learners of a configuration that is read.
const MAX_NODES: u32 = 16;
/// A learner may be this many entries behind what is committed when it becomes a voter.
const CAUGHT_UP: u64 = 16;

/// One change of the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Learn(NodeId),
    Swap {
        joins: NodeId,
        leaves: NodeId,
    },
    Settle,
    /// A learner whose admission is over.
    Forget(NodeId),
}

impl Change {
    /// Reads the data of an entry: exactly one of the four, nothing else. Our own decoder; rust-protobuf
    /// never sees network bytes.
    pub(super) fn read(data: &[u8]) -> Option<Self> {
        const ADD: u32 = ConfChangeType::AddNode as u32;
        const REMOVE: u32 = ConfChangeType::RemoveNode as u32;
        const LEARN: u32 = ConfChangeType::AddLearnerNode as u32;
        const EXPLICIT: u32 = ConfChangeTransition::Explicit as u32;
        let wire = v1::ConfChange::decode(data).ok()?;
        let kind = |change: &v1::ConfChangeSingle| (change.change_type, NodeId(change.node_id));
        let changes: Vec<_> = wire.changes.iter().map(kind).collect();
        let change = match (wire.transition, changes.as_slice()) {
            (0, []) => Self::Settle,
            (0, [(LEARN, id)]) => Self::Learn(*id),
            (0, [(REMOVE, id)]) => Self::Forget(*id),
            (EXPLICIT, [(ADD, joins), (REMOVE, leaves)]) => Self::Swap {
                joins: *joins,
                leaves: *leaves,
            },
            _ => return None,
        };
        (wire.context.is_empty() && changes.iter().all(|(_, id)| id.0 != 0)).then_some(change)
    }

    pub(super) fn to_raft(self) -> ConfChangeV2 {
        let single = |change_type, id: NodeId| {
            let mut change = ConfChangeSingle::default();
            change.set_change_type(change_type);
            change.node_id = id.0;
            change
        };
        let mut change = ConfChangeV2::default();
        match self {
            Self::Settle => {}
            Self::Learn(id) => change
                .mut_changes()
                .push(single(ConfChangeType::AddLearnerNode, id)),
            Self::Forget(id) => change
                .mut_changes()
                .push(single(ConfChangeType::RemoveNode, id)),
            Self::Swap { joins, leaves } => {
                change.set_transition(ConfChangeTransition::Explicit);
                change
                    .mut_changes()
                    .push(single(ConfChangeType::AddNode, joins));
                change
                    .mut_changes()
                    .push(single(ConfChangeType::RemoveNode, leaves));
            }
        }
        change
    }

    /// Whether it follows from configuration and members. The same on every replica, since both are.
    fn fits(self, conf: &ConfState, members: &Members) -> bool {
        let joint = !conf.voters_outgoing.is_empty();
        let voter = |id: NodeId| conf.voters.contains(&id.0);
        let learner = |id: NodeId| conf.learners.contains(&id.0);
        let joining = members.joining().map(|joining| joining.member.id);
        match self {
            Self::Settle => joint,
            Self::Learn(id) => !joint && joining == Some(id) && !voter(id) && !learner(id),
            Self::Forget(id) => !joint && joining != Some(id) && learner(id),
            Self::Swap { joins, leaves } => {
                !joint && learner(joins) && voter(leaves) && members.may_swap(joins, leaves)
            }
        }
    }
}

/// The configuration, in the order in which it is written.
pub(super) fn sorted(mut conf: ConfState) -> ConfState {
    conf.voters.sort_unstable();
    conf.learners.sort_unstable();
    conf.voters_outgoing.sort_unstable();
    conf
}

/// voters ‖ learners ‖ outgoing voters, each: count u32 ‖ id u64*, ascending.
pub(super) fn write_conf(conf: &ConfState) -> Vec<u8> {
    let list = |writer: Writer, ids: &[u64]| {
        let writer = writer.u32(ids.len() as u32);
        ids.iter().fold(writer, |writer, id| writer.u64(*id))
    };
    let writer = list(Writer::new(), &conf.voters);
    let writer = list(writer, &conf.learners);
    list(writer, &conf.voters_outgoing).finish()
}

/// Reads what [`write_conf`] wrote. raft-rs ends the process over a configuration that contradicts
/// itself, so none gets that far (I14).
pub(super) fn read_conf(reader: &mut Reader<'_>) -> Result<ConfState, MessageError> {
    const BAD: MessageError = MessageError::Bounds("snapshot.conf");
    let mut list = || -> Result<Vec<u64>, MessageError> {
        let count = reader.u32("count").map_err(|_| BAD)?;
        if count > MAX_NODES {
            return Err(BAD);
        }
        let ids: Result<Vec<u64>, _> = (0..count).map(|_| reader.u64("id")).collect();
        let ids = ids.map_err(|_| BAD)?;
        let ascending = ids.is_sorted_by(|a, b| a < b) && ids.first() != Some(&0);
        if ascending { Ok(ids) } else { Err(BAD) }
    };
    let (voters, learners, outgoing) = (list()?, list()?, list()?);
    let votes = |id: &u64| voters.contains(id) || outgoing.contains(id);
    let joint = !outgoing.is_empty();
    if voters.is_empty() || (joint && outgoing.len() != voters.len()) || learners.iter().any(votes)
    {
        return Err(BAD);
    }
    let mut conf = ConfState::from((voters, learners));
    conf.voters_outgoing = outgoing;
    Ok(conf)
}

impl<S: StateMachine> Node<S> {
    /// Raft's configuration as applied here.
    pub(super) fn conf(&self) -> ConfState {
        sorted(self.raw.raft.prs().conf().to_conf_state())
    }

    /// Applies a committed change, or skips it if it does not follow from what was agreed; every
    /// replica does the same.
    pub(super) fn reconfigure(&mut self, entry: &Entry) -> Result<(), String> {
        let Some(change) = Change::read(&entry.data) else {
            return Ok(());
        };
        if !change.fits(&self.conf(), self.machine.members()) {
            return Ok(());
        }
        let conf = self
            .raw
            .apply_conf_change(&change.to_raft())
            .map_err(|error| error.to_string())?;
        self.raw.mut_store().set_conf(sorted(conf));
        match change {
            // A newcomer has no log to follow from: it needs the state, so the log is cut here, where
            // the state already names it.
            Change::Learn(_) => self.must_cut = true,
            Change::Swap { joins, leaves } => self.machine.begin_swap(joins, leaves),
            Change::Settle => self.machine.end_swap(),
            Change::Forget(_) => {}
        }
        Ok(())
    }

    /// The leader's next step in an admission, if there is one. One at a time: raft-rs knows one
    /// pending change.
    pub(super) fn drive_membership(&mut self) {
        let raft = &self.raw.raft;
        if raft.state != StateRole::Leader
            || raft.has_pending_conf()
            || !raft.commit_to_current_term()
        {
            return;
        }
        if let Some(change) = self.next_change() {
            // What is dropped is proposed again at the next tick.
            let _ = self.raw.propose_conf_change(Vec::new(), change.to_raft());
        }
    }

    fn next_change(&self) -> Option<Change> {
        let conf = self.conf();
        if !conf.voters_outgoing.is_empty() {
            return Some(Change::Settle);
        }
        let joining = self.machine.members().joining();
        let wanted = joining.map(|joining| joining.member.id.0);
        if let Some(stale) = conf.learners.iter().find(|id| Some(**id) != wanted) {
            return Some(Change::Forget(NodeId(*stale)));
        }
        let (joining, joins) = (joining?, joining?.member.id);
        if conf.voters.contains(&joins.0) {
            return None;
        }
        if !conf.learners.contains(&joins.0) {
            return Some(Change::Learn(joins));
        }
        let raft = &self.raw.raft;
        let matched = raft.prs().get(joins.0)?.matched;
        let caught_up = matched != 0 && matched + CAUGHT_UP >= raft.raft_log.committed;
        let leaves = joining.leaves;
        // A live member is never swapped out (I10).
        (caught_up && self.pulse.alive(joins) && self.pulse.lost(leaves, self.id))
            .then_some(Change::Swap { joins, leaves })
    }

    /// Whom a process with this key would replace at a place, as far as this leader knows.
    ///
    /// # Errors
    /// Not the leader; no such place; its member is alive or was heard not long ago; another
    /// admission is under way.
    pub fn vacancy(&self, place: NodeId, key: &[u8; 32]) -> Result<Vacancy, NodeError> {
        self.must_lead()?;
        let members = self.machine.members();
        let holder = members.at(place).ok_or(NodeError::UnknownPlace { place })?;
        let vacancy = Vacancy {
            leaves: holder.id,
            over: None,
        };
        if let Some(joining) = members.joining() {
            let pending = &joining.member;
            if (pending.place, pending.signing_key) == (place, *key) {
                return Ok(vacancy);
            }
            if joining.swapping || !self.pulse.joiner_lost(pending.id) {
                return Err(NodeError::AdmissionPending {
                    place: pending.place,
                });
            }
        }
        if !self.pulse.lost(holder.id, self.id) {
            return Err(NodeError::MemberAlive { place });
        }
        Ok(Vacancy {
            over: members.joining().map(|joining| joining.member.id),
            ..vacancy
        })
    }

    /// An admission that this leader should have withdrawn: its process is silent for long, or the
    /// member that it would replace is back.
    pub fn stale_admission(&self) -> Option<NodeId> {
        self.must_lead().ok()?;
        let joining = self.machine.members().joining()?;
        let id = joining.member.id;
        let back = joining.leaves == self.id || self.pulse.alive(joining.leaves);
        let over = back || self.pulse.joiner_gone(id);
        (!joining.swapping && over).then_some(id)
    }

    /// For how many ticks nobody has been heard.
    pub fn silence(&self) -> u64 {
        self.pulse.silence()
    }
}

#[cfg(test)]
#[path = "membership_tests.rs"]
mod tests;
