//! Sessions that other KMS nodes opened to us: the founder's invitation, a newcomer's questions, and
//! Raft messages.

use std::sync::Arc;

use prost::Message as _;
use siegel_ident::NodeId;
use siegel_link::SessionStream;
use siegel_session::Peer;
use siegel_wire::v1::peer_message::Body;
use siegel_wire::v1::{
    Credential, Found, FoundReply, GenesisReply, PeerMessage, RaftMessage, Removed,
};

use crate::KmsError;
use crate::directory::Contact;
use crate::founding::{self, FoundingError, Invited};
use crate::member::{Member, Process};
use crate::refusal::Refused;

/// What to do after a message.
enum Next {
    Go,
    Answer(Body),
    /// Answer, and end the session.
    Last(Body),
    End,
}

/// Talks to a node whose evidence was appraised. Being a KMS node of this configuration gives it
/// the right to invite and to ask; only the key of a member gives it a voice in Raft.
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
        let (body, last) = match Box::pin(react(process, &peer, message.body)).await {
            Next::Go => continue,
            Next::Answer(body) => (body, false),
            Next::Last(body) => (body, true),
            Next::End => return,
        };
        let reply = PeerMessage { body: Some(body) };
        if stream.send(&reply.encode_to_vec()).await.is_err() || last {
            return;
        }
    }
}

async fn react(process: &Arc<Process>, peer: &Peer, body: Option<Body>) -> Next {
    match body {
        Some(Body::Raft(message)) => match process.founded() {
            Some(member) => raft(member, peer, message),
            None => Next::Go,
        },
        Some(Body::Credential(credential)) => match process.founded() {
            Some(member) => vouch(member, peer, &credential),
            None => Next::Go,
        },
        Some(Body::Found(found)) => Next::Answer(Body::FoundReply(answer(process, peer, &found))),
        Some(Body::GenesisRequest(_)) => Next::Answer(match process.member() {
            Ok(member) => Body::GenesisReply(GenesisReply {
                genesis: member.cluster.genesis_bytes().to_vec(),
            }),
            Err(refused) => Body::Refusal(refused.into_wire()),
        }),
        Some(Body::Join(join)) => {
            Next::Answer(match admit(process, peer, NodeId(join.place)).await {
                Ok(welcome) => Body::Welcome(welcome),
                Err(refused) => {
                    let refusal = refused.into_wire();
                    tracing::info!(code = refusal.code, place = join.place, "not let in");
                    Body::Refusal(refusal)
                }
            })
        }
        _ => {
            tracing::warn!("peer session: unexpected message");
            Next::End
        }
    }
}

/// I10: the session's key decides who speaks.
fn raft(member: &Member, peer: &Peer, message: RaftMessage) -> Next {
    let same_cluster = peer.deployment() == Some(member.cluster.id());
    match member.directory.id_of(peer.signing_key()) {
        Some(from) if same_cluster => {
            member.replica.peer_message(from, message);
            Next::Go
        }
        // A member once: it slept while its place was given away. It is told, and heard no more.
        None if same_cluster && member.directory.is_gone(NodeId(message.from)) => {
            let member_id = message.from;
            tracing::info!(member_id, "a former member speaks");
            Next::Last(Body::Removed(Removed { member_id }))
        }
        // At birth: its session began before it was founded. It dials again.
        _ if peer.deployment().is_none() => {
            tracing::debug!("raft message on a session from before the founding");
            Next::End
        }
        _ => {
            tracing::warn!("raft message of a stranger");
            Next::End
        }
    }
}

/// A member that this replica may not know yet, since it is behind.
fn vouch(member: &Member, peer: &Peer, credential: &Credential) -> Next {
    let (id, place) = (NodeId(credential.member_id), NodeId(credential.place));
    let key = *peer.signing_key();
    let signed = member
        .cluster
        .admitted(id, place, &key, &credential.signature);
    if !signed || peer.deployment() != Some(member.cluster.id()) {
        tracing::warn!(%id, "a credential that is not of this cluster");
        return Next::End;
    }
    if member.directory.vouch(id, Contact { place, key }) {
        return Next::Go;
    }
    let member_id = id.0;
    tracing::info!(member_id, "a former member comes back");
    match member.directory.is_gone(id) {
        true => Next::Last(Body::Removed(Removed { member_id })),
        false => Next::End,
    }
}

async fn admit(
    process: &Process,
    peer: &Peer,
    place: NodeId,
) -> Result<siegel_wire::v1::Welcome, Refused> {
    process.member()?.admit(process, peer, place).await
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
    let start = &process.platform.start;
    if start.founder || start.join {
        return Err(FoundingError::NotInvited.into());
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
    process.founded_with(cluster, &members)
}
