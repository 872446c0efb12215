//! The life of a KMS process: listen; found, be founded or join; serve.

use std::sync::Arc;
use std::time::Duration;

use prost::Message as _;
use siegel_attest::{ClusterConfig, Role};
use siegel_ident::NodeId;
use siegel_link::{Acceptor, Endpoint, LinkService, Net, Refusal, SessionStream, server};
use siegel_platform::Platform;
use siegel_seal::KemPublic;
use siegel_session::{Expect, Purpose, Setup};
use siegel_wire::v1::kms_server::KmsServer;
use siegel_wire::v1::{PeerMessage, peer_message};
use tokio::time::Instant;

use crate::KmsError;
use crate::courier::Courier;
use crate::founding::{Birth, FoundingError, Members};
use crate::links::dial_node;
use crate::member::Process;
use crate::{joining, peers, workload};

/// How long the founder waits for its peers to come up.
const PEERS_UP: Duration = Duration::from_secs(60);
const REDIAL: Duration = Duration::from_millis(100);
const FOUND_TIMEOUT: Duration = Duration::from_secs(20);
/// Bytes of one request of the courier: a policy with its proof is the longest.
const REQUEST_MAX: usize = 1024 * 1024;

/// Runs one KMS node until it must end. `platform.start` says its number, whether it founds, where
/// it listens and where the others are; only `platform.start.config` decides trust.
///
/// # Errors
/// Always ends with a [`KmsError`], unless it is dropped: a member has no reason to stop.
pub async fn serve(platform: Platform, net: Net) -> Result<(), KmsError> {
    let config = ClusterConfig::parse(&platform.start.config)?;
    config.check_build()?;
    let listen = check_placement(&platform, &config)?;
    let (process, life) = Process::new(platform.clone(), net.clone(), config)?;
    let endpoint_error = |cause: String| KmsError::Endpoint {
        endpoint: platform.start.listen.clone(),
        cause,
    };
    let (endpoint, incoming) = net
        .listen(&listen)
        .await
        .map_err(|error| endpoint_error(error.to_string()))?;
    let sessions = LinkService::server(platform.clone(), Arc::new(Sessions(process.clone())));
    let courier = KmsServer::new(Courier(process.clone())).max_decoding_message_size(REQUEST_MAX);
    let serving = Box::pin(
        server()
            .add_service(sessions)
            .add_service(courier)
            .serve_with_incoming(incoming),
    );
    platform.ready(endpoint);
    let living = async {
        if process.platform.start.founder {
            found(&process).await?;
        } else if process.platform.start.join {
            joining::join(&process).await?;
        }
        let gone = KmsError::ReplicaStopped(process.node());
        Err(match life.await {
            Ok(life) => life.await,
            Err(_) => gone,
        })
    };
    tokio::select! {
        ended = serving => Err(endpoint_error(match ended {
            Ok(()) => "closed".into(),
            Err(error) => error.to_string(),
        })),
        ended = Box::pin(living) => ended,
    }
}

fn check_placement(platform: &Platform, config: &ClusterConfig) -> Result<Endpoint, KmsError> {
    let start = &platform.start;
    let refuse = |why: String| Err(KmsError::Placement(why));
    if !start.kms.iter().any(|placed| placed.node == start.node) {
        return refuse(format!(
            "node {} is not in the list of KMS nodes",
            start.node
        ));
    }
    if start.kms.len() < config.min_voters as usize {
        let (found, least) = (start.kms.len(), config.min_voters);
        return refuse(format!(
            "{found} nodes, the configuration asks for at least {least}"
        ));
    }
    if start.founder && start.join {
        return refuse("a node either founds a cluster or joins one".into());
    }
    for placed in &start.kms {
        if let Err(error) = placed.address.parse::<Endpoint>() {
            return refuse(format!("node {}: {error}", placed.node));
        }
    }
    start
        .listen
        .parse()
        .map_err(|error| KmsError::Placement(format!("listen: {error}")))
}

/// The founder: appraises every peer, then makes the cluster and invites them. The secrets of the
/// cluster are born only now, in front of appraised peers (I3).
async fn found(process: &Arc<Process>) -> Result<(), KmsError> {
    let others = process.platform.start.kms.iter().map(|placed| placed.node);
    let mut invited = Vec::new();
    for node in others.filter(|node| *node != process.node()) {
        invited.push((node, reach(process, node).await?));
    }
    let own = (process.node(), *process.identity.signing_key());
    let keys = invited
        .iter()
        .map(|(node, stream)| (*node, *stream.peer().signing_key()));
    let members = Members::new(keys.chain([own]), &process.config)?;
    let birth = Birth::new(&process.config, members, &mut process.platform.rng())?;
    for (node, stream) in invited {
        invite(process, &birth, node, stream).await?;
    }
    let (cluster, members) = birth.into_parts()?;
    process.founded_with(cluster, &members)?;
    if let Some(member) = process.founded() {
        member.replica.campaign();
    }
    Ok(())
}

/// Dials until the peer is up.
async fn reach(process: &Process, node: NodeId) -> Result<SessionStream, FoundingError> {
    let begun = Instant::now();
    loop {
        match dial_node(process, node).await {
            Ok(stream) if stream.peer().appraisal().is_some() => return Ok(stream),
            Ok(_) => return Err(FoundingError::NotAppraised),
            Err(error) if error.is_transient() && begun.elapsed() < PEERS_UP => {
                tokio::time::sleep(REDIAL).await;
            }
            Err(error) => {
                return Err(FoundingError::Peer {
                    node,
                    cause: error.to_string(),
                });
            }
        }
    }
}

async fn invite(
    process: &Process,
    birth: &Birth,
    node: NodeId,
    mut stream: SessionStream,
) -> Result<(), FoundingError> {
    let failed = |cause: String| FoundingError::Peer { node, cause };
    let peer = stream.peer().clone();
    let kem = KemPublic::parse(peer.kem_key())?;
    let founder = process.identity.signing_key();
    let found = birth.found(
        peer.signing_key(),
        &kem,
        founder,
        &mut process.platform.rng(),
    )?;
    let message = PeerMessage {
        body: Some(peer_message::Body::Found(found)),
    };
    let reply = stream
        .call(&message.encode_to_vec(), FOUND_TIMEOUT)
        .await
        .map_err(|error| failed(error.to_string()))?;
    match PeerMessage::decode(reply.as_slice()).map(|message| message.body) {
        Ok(Some(peer_message::Body::FoundReply(reply))) if reply.accepted => {}
        Ok(Some(peer_message::Body::FoundReply(reply))) => return Err(failed(reply.code)),
        _ => return Err(failed("unexpected answer".into())),
    }
    let _ = stream.close().await;
    Ok(())
}

/// Sessions that others open.
struct Sessions(Arc<Process>);

impl Acceptor for Sessions {
    async fn setup(&self, _: Option<Purpose>) -> Result<Setup, Refusal> {
        Ok(self.0.setup(Expect::KmsOrWorkload))
    }

    async fn serve(&self, stream: SessionStream) {
        match stream.peer().role() {
            Role::KmsPeer => peers::serve(&self.0, stream).await,
            Role::Root | Role::Worker => workload::serve(&self.0, stream).await,
            // Never on a session.
            Role::KmsBundle => {}
        }
    }
}
