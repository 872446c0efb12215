//! The task around a [`Node`]: it owns the replica, ticks it, and moves its messages. Nothing in it
//! waits for the network; every queue is bounded.

use std::collections::BTreeMap;

use rand_core::Rng as _;
use siegel_ident::{NodeId, RequestId};
use siegel_ledger::{Entry, Event, Outcome};
use siegel_platform::Platform;
use siegel_wire::v1::RaftMessage;
use tokio::sync::{mpsc, watch};
use tokio::time::MissedTickBehavior;

use super::{Command, Standing, TICK, Then};
use crate::KmsError;
use crate::machine::Machine;
use crate::node::{Input, Node, Output, Ticket};

/// Ticks after which a process ends, and its expired secrets with it, if no quorum erases them: 20
/// seconds of being awake. A process that was paused first has time to find its peers again.
const ERASE_TICKS: u32 = 200;
/// The log is cut when it holds more entries than this,
const LOG_ENTRIES_MAX: usize = 4096;
/// or more bytes.
const LOG_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Owns the node.
pub(super) struct Task {
    platform: Platform,
    node: Node<Machine>,
    peers: BTreeMap<NodeId, mpsc::Sender<RaftMessage>>,
    seen: watch::Sender<Standing>,
    proposals: BTreeMap<Ticket, Then<Option<Outcome>>>,
    reads: BTreeMap<Ticket, Then<()>>,
    next_ticket: u64,
    /// For how many ticks something has been expired and not erased.
    overdue: u32,
    /// The replica found itself inconsistent.
    broken: bool,
}

impl Task {
    pub(super) fn new(
        platform: Platform,
        node: Node<Machine>,
        peers: BTreeMap<NodeId, mpsc::Sender<RaftMessage>>,
        seen: watch::Sender<Standing>,
    ) -> Self {
        Self {
            platform,
            node,
            peers,
            seen,
            proposals: BTreeMap::new(),
            reads: BTreeMap::new(),
            next_ticket: 0,
            overdue: 0,
            broken: false,
        }
    }

    pub(super) async fn run(mut self, mut inbox: mpsc::Receiver<Command>) -> KmsError {
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = ticks.tick() => {
                    self.step(Input::Tick);
                    if let Some(error) = self.erase_what_expired() {
                        return error;
                    }
                }
                command = inbox.recv() => match command {
                    Some(command) => self.command(command),
                    None => return KmsError::ReplicaStopped(self.node.status().id),
                },
            }
            if self.broken {
                return KmsError::ReplicaStopped(self.node.status().id);
            }
            self.bound_the_log();
            let now = standing_of(&self.node);
            self.seen
                .send_if_modified(|seen| std::mem::replace(seen, now) != now);
        }
    }

    fn command(&mut self, command: Command) {
        match command {
            Command::Propose { data, then } => {
                let ticket = self.ticket();
                self.proposals.insert(ticket, then);
                self.step(Input::Propose { ticket, data });
            }
            Command::Read { then } => {
                let ticket = self.ticket();
                self.reads.insert(ticket, then);
                self.step(Input::Read { ticket });
            }
            Command::Peer { from, message } => self.step(Input::Peer {
                from,
                message: *message,
            }),
            Command::Campaign => self.step(Input::Campaign),
        }
    }

    fn step(&mut self, input: Input) {
        let mut inputs = vec![input];
        while let Some(input) = inputs.pop() {
            for output in self.node.handle(input) {
                inputs.extend(self.do_as_told(output));
            }
        }
    }

    /// Returns what has to be told to the node because of it.
    fn do_as_told(&mut self, output: Output<Option<Outcome>>) -> Option<Input> {
        match output {
            Output::Send { to, message } => {
                let sent = self
                    .peers
                    .get(&to)
                    .is_some_and(|peer| peer.try_send(message).is_ok());
                return (!sent).then_some(Input::Unreachable { peer: to });
            }
            Output::Done { ticket, result } => {
                if let Some(then) = self.proposals.remove(&ticket) {
                    then(result, self.node.machine().ledger());
                }
            }
            Output::ReadReady { ticket, result } => {
                if let Some(then) = self.reads.remove(&ticket) {
                    then(result, self.node.machine().ledger());
                }
            }
            Output::Role(role) => {
                let leader = role.leader.map_or(0, |id| id.0);
                tracing::info!(term = role.term, leader, "leader");
            }
            Output::Broken(why) => {
                tracing::error!(why, "the replica is inconsistent");
                self.broken = true;
            }
            Output::Refused { from, error } => tracing::warn!(%from, %error, "message refused"),
        }
        None
    }

    /// I9: the leader moves the replicated clock past every expiry, so that all replicas erase. A
    /// node that cannot, because no quorum answers, ends itself instead.
    fn erase_what_expired(&mut self) -> Option<KmsError> {
        let now = self.platform.now();
        let expired = self
            .node
            .machine()
            .next_expiry()
            .filter(|expired| *expired <= now);
        let Some(expired) = expired else {
            self.overdue = 0;
            return None;
        };
        self.overdue = self.overdue.saturating_add(1);
        if self.overdue > ERASE_TICKS {
            let node = self.node.status().id;
            return Some(KmsError::ExpiredWithoutQuorum { node, expired });
        }
        // Once a second; one is enough, the others are for a change of leader.
        if self.node.status().is_leader && self.overdue % 10 == 1 {
            let mut id = [0u8; 16];
            self.platform.rng().fill_bytes(&mut id);
            let request_id = RequestId::from_bytes(id);
            if let Ok(data) = (Entry {
                request_id,
                now,
                event: Event::Tick {},
            })
            .to_bytes()
            {
                let ticket = self.ticket();
                self.step(Input::Propose { ticket, data });
            }
        }
        None
    }

    /// I9: an erased secret leaves the log too. Otherwise the log is cut when it grows long.
    fn bound_the_log(&mut self) {
        let erased = self.node.machine_mut().take_erased();
        let status = self.node.status();
        if erased || status.log_len > LOG_ENTRIES_MAX || status.log_bytes > LOG_BYTES_MAX {
            self.step(Input::Cut);
        }
    }

    fn ticket(&mut self) -> Ticket {
        self.next_ticket = self.next_ticket.saturating_add(1);
        Ticket(self.next_ticket)
    }
}

/// What the node knows about itself.
pub(super) fn standing_of(node: &Node<Machine>) -> Standing {
    let (status, ledger) = (node.status(), node.machine().ledger());
    Standing {
        node: status.id,
        leader: status.leader,
        term: status.term,
        applied: status.applied,
        clock: ledger.clock(),
        receipts: ledger.receipts(),
    }
}
