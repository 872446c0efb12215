//! A fresh process takes the place of a dead member: it looks for the cluster, asks its leader, and is
//! welcomed with the cluster's secrets once the log has given it an id (I10).

mod error;

use std::sync::Arc;
use std::time::Duration;

use prost::Message as _;
use siegel_ident::{ClusterId, NodeId};
use siegel_link::{LinkError, SessionStream};
use siegel_session::SessionError;
use siegel_wire::v1::{self, PeerMessage, peer_message};
use tokio::time::Instant;

use crate::KmsError;
use crate::links::dial_as;
use crate::member::Process;
use crate::welcome::{Newcomer, check_genesis};

pub(crate) use error::JoinError;

/// How long a process asks before it gives up: until then the dead member is known to be dead, and
/// the others have a leader.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(300);
/// One peer, dialling included.
const ATTEMPT: Duration = Duration::from_secs(10);

/// Becomes a member, or says why not.
pub(crate) async fn join(process: &Arc<Process>) -> Result<(), KmsError> {
    let search = Search {
        begun: Instant::now(),
        last: "nobody was asked".to_owned(),
    };
    Box::pin(search.run(process)).await
}

struct Search {
    begun: Instant,
    last: String,
}

/// What came of asking one node to be let in.
enum Answer {
    Welcome(Box<v1::Welcome>, [u8; 32]),
    /// Ask there; 0 if it does not know.
    Elsewhere(NodeId),
    Later(String),
}

impl Search {
    async fn run(mut self, process: &Arc<Process>) -> Result<(), KmsError> {
        let cluster = self.find(process).await?;
        tracing::info!(%cluster, place = %process.node(), "joining");
        let others = others(process);
        let mut turn = others.iter().cycle();
        let mut next = None;
        loop {
            let Some(node) = next.take().or_else(|| turn.next().copied()) else {
                return Err(self.give_up());
            };
            match ask(process, node, cluster).await? {
                Answer::Welcome(welcome, leader) => {
                    return accept(process, cluster, &welcome, &leader);
                }
                Answer::Elsewhere(place) => {
                    self.last = format!("node {node} does not lead");
                    next = others.iter().find(|other| **other == place).copied();
                }
                Answer::Later(why) => {
                    tracing::debug!(%node, why, "not let in yet");
                    self.last = format!("node {node}: {why}");
                }
            }
            self.wait().await?;
        }
    }

    /// The one cluster that all nodes in reach belong to.
    async fn find(&mut self, process: &Arc<Process>) -> Result<ClusterId, KmsError> {
        loop {
            let mut found: Option<ClusterId> = None;
            for node in others(process) {
                match genesis_of(process, node).await {
                    Ok(Some(cluster)) => match found {
                        Some(expected) if expected != cluster => {
                            let found = cluster;
                            return Err(JoinError::OtherCluster { found, expected }.into());
                        }
                        _ => found = Some(cluster),
                    },
                    Ok(None) => self.last = format!("node {node} belongs to no cluster yet"),
                    Err(Missed::Away(why)) => self.last = format!("node {node}: {why}"),
                    Err(Missed::Wrong(error)) => return Err(error.into()),
                }
            }
            if let Some(cluster) = found {
                return Ok(cluster);
            }
            self.wait().await?;
        }
    }

    async fn wait(&mut self) -> Result<(), KmsError> {
        if self.begun.elapsed() >= PATIENCE {
            return Err(self.give_up());
        }
        tokio::time::sleep(PAUSE).await;
        Ok(())
    }

    fn give_up(&mut self) -> KmsError {
        let last = std::mem::take(&mut self.last);
        let waited = self.begun.elapsed();
        JoinError::NoAnswer { waited, last }.into()
    }
}

fn others(process: &Process) -> Vec<NodeId> {
    let all = process.platform.start.kms.iter().map(|placed| placed.node);
    all.filter(|node| *node != process.node()).collect()
}

