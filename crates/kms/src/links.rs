//! Raft messages between members: every member dials every other one, and sends only on the
//! sessions that it dialled. Lost messages are Raft's business; queues are short and never block.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use prost::Message as _;
use siegel_ident::NodeId;
use siegel_link::{Endpoint, LinkError, SessionStream, dial};
use siegel_session::Expect;
use siegel_wire::v1::{PeerMessage, RaftMessage, peer_message};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::founding::Members;
use crate::member::Process;

/// Messages that wait for one peer.
const QUEUE: usize = 256;
/// Between two attempts to dial.
const REDIAL: Duration = Duration::from_millis(300);
/// A peer that takes this long to take a message is dialled anew.
const STALL: Duration = Duration::from_secs(5);

/// Starts a task per peer. They end when the set is dropped.
pub(crate) fn start(
    process: &Arc<Process>,
    members: &Members,
) -> (JoinSet<()>, BTreeMap<NodeId, mpsc::Sender<RaftMessage>>) {
    let (mut tasks, mut queues) = (JoinSet::new(), BTreeMap::new());
    for peer in members.ids().filter(|id| *id != process.node()) {
        let (queue, messages) = mpsc::channel(QUEUE);
        queues.insert(peer, queue);
        tasks.spawn(talk_to(Arc::downgrade(process), peer, messages));
    }
    (tasks, queues)
}

async fn talk_to(process: Weak<Process>, peer: NodeId, mut messages: mpsc::Receiver<RaftMessage>) {
    loop {
        let connected = match process.upgrade() {
            Some(process) => connect(&process, peer).await,
            None => return,
        };
        match connected {
            Ok(stream) => {
                tracing::info!(%peer, "connected");
                if send_all(stream, &mut messages).await.is_none() {
                    return;
                }
                tracing::info!(%peer, "disconnected");
            }
            Err(cause) => tracing::debug!(%peer, %cause, "cannot dial"),
        }
        tokio::time::sleep(REDIAL).await;
        // What waited meanwhile is stale.
        while messages.try_recv().is_ok() {}
    }
}

/// A session to this member and nobody else: a restarted process in its place is a stranger (I10).
async fn connect(process: &Process, peer: NodeId) -> Result<SessionStream, String> {
    let stream = dial_node(process, peer)
        .await
        .map_err(|error| error.to_string())?;
    let members = process.founded().map(|member| &member.members);
    match members.and_then(|members| members.key_of(peer)) {
        Some(key) if key == stream.peer().signing_key() => Ok(stream),
        _ => Err("the process there is not the member that was founded".into()),
    }
}

/// Dials the address that placement gives for a node; its evidence is appraised on the way.
pub(crate) async fn dial_node(process: &Process, node: NodeId) -> Result<SessionStream, LinkError> {
    let placed = process
        .platform
        .start
        .kms
        .iter()
        .find(|placed| placed.node == node);
    let unknown = || LinkError::from(tonic::Status::not_found("placement has no such address"));
    let endpoint: Endpoint = placed
        .ok_or_else(unknown)?
        .address
        .parse()
        .map_err(|_| unknown())?;
    let channel = process.net.channel(&endpoint);
    dial(&process.platform, channel, process.setup(Expect::Kms)).await
}

/// Sends until the session breaks; `None` when nothing more will come.
async fn send_all(
    mut stream: SessionStream,
    messages: &mut mpsc::Receiver<RaftMessage>,
) -> Option<()> {
    loop {
        tokio::select! {
            message = messages.recv() => {
                let body = Some(peer_message::Body::Raft(message?));
                let bytes = PeerMessage { body }.encode_to_vec();
                match tokio::time::timeout(STALL, stream.send(&bytes)).await {
                    Ok(Ok(())) => {}
                    _ => return Some(()),
                }
            }
            // The peer never answers here; whatever comes is the end.
            _ = stream.recv() => return Some(()),
        }
    }
}
