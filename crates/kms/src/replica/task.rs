//! The task around a [`Node`]: it owns the replica, ticks it, and moves its messages. Nothing in it
//! waits for the network; every queue is bounded.

use std::collections::BTreeMap;
use std::sync::Arc;

use rand_core::Rng as _;
use siegel_ident::RequestId;
use siegel_ledger::{Entry, Event, Outcome};
use siegel_platform::Platform;
use tokio::sync::{mpsc, watch};
use tokio::time::MissedTickBehavior;

use super::{Command, Standing, TICK, Then};
use crate::KmsError;
use crate::directory::Directory;
use crate::links::Links;
use crate::machine::Machine;
use crate::node::{Input, MessageError, Node, NodeError, Output, Seat, Ticket};

/// Ticks after which a process ends, and its expired secrets with it, if no quorum erases them: 20
/// seconds of being awake. A process that was paused first has time to find its peers again.
const ERASE_TICKS: u32 = 200;
/// Ticks without a word from any member after which a process without a vote gives up.
const ALONE_TICKS: u64 = 300;
/// The log is cut when it holds more entries than this,
const LOG_ENTRIES_MAX: usize = 4096;
/// or more bytes.
const LOG_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Owns the node.
pub(super) struct Task {
    platform: Platform,
    node: Node<Machine>,
    directory: Arc<Directory>,
    links: Links,
    seen: watch::Sender<Standing>,
    proposals: BTreeMap<Ticket, Then<Option<Outcome>>>,
    reads: BTreeMap<Ticket, Then<()>>,
    next_ticket: u64,
    /// For how many ticks something has been expired and not erased.
    overdue: u32,
    /// Ticks so far.
    ticks: u64,
    /// The replica found itself inconsistent.
    broken: bool,
    /// Another process has its place.
    removed: bool,
}

impl Task {
    pub(super) fn new(
        platform: Platform,
        node: Node<Machine>,
        directory: Arc<Directory>,
        links: Links,
        seen: watch::Sender<Standing>,
    ) -> Self {
        Self {
            platform,
            node,
            directory,
            links,
            seen,
            proposals: BTreeMap::new(),
            reads: BTreeMap::new(),
            next_ticket: 0,
            overdue: 0,
            ticks: 0,
            broken: false,
            removed: false,
        }
    }

    pub(super) async fn run(mut self, mut inbox: mpsc::Receiver<Command>) -> KmsError {
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = ticks.tick() => {
                    self.step(Input::Tick);
                    self.ticks = self.ticks.saturating_add(1);
                    self.withdraw_a_stale_admission();
                    if let Some(error) = self.erase_what_expired().or_else(|| self.left_behind()) {
                        return error;
                    }
                }
                command = inbox.recv() => match command {
                    Some(command) => self.command(command),
                    None => return KmsError::ReplicaStopped(self.node.status().id),
                },
            }
            if self.removed {
                return self.gone();
            }
            if self.broken {
                return KmsError::ReplicaStopped(self.node.status().id);
            }
            self.bound_the_log();
            self.directory
                .refresh(self.node.machine().ledger().members());
            self.links.follow(&self.directory.contacts());
            let now = standing_of(&self.node, &self.directory);
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
            Command::Vacancy { place, key, reply } => {
                let vacancy = self.node.vacancy(place, &key);
                let _ = reply.send(vacancy.map_err(|error| self.in_places(error).into()));
            }
            Command::Campaign => self.step(Input::Campaign),
            Command::Removed => self.removed = true,
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
                let sent = self.links.send(to, message);
                return (!sent).then_some(Input::Unreachable { peer: to });
            }
            Output::Done { ticket, result } => {
                if let Some(then) = self.proposals.remove(&ticket) {
                    let result = result.map_err(|error| self.in_places(error));
                    then(result, self.node.machine().ledger());
                }
            }
            Output::ReadReady { ticket, result } => {
                if let Some(then) = self.reads.remove(&ticket) {
                    let result = result.map_err(|error| self.in_places(error));
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
            Output::Removed => self.removed = true,
            // Its session is told; this is what was still under way.
            Output::Refused {
                from,
                error: error @ MessageError::NotMember(_),
            } => tracing::debug!(%from, %error, "message refused"),
            Output::Refused { from, error } => tracing::warn!(%from, %error, "message refused"),
        }
        None
    }

    /// Ids are the cluster's own; who is told about another node can only dial its place.
    fn in_places(&self, error: NodeError) -> NodeError {
        match error {
            NodeError::NotLeader { leader } => NodeError::NotLeader {
                leader: leader.and_then(|id| self.directory.place_of(id)),
            },
            other => other,
        }
    }

    /// The end of a process whose place was given to another one.
    fn gone(&self) -> KmsError {
        KmsError::Removed {
            member: self.node.status().id,
            place: self.platform.start.node,
        }
    }

    /// A process that was admitted and then forgotten ends, so that another one may be started.
    fn left_behind(&self) -> Option<KmsError> {
        let status = self.node.status();
        let alone = status.seat != Seat::Voter && self.node.silence() > ALONE_TICKS;
        let seconds = ALONE_TICKS / 10;
        let member = status.id;
        alone.then_some(KmsError::LeftBehind { member, seconds })
    }

    /// The leader ends an admission that leads nowhere, so that another process may come.
    fn withdraw_a_stale_admission(&mut self) {
        // Once a second; one is enough.
        if self.ticks.is_multiple_of(10)
            && let Some(member) = self.node.stale_admission()
        {
            tracing::warn!(%member, "an admission leads nowhere and is withdrawn");
            self.propose_own(Event::Withdraw { member });
        }
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
            self.propose_own(Event::Tick {});
        }
        None
    }

    /// Nobody waits for the answer.
    fn propose_own(&mut self, event: Event) {
        let mut id = [0u8; 16];
        self.platform.rng().fill_bytes(&mut id);
        let entry = Entry {
            request_id: RequestId::from_bytes(id),
            now: self.platform.now(),
            event,
        };
        if let Ok(data) = entry.to_bytes() {
            let ticket = self.ticket();
            self.step(Input::Propose { ticket, data });
        }
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
pub(super) fn standing_of(node: &Node<Machine>, directory: &Directory) -> Standing {
    let (status, ledger) = (node.status(), node.machine().ledger());
    Standing {
        member: status.id,
        seat: status.seat,
        leader: status.leader,
        leader_place: status.leader.and_then(|id| directory.place_of(id)),
        term: status.term,
        applied: status.applied,
        clock: ledger.clock(),
        receipts: ledger.receipts(),
    }
}
