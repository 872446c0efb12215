//! One replica, as a pure synchronous machine over the `raft` crate (TiKV raft-rs 0.7).
//!
//! `handle(input) -> outputs` is all there is: no clock, no network, no random source (I15). The
//! shell and the simulator drive the same struct, so a seed replays bit for bit.
//!
//! Three rules it keeps:
//! - A proposal is answered when it is *applied*, never before: an acknowledged one is on a quorum.
//! - Nothing is answered that may still change: whoever asks in vain gets [`NodeError::Unknown`]
//!   and retries with the same request id.
//! - State lives in memory only; a restarted process is a new member with a new id (I10).

mod convert;
mod election;
mod logger;
mod membership;
mod pending;
mod pulse;
mod ready;
mod storage;
mod types;

#[cfg(test)]
mod tests;

use raft::{Config, RawNode, ReadOnlyOption, StateRole};
use siegel_ident::{Digest, NodeId};
use siegel_wire::v1::RaftMessage;

pub use convert::{MAX_ENTRIES, MAX_ENTRY_BYTES, MAX_MESSAGE_BYTES, MessageError};
pub use types::{
    Input, NodeConfig, NodeError, Output, Role, Seat, StateMachine, Status, Ticket, Vacancy,
};

use pending::Pending;
use pulse::Pulse;
use storage::MemoryLog;

/// One replica: Raft, its log in memory, and the state machine that the log drives.
pub struct Node<S: StateMachine> {
    id: NodeId,
    raw: RawNode<MemoryLog>,
    machine: S,
    pending: Pending,
    seed: u64,
    applied: u64,
    /// h_i = SHA-256(h_{i-1} ‖ term ‖ index ‖ data): two replicas with one head applied the same.
    head: Digest,
    role: Role,
    snapshots_sent: Vec<NodeId>,
    pulse: Pulse,
    /// The log is to be cut as soon as everything is applied.
    must_cut: bool,
    broken: bool,
}

impl<S: StateMachine> Node<S> {
    /// A member of a new cluster. All members must start with the same `voters`.
    ///
    /// # Errors
    /// [`NodeError::Config`] if this node is not among the voters, or a number is out of range.
    pub fn bootstrap(config: &NodeConfig, machine: S) -> Result<Self, NodeError> {
        let id = config.id;
        if !config.voters.contains(&id) {
            return Err(NodeError::Config(format!(
                "node {id} is not one of the voters"
            )));
        }
        Self::start(config, machine)
    }

    /// A process under a fresh id that the log has given it. It has no vote and stands for nothing
    /// until the leader has sent it state and configuration (I10).
    ///
    /// # Errors
    /// [`NodeError::Config`] if voters are given, or a number is out of range.
    pub fn join(config: &NodeConfig, machine: S) -> Result<Self, NodeError> {
        if !config.voters.is_empty() {
            let why = "a node that joins learns the voters from the leader";
            return Err(NodeError::Config(why.into()));
        }
        Self::start(config, machine)
    }

    fn start(config: &NodeConfig, machine: S) -> Result<Self, NodeError> {
        let id = config.id;
        if id.0 == 0 {
            return Err(NodeError::Config("a node's id is never 0".into()));
        }
        let log = MemoryLog::new(config.voters.iter().map(|id| id.0).collect());
        let raw = RawNode::new(&raft_config(config), log, &logger::quiet())
            .map_err(|e| NodeError::Config(e.to_string()))?;
        let mut node = Self {
            id,
            raw,
            machine,
            pending: Pending::new(config.deadline_ticks),
            seed: config.election_seed,
            applied: 0,
            head: Digest::of(b"siegel/raft-chain/v1"),
            role: Role::default(),
            snapshots_sent: Vec::new(),
            pulse: Pulse::default(),
            must_cut: false,
            broken: false,
        };
        node.fix_election_timeout();
        Ok(node)
    }

    /// Takes one input and says what to do. Call it with [`Input::Tick`] at a steady pace.
    pub fn handle(&mut self, input: Input) -> Vec<Output<S::Outcome>> {
        let mut out = Vec::new();
        if self.broken {
            return out;
        }
        match input {
            Input::Tick => {
                self.raw.tick();
                self.pending.tick(&mut out);
                self.tick_pulse();
                self.drive_membership();
            }
            Input::Peer { from, message } => self.receive(from, message, &mut out),
            Input::Propose { ticket, data } => self.propose(ticket, data, &mut out),
            Input::Read { ticket } => self.read(ticket, &mut out),
            // Fails only where it would change nothing. A node without voters would elect itself.
            Input::Campaign if self.raw.raft.promotable() => drop(self.raw.campaign()),
            Input::Campaign => {}
            Input::Cut => self.cut(),
            Input::Unreachable { peer } => self.raw.report_unreachable(peer.0),
        }
        self.fix_election_timeout();
        while self.raw.has_ready() && !self.broken {
            self.ready(&mut out);
            self.report_snapshots();
            self.fix_election_timeout();
        }
        self.pending.release_reads(self.applied, &mut out);
        self.note_role(&mut out);
        out
    }

    /// The state machine, as of the last applied entry.
    pub fn machine(&self) -> &S {
        &self.machine
    }

    /// The same, for what is no part of the replicated state.
    pub fn machine_mut(&mut self) -> &mut S {
        &mut self.machine
    }

    /// Where this replica stands.
    pub fn status(&self) -> Status {
        Status {
            id: self.id,
            leader: leader_of(self.raw.raft.leader_id),
            is_leader: self.raw.raft.state == StateRole::Leader,
            seat: self.seat(),
            term: self.raw.raft.term,
            applied: self.applied,
            head: self.head,
            log_len: self.raw.store().len(),
            log_bytes: self.raw.store().bytes(),
        }
    }

