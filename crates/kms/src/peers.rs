//! Sessions that other KMS nodes opened to us: the founder's invitation, and Raft messages.

use std::sync::Arc;

use prost::Message as _;
use siegel_link::SessionStream;
use siegel_session::Peer;
use siegel_wire::v1::{Found, FoundReply, PeerMessage, peer_message};

use crate::founding::{FoundingError, Invited};
use crate::member::Process;
use crate::{KmsError, founding};

/// Talks to a node whose evidence was appraised. Being a KMS node of this configuration gives it
/// the right to invite; only the session key that was founded gives it a voice in Raft.
pub(crate) async fn serve(process: &Arc<Process>, mut stream: SessionStream) {
    let peer = stream.peer().clone();
    loop {
        let bytes = match stream.recv().await {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return,
            Err(error) => return tracing::debug!(%error, "peer session ended"),
        };
        // prost decodes our own types; raft-rs sees them only after the checks of `node::convert`.
        let Ok(message) = PeerMessage::decode(bytes.as_slice()) else {
            return tracing::warn!("peer session: not a peer message");
        };
        match message.body {
            Some(peer_message::Body::Raft(message)) => {
                let Some(member) = process.founded() else {
                    continue;
                };
                let same_cluster = peer.deployment() == Some(member.cluster.id());
                match member.members.id_of(peer.signing_key()) {
                    Some(from) if same_cluster => member.replica.peer_message(from, message),
                    _ => return tracing::warn!("raft message of a stranger"),
                }
            }
            Some(peer_message::Body::Found(found)) => {
                let reply = PeerMessage {
                    body: Some(peer_message::Body::FoundReply(answer(
                        process, &peer, &found,
                    ))),
                };
                if stream.send(&reply.encode_to_vec()).await.is_err() {
                    return;
                }
            }
            _ => return tracing::warn!("peer session: unexpected message"),
        }
    }
}

fn answer(process: &Arc<Process>, peer: &Peer, found: &Found) -> FoundReply {
    match accept(process, peer, found) {
        Ok(()) => FoundReply {
            accepted: true,
            code: String::new(),
        },
        Err(error) => {
            tracing::error!(%error, "founding refused");
            FoundReply {
                accepted: false,
                code: error.to_string(),
            }
        }
    }
}

fn accept(process: &Arc<Process>, peer: &Peer, found: &Found) -> Result<(), KmsError> {
    if let Some(member) = process.founded() {
        return Err(FoundingError::Founded(member.cluster.id()).into());
    }
    if process.platform.start.founder {
        return Err(FoundingError::Founder.into());
    }
    if peer.appraisal().is_none() {
        return Err(FoundingError::NotAppraised.into());
    }
    let invited = founding::Invited {
        config: &process.config,
        node: process.node(),
        signing_key: process.identity.signing_key(),
        kem: &process.kem,
        founder: peer.signing_key(),
    };
    let (cluster, members) = Invited::accept(&invited, found)?;
    process.join(cluster, members)
}
