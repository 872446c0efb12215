//! Raft messages between members: every member dials every other one, and sends only on the
//! sessions that it dialled. Lost messages are Raft's business; queues are short and never block. A
//! session that grows old is replaced before it ends, and no message is lost by that.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use prost::Message as _;
use siegel_ident::{ClusterId, NodeId};
use siegel_link::{Endpoint, LinkError, SessionStream, dial};
use siegel_session::{Expect, Setup};
use siegel_wire::v1::{Credential, PeerMessage, RaftMessage, peer_message};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::directory::Contact;
use crate::member::Process;

/// Messages that wait for one peer.
const QUEUE: usize = 256;
/// Between two attempts to dial.
const REDIAL: Duration = Duration::from_millis(300);
/// A peer that takes this long to take a message is dialled anew.
const STALL: Duration = Duration::from_secs(5);

/// One task per member that this one sends to. They end when this is dropped.
pub(crate) struct Links {
    process: Weak<Process>,
    own: NodeId,
    credential: Option<Credential>,
    open: BTreeMap<NodeId, Link>,
}

struct Link {
    contact: Contact,
    queue: mpsc::Sender<RaftMessage>,
    /// Holds one task; dropping it ends the task.
    _task: JoinSet<()>,
}

/// Why a session is not used any further.
enum Ended {
    /// Nothing more will come.
    Finished,
    /// It broke, or the peer ended it.
    Broken,
    /// It grew old. This message goes first on the next one.
    Old(Vec<u8>),
}

/// What one task knows.
struct Line {
    process: Weak<Process>,
    own: NodeId,
    peer: NodeId,
    contact: Contact,
    credential: Option<Credential>,
}

impl Links {
    /// None yet. A member that was not founded shows its `credential` on each session.
    pub(crate) fn new(process: &Arc<Process>, own: NodeId, credential: Option<Credential>) -> Self {
        Self {
            process: Arc::downgrade(process),
            own,
            credential,
            open: BTreeMap::new(),
        }
    }

    /// Opens what is missing and ends what is not in the list any more.
    pub(crate) fn follow(&mut self, contacts: &BTreeMap<NodeId, Contact>) {
        self.open
            .retain(|id, link| contacts.get(id) == Some(&link.contact));
        for (peer, contact) in contacts {
            if *peer != self.own && !self.open.contains_key(peer) {
                self.open.insert(*peer, self.open_link(*peer, *contact));
            }
        }
    }

    /// False if the message is dropped: nobody is known there, or too much waits.
    pub(crate) fn send(&self, to: NodeId, message: RaftMessage) -> bool {
        self.open
            .get(&to)
            .is_some_and(|link| link.queue.try_send(message).is_ok())
    }

    fn open_link(&self, peer: NodeId, contact: Contact) -> Link {
        let (queue, messages) = mpsc::channel(QUEUE);
        let line = Line {
            process: self.process.clone(),
            own: self.own,
            peer,
            contact,
            credential: self.credential.clone(),
        };
        let mut task = JoinSet::new();
        task.spawn(line.run(messages));
        Link {
            contact,
            queue,
            _task: task,
        }
    }
}

impl Line {
    async fn run(self, mut messages: mpsc::Receiver<RaftMessage>) {
        let peer = self.peer;
        let mut first = None;
        loop {
            let connected = match self.process.upgrade() {
                Some(process) => self.connect(&process).await,
                None => return,
            };
            match connected {
                Ok(stream) => {
                    tracing::info!(%peer, "connected");
                    match self.send_all(stream, first.take(), &mut messages).await {
                        Ended::Finished => return,
                        Ended::Broken => tracing::info!(%peer, "disconnected"),
                        Ended::Old(message) => {
                            first = Some(message);
                            continue;
                        }
                    }
                }
                Err(cause) => tracing::debug!(%peer, %cause, "cannot dial"),
            }
            tokio::time::sleep(REDIAL).await;
            // What waited meanwhile is stale.
            first = None;
            while messages.try_recv().is_ok() {}
        }
    }

