//! What goes into a [`super::Node`] and what comes out.

use siegel_ident::{Digest, NodeId};
use siegel_ledger::Members;
use siegel_wire::v1::RaftMessage;

use super::MessageError;

/// What the log drives. `apply` is deterministic and infallible: no clock, no random source, no
/// hash-map order; a failure is an outcome, since every replica must take the same step (I15).
pub trait StateMachine {
    /// What an entry led to; returned to whoever proposed it.
    type Outcome;

    /// Who takes part, as of the last applied entry.
    fn members(&self) -> &Members;

    /// The joint configuration of this swap holds ([`Members::begin_swap`]).
    fn begin_swap(&mut self, joins: NodeId, leaves: NodeId);

    /// It is left ([`Members::end_swap`]).
    fn end_swap(&mut self);

    /// Applies one committed entry.
    fn apply(&mut self, data: &[u8]) -> Self::Outcome;

    /// The whole state as bytes, for a replica that lags behind the cut of the log.
    fn snapshot(&self) -> Vec<u8>;

    /// Takes over a whole state.
    ///
    /// # Errors
    /// Why the bytes are no state; the replica then stops for good.
    fn restore(&mut self, snapshot: &[u8]) -> Result<(), String>;
}

/// Names one proposal or read of this node. The caller never uses one twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// How a node is started.
#[derive(Clone, Debug)]
pub struct NodeConfig {
    /// This node; never 0, never reused (I10).
    pub id: NodeId,
    /// A founder of the cluster: all of them, this one too; the same on each. Empty for a node that
    /// joins: it learns them from the leader.
    pub voters: Vec<NodeId>,
    /// Spreads the election timeouts. Any number; a simulation fixes it.
    pub election_seed: u64,
    /// After how many ticks an unanswered proposal or read is given up as unknown.
    pub deadline_ticks: u64,
}

/// One thing that happens to a node.
#[derive(Clone, Debug)]
pub enum Input {
    /// A unit of time has passed.
    Tick,
    /// A peer's message. `from` is the identity that the session proved, not what the message says.
    Peer {
        /// Who sent it.
        from: NodeId,
        /// The message as it came off the wire.
        message: RaftMessage,
    },
    /// Put this into the log.
    Propose {
        /// Under which the answer comes.
        ticket: Ticket,
        /// The entry's bytes.
        data: Vec<u8>,
    },
    /// Say when a read of the state machine is linearizable.
    Read {
        /// Under which the answer comes.
        ticket: Ticket,
    },
    /// Stand for election now; for the founder of a new cluster.
    Campaign,
    /// Drop the log up to what is applied. After this no expired secret stands in it (I9), and it
    /// stays bounded.
    Cut,
    /// A message to this peer was dropped.
    Unreachable {
        /// The peer.
        peer: NodeId,
    },
}

/// One thing that the shell has to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Output<O> {
    /// Send this; it may be lost, delayed or doubled.
    Send {
        /// To whom.
        to: NodeId,
        /// What.
        message: RaftMessage,
    },
    /// The end of a proposal.
    Done {
        /// Which one.
        ticket: Ticket,
        /// The outcome once applied here, or why there is none.
        result: Result<O, NodeError>,
    },
    /// The end of a read: if `Ok`, the state machine may be read now.
    ReadReady {
        /// Which one.
        ticket: Ticket,
        /// Whether it may be read.
        result: Result<(), NodeError>,
    },
    /// The log says that this node is no member any more; end the process. It answers nothing from
    /// now on (I10).
    Removed,
    /// This replica cannot go on; end the process. It answers nothing from now on.
    Broken(String),
    /// Leader or term changed.
    Role(Role),
    /// A peer sent what no honest peer sends.
    Refused {
        /// Who.
        from: NodeId,
        /// What was wrong.
        error: MessageError,
    },
}

/// Who leads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Role {
    /// The leader that this node knows.
    pub leader: Option<NodeId>,
    /// True if that is this node.
    pub is_leader: bool,
    /// The term.
    pub term: u64,
}

/// What a replica is in its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seat {
    /// It knows no configuration yet.
    Joining,
    /// No vote yet.
    Learner,
    /// Votes.
    Voter,
}

/// Whom a process would replace, as a leader found it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vacancy {
    /// The dead member.
    pub leaves: NodeId,
    /// An admission whose process died, to be ended by the new one.
    pub over: Option<NodeId>,
}

/// Where a replica stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// This node.
    pub id: NodeId,
    /// The leader that it knows.
    pub leader: Option<NodeId>,
    /// True if that is this node.
    pub is_leader: bool,
    /// What it is.
    pub seat: Seat,
    /// The term.
    pub term: u64,
    /// Index of the last applied entry.
    pub applied: u64,
    /// Hash chain over all applied entries.
    pub head: Digest,
    /// Entries that the log holds, the cut ones not counted.
    pub log_len: usize,
    /// Their bytes.
    pub log_bytes: usize,
}

/// Why a node did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NodeError {
    /// Only the leader proposes and reads; nothing was done.
    #[error("not the leader{}", match .leader { Some(id) => format!("; ask node {id}"), None => "; none is known now, try again".into() })]
    NotLeader {
        /// Whom to ask.
        leader: Option<NodeId>,
    },
    /// A queue or the uncommitted log is full, or a new leader is not ready; nothing was done.
    #[error("this node is busy; nothing was done, try again")]
    Busy,
    /// No quorum answered in time. What was proposed may still take effect: retry with the same
    /// request id.
    #[error(
        "no quorum answered in time; it is not known whether this took effect: retry with the same request id"
    )]
    Unknown,
    /// An entry without bytes, or with too many.
    #[error("entry of {len} bytes; from 1 to {max} are allowed")]
    TooLarge {
        /// Its length.
        len: usize,
        /// The bound.
        max: usize,
    },
    /// A ticket that is in use: a bug of the caller.
    #[error("ticket {} is in use", .0.0)]
    DuplicateTicket(Ticket),
    /// No voter holds this place (I10).
    #[error("the cluster has no place {place}; the number of its voters is fixed at birth")]
    UnknownPlace {
        /// As asked.
        place: NodeId,
    },
    /// Its member answered not long ago: nobody takes a live member's place (I10).
    #[error(
        "place {place} is held by a member that was alive a moment ago; try again if it is dead"
    )]
    MemberAlive {
        /// The place.
        place: NodeId,
    },
    /// One admission at a time.
    #[error("another process is being admitted to place {place}; try again")]
    AdmissionPending {
        /// That place.
        place: NodeId,
    },
    /// The configuration makes no cluster.
    #[error("bad node configuration: {0}")]
    Config(String),
}
