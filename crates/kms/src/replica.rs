//! A handle to this process's replica: requests go in, answers come when they are applied.

mod task;

use std::sync::Arc;
use std::time::Duration;

use rand_core::Rng as _;
use siegel_ident::{NodeId, RequestId, Timestamp};
use siegel_ledger::{Entry, Event, Ledger, Outcome};
use siegel_platform::Platform;
use siegel_wire::v1::RaftMessage;
use tokio::sync::{mpsc, oneshot, watch};

use crate::KmsError;
use crate::directory::Directory;
use crate::links::Links;
use crate::machine::Machine;
use crate::node::{Node, NodeConfig, NodeError, Seat, Vacancy};
use crate::refusal::Refused;
use task::{Task, standing_of};

/// Length of a Raft tick: elections take one to two seconds, heartbeats go out every 200 ms.
const TICK: Duration = Duration::from_millis(100);
/// Ticks until an unanswered proposal is unknown: four seconds.
const DEADLINE_TICKS: u64 = 40;
/// How long a request waits for an election.
const LEADER_WAIT: Duration = Duration::from_secs(4);
const QUEUE: usize = 1024;

/// What a requester waits with: called once, right after the apply, with the ledger as it is then.
type Then<I> = Box<dyn FnOnce(Result<I, NodeError>, &Ledger) + Send>;

enum Command {
    Propose {
        data: Vec<u8>,
        then: Then<Option<Outcome>>,
    },
    Read {
        then: Then<()>,
    },
    Peer {
        from: NodeId,
        message: Box<RaftMessage>,
    },
    Vacancy {
        place: NodeId,
        key: [u8; 32],
        reply: oneshot::Sender<Result<Vacancy, Refused>>,
    },
    Campaign,
    /// A member says that this process is none any more.
    Removed,
}

/// What a replica starts with.
pub(crate) struct Start {
    pub(crate) id: NodeId,
    /// The founders; none for a process that joins.
    pub(crate) voters: Vec<NodeId>,
    pub(crate) machine: Machine,
}

/// Where the replica and its ledger stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Standing {
    /// Its id in Raft.
    pub(crate) member: NodeId,
    pub(crate) seat: Seat,
    /// Id of the leader, and its place if it is known.
    pub(crate) leader: Option<NodeId>,
    pub(crate) leader_place: Option<NodeId>,
    pub(crate) term: u64,
    pub(crate) applied: u64,
    pub(crate) clock: Timestamp,
    pub(crate) receipts: u64,
}

/// A handle to the replica of this process.
#[derive(Clone)]
pub(crate) struct Replica {
    commands: mpsc::Sender<Command>,
    standing: watch::Receiver<Standing>,
}

impl Replica {
    /// Puts an event into the log. Once it is applied, `view` takes what the answer needs out of
    /// the ledger: the quorum has just agreed, so what it sees may be acted on (I9).
    pub(crate) async fn propose<T: Send + 'static>(
        &self,
        request_id: RequestId,
        now: Timestamp,
        event: Event,
        view: impl FnOnce(&Ledger, Outcome) -> Result<T, Refused> + Send + 'static,
    ) -> Result<T, Refused> {
        let data = Entry {
            request_id,
            now,
            event,
        }
        .to_bytes()
        .map_err(|error| Refused::new("too-large", "I14", "request", error))?;
        self.wait_for_leader().await?;
        let (reply, answer) = oneshot::channel();
        let then: Then<Option<Outcome>> = Box::new(move |result, ledger| {
            let seen = match result {
                Ok(Some(outcome)) => view(ledger, outcome),
                Ok(None) => Err(Refused::internal("replica", "own entry does not parse")),
                Err(error) => Err(error.into()),
            };
            let _ = reply.send(seen);
        });
        self.ask(Command::Propose { data, then }, answer).await
    }

    /// Reads the ledger after a quorum has confirmed that this node still leads.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        view: impl FnOnce(&Ledger) -> Result<T, Refused> + Send + 'static,
    ) -> Result<T, Refused> {
        self.wait_for_leader().await?;
        let (reply, answer) = oneshot::channel();
        let then: Then<()> = Box::new(move |result, ledger| {
            let _ = reply.send(result.map_err(Refused::from).and_then(|()| view(ledger)));
        });
        self.ask(Command::Read { then }, answer).await
    }

    /// Hands over a peer's message; drops it when the queue is full, as a network may.
    pub(crate) fn peer_message(&self, from: NodeId, message: RaftMessage) {
        let _ = self.commands.try_send(Command::Peer {
            from,
            message: Box::new(message),
        });
    }

    /// Whom a process with this key would replace at a place, if this node leads.
    pub(crate) async fn vacancy(&self, place: NodeId, key: [u8; 32]) -> Result<Vacancy, Refused> {
        self.wait_for_leader().await?;
        let (reply, answer) = oneshot::channel();
        self.ask(Command::Vacancy { place, key, reply }, answer)
            .await
    }

    /// Ends this replica: another process has its place.
    pub(crate) fn removed(&self) {
        let _ = self.commands.try_send(Command::Removed);
    }

    /// Stands for election at once: the founder, so that birth does not wait for a timeout.
    pub(crate) fn campaign(&self) {
        let _ = self.commands.try_send(Command::Campaign);
    }

    /// Local, without a quorum: for showing only.
    pub(crate) fn standing(&self) -> Standing {
        *self.standing.borrow()
    }

    async fn ask<T>(
        &self,
        command: Command,
        answer: oneshot::Receiver<Result<T, Refused>>,
    ) -> Result<T, Refused> {
        match self.commands.try_send(command) {
            Ok(()) => {}
            Err(mpsc::error::TrySendError::Full(_)) => return Err(NodeError::Busy.into()),
            Err(mpsc::error::TrySendError::Closed(_)) => {
                return Err(Refused::no_quorum("the replica of this node has stopped"));
            }
        }
        answer
            .await
            .unwrap_or_else(|_| Err(Refused::no_quorum("the replica of this node has stopped")))
    }

    /// During an election nobody leads; a request waits a little, then hears that there is no quorum.
    async fn wait_for_leader(&self) -> Result<(), Refused> {
        let mut standing = self.standing.clone();
        let known = standing.wait_for(|now| now.leader.is_some());
        match tokio::time::timeout(LEADER_WAIT, known).await {
            Ok(Ok(now)) if now.leader == Some(now.member) => Ok(()),
            Ok(Ok(now)) => Err(Refused::not_leader(now.leader_place)),
            _ => Err(Refused::no_quorum(
                "no leader: too few nodes of the cluster answer; nothing was done",
            )),
        }
    }
}

/// Starts the replica. The returned future runs it, with its links, and ends only when it must.
pub(crate) fn start(
    platform: Platform,
    start: Start,
    directory: Arc<Directory>,
    links: Links,
) -> Result<(Replica, impl Future<Output = KmsError> + Send), KmsError> {
    let config = NodeConfig {
        id: start.id,
        voters: start.voters,
        election_seed: platform.rng().next_u64(),
        deadline_ticks: DEADLINE_TICKS,
    };
    let node = match config.voters.is_empty() {
        true => Node::join(&config, start.machine)?,
        false => Node::bootstrap(&config, start.machine)?,
    };
    let (commands, inbox) = mpsc::channel(QUEUE);
    let (seen, standing) = watch::channel(standing_of(&node, &directory));
    let task = Task::new(platform, node, directory, links, seen);
    Ok((Replica { commands, standing }, task.run(inbox)))
}
