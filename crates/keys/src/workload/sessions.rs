//! Open sessions, a few per node.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use prost::Message as _;
use siegel_attest::ClusterConfig;
use siegel_ident::{ClusterId, NodeId};
use siegel_link::{LinkError, Net, SessionStream, dial};
use siegel_platform::Platform;
use siegel_session::{Expect, SessionError, Setup};
use siegel_wire::v1::{self, kms_response::Body};
use tonic::transport::Channel;

use crate::grant::bad;
use crate::{BootKeys, KeysError, KmsNode};

/// Idle sessions that are kept per node; concurrent requests may use more.
const KEPT: usize = 2;

pub(crate) struct Sessions {
    channels: BTreeMap<NodeId, Channel>,
    config: Arc<ClusterConfig>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    idle: BTreeMap<NodeId, Vec<SessionStream>>,
    cluster: Option<ClusterId>,
}

impl Sessions {
    pub(crate) fn new(net: &Net, nodes: &[KmsNode], config: ClusterConfig) -> Self {
        let channels = nodes
            .iter()
            .map(|n| (n.id, net.channel(&n.endpoint)))
            .collect();
        Self {
            channels,
            config: Arc::new(config),
            state: Mutex::default(),
        }
    }

    pub(crate) fn config(&self) -> &ClusterConfig {
        &self.config
    }

    pub(crate) fn cluster(&self) -> Option<ClusterId> {
        self.lock().cluster
    }

    /// One request to one node. The session is out of the table while it is used: if this future
    /// is dropped or fails, the session goes with it, and a late answer is never taken for the
    /// answer to another request.
    pub(crate) async fn call(
        &self,
        platform: &Platform,
        keys: &BootKeys,
        node: NodeId,
        request: &v1::KmsRequest,
        limit: Duration,
    ) -> Result<Body, KeysError> {
        let bytes = request.encode_to_vec();
        let mut kept = self.take(node, limit);
        let reply = loop {
            let (mut session, old) = match kept.take() {
                Some(session) => (session, true),
                None => (self.dial(platform, keys, node).await?, false),
            };
            match session.call(&bytes, limit).await {
                Ok(reply) => {
                    self.keep(node, session);
                    break reply;
                }
                // It ended meanwhile. The same request, under its id, on a fresh one. A session that the
                // node ended first looks like a node that died: that is the caller's business.
                Err(LinkError::Session(SessionError::Expired { .. })) if old => {}
                Err(error) => return Err(error.into()),
            }
        };
        let reply = v1::KmsResponse::decode(reply.as_slice()).map_err(|_| bad("reply"))?;
        match reply.body {
            Some(Body::Refusal(refusal)) => Err(LinkError::Refused(Box::new(refusal)).into()),
            Some(body) => Ok(body),
            None => Err(bad("reply")),
        }
    }

    async fn dial(
        &self,
        platform: &Platform,
        keys: &BootKeys,
        node: NodeId,
    ) -> Result<SessionStream, KeysError> {
        let channel = self.channels.get(&node).ok_or(KeysError::Nodes)?;
        let setup = Setup {
            identity: keys.identity().clone(),
            deployment: self.cluster(),
            purpose: None,
            expect: Expect::Kms(self.config.clone()),
        };
        let session = dial(platform, channel.clone(), setup).await?;
        // The node's own word, which its evidence binds. The first one is kept: keys of two
        // clusters never mix in one process.
        let found = session.peer().deployment().ok_or(KeysError::NoCluster)?;
        let expected = *self.lock().cluster.get_or_insert(found);
        if expected != found {
            return Err(LinkError::from(SessionError::Cluster { found, expected }).into());
        }
        tracing::info!(%node, cluster = %found, "session to the key service");
        Ok(session)
    }

    /// An idle session that lives as long as the request may take. Older ones are let go.
    fn take(&self, node: NodeId, limit: Duration) -> Option<SessionStream> {
        let mut state = self.lock();
        let idle = state.idle.get_mut(&node)?;
        idle.retain(|session| session.lasts(limit));
        idle.pop()
    }

    fn keep(&self, node: NodeId, session: SessionStream) {
        let mut state = self.lock();
        let idle = state.idle.entry(node).or_default();
        if idle.len() < KEPT {
            idle.push(session);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