    fn seat(&self) -> Seat {
        let conf = self.raw.store().conf();
        let votes = |voters: &[u64]| voters.contains(&self.id.0);
        let joint = !conf.voters_outgoing.is_empty();
        if votes(&conf.voters) && !joint || votes(&conf.voters_outgoing) {
            Seat::Voter
        } else if conf.voters.is_empty() {
            Seat::Joining
        } else {
            Seat::Learner
        }
    }

    fn tick_pulse(&mut self) {
        let leads = self.raw.raft.state == StateRole::Leader;
        let members = self.machine.members();
        let joining = members.joining().map(|joining| joining.member.id);
        self.pulse.tick(leads, joining, |id| !members.is_gone(id));
    }

    fn receive(&mut self, from: NodeId, message: RaftMessage, out: &mut Vec<Output<S::Outcome>>) {
        // I10: a process whose place was taken has no voice. One that is not known *yet* has: this
        // replica may be behind, and a leader that it does not know brings it up to date.
        if self.machine.members().is_gone(from) {
            let error = MessageError::NotMember(from);
            return out.push(Output::Refused { from, error });
        }
        let raft = &self.raw.raft;
        let me = convert::Receiver {
            id: self.id,
            last_index: raft.raft_log.last_index(),
            leads: (raft.state == StateRole::Leader).then_some(raft.term),
        };
        match convert::from_wire(message, from, me) {
            Ok(message) => {
                self.pulse.hear(from);
                // Errors of `step` only say that the message changed nothing.
                let _ = self.raw.step(message);
            }
            Err(error) => out.push(Output::Refused { from, error }),
        }
    }

    fn propose(&mut self, ticket: Ticket, data: Vec<u8>, out: &mut Vec<Output<S::Outcome>>) {
        let result = self.try_propose(ticket, data);
        if let Err(error) = result {
            out.push(Output::Done {
                ticket,
                result: Err(error),
            });
        }
    }

    fn try_propose(&mut self, ticket: Ticket, data: Vec<u8>) -> Result<(), NodeError> {
        if data.is_empty() || data.len() > MAX_ENTRY_BYTES {
            return Err(NodeError::TooLarge {
                len: data.len(),
                max: MAX_ENTRY_BYTES,
            });
        }
        // Checked in the same call, so raft-rs never forwards a proposal to another leader.
        self.must_lead()?;
        self.pending.reserve(ticket)?;
        match self
            .raw
            .propose(convert::proposal_context(self.id, ticket), data)
        {
            Ok(()) => {
                self.pending.proposed(ticket);
                Ok(())
            }
            // Too much is uncommitted: nothing was appended, so the caller may retry at once.
            Err(_) => Err(NodeError::Busy),
        }
    }

    /// ReadIndex, Safe: a heartbeat round proves that this leader still leads. No lease: the
    /// operator can pause a virtual CPU for as long as it likes.
    fn read(&mut self, ticket: Ticket, out: &mut Vec<Output<S::Outcome>>) {
        if let Err(error) = self.try_read(ticket) {
            out.push(Output::ReadReady {
                ticket,
                result: Err(error),
            });
        }
    }

    fn try_read(&mut self, ticket: Ticket) -> Result<(), NodeError> {
        self.must_lead()?;
        if !self.raw.raft.commit_to_current_term() {
            return Err(NodeError::Busy);
        }
        self.pending.reserve(ticket)?;
        let before = self.raw.raft.pending_read_count() + self.raw.raft.ready_read_count();
        self.raw.read_index(ticket.0.to_be_bytes().to_vec());
        let after = self.raw.raft.pending_read_count() + self.raw.raft.ready_read_count();
        // raft-rs drops a read without a word; the counts tell.
        if before == after {
            return Err(NodeError::Busy);
        }
        self.pending.reading(ticket);
        Ok(())
    }

    fn must_lead(&self) -> Result<(), NodeError> {
        match self.raw.raft.state {
            StateRole::Leader => Ok(()),
            _ => Err(NodeError::NotLeader {
                leader: leader_of(self.raw.raft.leader_id),
            }),
        }
    }

    /// Says when the leader or the own role changed.
    fn note_role(&mut self, out: &mut Vec<Output<S::Outcome>>) {
        let now = Role {
            leader: leader_of(self.raw.raft.leader_id),
            is_leader: self.raw.raft.state == StateRole::Leader,
            term: self.raw.raft.term,
        };
        if now != self.role {
            self.role = now;
            out.push(Output::Role(now));
        }
    }

    /// Replaces raft-rs' random timeout by one from the seed, so that simulation is exact (I15).
    fn fix_election_timeout(&mut self) {
        let timeout = election::timeout(self.seed, self.id, self.raw.raft.term);
        self.raw.raft.set_randomized_election_timeout(timeout);
    }
}

fn leader_of(id: u64) -> Option<NodeId> {
    (id != raft::INVALID_ID).then_some(NodeId(id))
}

fn raft_config(config: &NodeConfig) -> Config {
    Config {
        id: config.id.0,
        election_tick: election::MIN_TICKS,
        heartbeat_tick: 2,
        min_election_tick: election::MIN_TICKS,
        max_election_tick: election::MAX_TICKS,
        max_size_per_msg: 256 * 1024,
        max_inflight_msgs: 64,
        check_quorum: true,
        pre_vote: true,
        read_only_option: ReadOnlyOption::Safe,
        batch_append: true,
        max_uncommitted_size: 8 * 1024 * 1024,
        max_committed_size_per_ready: 4 * 1024 * 1024,
        ..Config::default()
    }
}