    /// A session to this member and nobody else: another process in its place has another key (I10).
    async fn connect(&self, process: &Process) -> Result<SessionStream, String> {
        let mut stream = dial_node(process, self.contact.place)
            .await
            .map_err(|error| error.to_string())?;
        if *stream.peer().signing_key() != self.contact.key {
            return Err("the process there is not that member".into());
        }
        if let Some(credential) = &self.credential {
            let body = Some(peer_message::Body::Credential(credential.clone()));
            let bytes = PeerMessage { body }.encode_to_vec();
            stream
                .send(&bytes)
                .await
                .map_err(|error| error.to_string())?;
        }
        Ok(stream)
    }

    /// Sends `first` and what comes, until the session breaks or grows old.
    async fn send_all(
        &self,
        mut stream: SessionStream,
        mut first: Option<Vec<u8>>,
        messages: &mut mpsc::Receiver<RaftMessage>,
    ) -> Ended {
        // A session that is old when it is new is none: the clock runs, and there is no hurry.
        let mut used = false;
        loop {
            tokio::select! {
                bytes = next(&mut first, messages) => {
                    let Some(bytes) = bytes else {
                        return Ended::Finished;
                    };
                    if used && !stream.lasts(Duration::ZERO) {
                        let _ = tokio::time::timeout(STALL, stream.close()).await;
                        return Ended::Old(bytes);
                    }
                    used = true;
                    match tokio::time::timeout(STALL, stream.send(&bytes)).await {
                        Ok(Ok(())) => {}
                        _ => return Ended::Broken,
                    }
                }
                answer = stream.recv() => {
                    if let Ok(Some(bytes)) = answer {
                        self.answered(&bytes);
                    }
                    return Ended::Broken;
                }
            }
        }
    }

    /// A peer answers here for one reason only: this process is no member any more, by a log that the
    /// peer, a member, has applied. That never becomes untrue, so it may be acted on (I10).
    fn answered(&self, bytes: &[u8]) {
        let removed = match PeerMessage::decode(bytes).map(|message| message.body) {
            Ok(Some(peer_message::Body::Removed(removed))) => removed,
            _ => return,
        };
        if removed.member_id == self.own.0
            && let Some(process) = self.process.upgrade()
            && let Some(member) = process.founded()
        {
            member.replica.removed();
        }
    }
}

/// The message that waits longest.
async fn next(
    first: &mut Option<Vec<u8>>,
    messages: &mut mpsc::Receiver<RaftMessage>,
) -> Option<Vec<u8>> {
    if first.is_some() {
        return first.take();
    }
    let body = Some(peer_message::Body::Raft(messages.recv().await?));
    Some(PeerMessage { body }.encode_to_vec())
}

/// Dials a place as what this process is now; the evidence there is appraised on the way.
pub(crate) async fn dial_node(
    process: &Process,
    place: NodeId,
) -> Result<SessionStream, LinkError> {
    let cluster = process.founded().map(|member| member.cluster.id());
    dial_as(process, place, cluster).await
}

/// Dials the address that placement gives for a place. The own evidence binds `cluster`.
pub(crate) async fn dial_as(
    process: &Process,
    place: NodeId,
    cluster: Option<ClusterId>,
) -> Result<SessionStream, LinkError> {
    let mut all = process.platform.start.kms.iter();
    let placed = all.find(|placed| placed.node == place);
    let unknown = || LinkError::from(tonic::Status::not_found("placement has no such address"));
    let endpoint: Endpoint = placed
        .ok_or_else(unknown)?
        .address
        .parse()
        .map_err(|_| unknown())?;
    let channel = process.net.channel(&endpoint);
    let setup = Setup {
        deployment: cluster,
        ..process.setup(Expect::Kms)
    };
    dial(&process.platform, channel, setup).await
}