enum Missed {
    /// Not there, not trusted, or not answering: another one may help.
    Away(String),
    /// Nobody may help.
    Wrong(JoinError),
}

/// The cluster of a node, by its evidence and its genesis; `None` if it has none yet.
async fn genesis_of(process: &Process, node: NodeId) -> Result<Option<ClusterId>, Missed> {
    let away = |error: LinkError| Missed::Away(error.to_string());
    let attempt = async {
        let mut stream = dial_as(process, node, None).await.map_err(away)?;
        let Some(cluster) = stream.peer().deployment() else {
            return Ok(None);
        };
        let body = peer_message::Body::GenesisRequest(v1::GenesisRequest {});
        let genesis = match call(&mut stream, body).await.map_err(away)? {
            Some(peer_message::Body::GenesisReply(reply)) => reply.genesis,
            _ => return Err(Missed::Away("unexpected answer".into())),
        };
        check_genesis(&genesis, &process.config, cluster).map_err(Missed::Wrong)?;
        let _ = stream.close().await;
        Ok(Some(cluster))
    };
    let late = || Missed::Away("it does not answer".into());
    match tokio::time::timeout(ATTEMPT, Box::pin(attempt)).await {
        Ok(result) => result,
        Err(_) => Err(late()),
    }
}

/// Asks one node to be let in, on a session on which the own evidence binds the cluster.
async fn ask(process: &Process, node: NodeId, cluster: ClusterId) -> Result<Answer, KmsError> {
    let attempt = async {
        let mut stream = dial_as(process, node, Some(cluster)).await?;
        let place = process.node().0;
        let reply = call(&mut stream, peer_message::Body::Join(v1::Join { place })).await?;
        Ok::<_, LinkError>((reply, *stream.peer().signing_key()))
    };
    let (reply, leader) = match tokio::time::timeout(ATTEMPT, Box::pin(attempt)).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(LinkError::Session(SessionError::Cluster { found, expected }))) => {
            return Err(JoinError::OtherCluster { found, expected }.into());
        }
        Ok(Err(error)) => return Ok(Answer::Later(error.to_string())),
        Err(_) => return Ok(Answer::Later("it does not answer".into())),
    };
    match reply {
        Some(peer_message::Body::Welcome(welcome)) => {
            Ok(Answer::Welcome(Box::new(welcome), leader))
        }
        Some(peer_message::Body::Refusal(refusal)) => refused(refusal),
        _ => Ok(Answer::Later("unexpected answer".into())),
    }
}

fn refused(refusal: v1::Refusal) -> Result<Answer, KmsError> {
    match refusal.code.as_str() {
        "not-leader" => Ok(Answer::Elsewhere(NodeId(refusal.leader_id))),
        // What no waiting changes.
        "peer-not-allowed" | "unknown-place" | "bad-kem-key" | "not-appraised" => {
            let (code, message) = (refusal.code, refusal.message);
            Err(JoinError::Refused { code, message }.into())
        }
        code => Ok(Answer::Later(format!("{code}: {}", refusal.message))),
    }
}

async fn call(
    stream: &mut SessionStream,
    body: peer_message::Body,
) -> Result<Option<peer_message::Body>, LinkError> {
    let message = PeerMessage { body: Some(body) };
    let reply = stream.call(&message.encode_to_vec(), ATTEMPT).await?;
    Ok(PeerMessage::decode(reply.as_slice())
        .ok()
        .and_then(|message| message.body))
}

fn accept(
    process: &Arc<Process>,
    cluster: ClusterId,
    welcome: &v1::Welcome,
    leader: &[u8; 32],
) -> Result<(), KmsError> {
    let newcomer = Newcomer {
        config: &process.config,
        place: process.node(),
        signing_key: process.identity.signing_key(),
        kem: &process.kem,
        cluster,
        leader,
    };
    let admitted = newcomer.accept(welcome)?;
    process.admitted(admitted)
}
