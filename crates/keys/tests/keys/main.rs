//! The client against nodes that answer as they are told.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod courier;
mod grants;
mod root_grants;
mod workload;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use siegel_attest::{Role, worker_config};
use siegel_ident::NodeId;
use siegel_keys::fake::{FakeNode, NodeScript, World, measured};
use siegel_keys::{BootKeys, KmsNode, Patience, WorkloadKms};
use siegel_link::{Endpoint, Refusal, refusal};
use siegel_platform::StartInfo;
use siegel_session::Peer;
use siegel_wire::v1::{self, kms_response::Body};

/// A node that does not lead, and names `leader` (0 = knows nobody).
fn not_leader(leader: u64) -> Refusal {
    Refusal {
        leader_id: leader,
        ..refusal("not-leader", "", "node", "ask the leader")
    }
}

/// What each node does; and which requests each has seen.
#[derive(Default)]
struct Script {
    nodes: Mutex<BTreeMap<u64, Does>>,
    seen: Mutex<Vec<(u64, Vec<u8>)>>,
    policies: Mutex<Vec<v1::RegisterPolicyRequest>>,
}

#[derive(Clone)]
enum Does {
    Lead,
    Refuse(Refusal),
    /// Takes the request and drops the session without an answer.
    Hang,
}

impl Script {
    fn new(nodes: &[(u64, Does)]) -> Arc<Self> {
        let nodes = Mutex::new(nodes.iter().cloned().collect());
        Arc::new(Self {
            nodes,
            ..Self::default()
        })
    }

    fn set(&self, node: u64, does: Does) {
        self.nodes.lock().unwrap().insert(node, does);
    }

    fn seen(&self) -> Vec<(u64, Vec<u8>)> {
        self.seen.lock().unwrap().clone()
    }

    fn does(&self, node: NodeId, request_id: &[u8]) -> Does {
        self.seen
            .lock()
            .unwrap()
            .push((node.0, request_id.to_vec()));
        self.nodes
            .lock()
            .unwrap()
            .get(&node.0)
            .cloned()
            .unwrap_or(Does::Lead)
    }
}

impl NodeScript for Script {
    fn session(
        &self,
        node: NodeId,
        _: &Peer,
        request: v1::KmsRequest,
    ) -> Option<Result<Body, Refusal>> {
        match self.does(node, &request.request_id) {
            Does::Lead => Some(Ok(Body::Lease(v1::Lease { lease_seconds: 30 }))),
            Does::Refuse(refusal) => Some(Err(refusal)),
            Does::Hang => None,
        }
    }

    fn rpc(&self, node: NodeId, request_id: &[u8]) -> Result<(), Refusal> {
        match self.does(node, request_id) {
            Does::Lead => Ok(()),
            Does::Refuse(refusal) => Err(refusal),
            Does::Hang => Err(refusal("busy", "", "node", "try later")),
        }
    }

    fn policy(&self, request: &v1::RegisterPolicyRequest) {
        self.policies.lock().unwrap().push(request.clone());
    }
}

async fn three(world: &World, script: &Arc<Script>) -> Vec<FakeNode> {
    let mut nodes = Vec::new();
    for id in 1..=3 {
        nodes.push(FakeNode::start(world, id, script.clone()).await);
    }
    nodes
}

/// Placement of three nodes, running or not.
fn placement() -> Vec<KmsNode> {
    let node = |id: u64| {
        let endpoint: Endpoint = format!("pipe:kms-{id}").parse().unwrap();
        KmsNode {
            id: NodeId(id),
            endpoint,
        }
    };
    (1..=3).map(node).collect()
}

fn short() -> Patience {
    Patience {
        attempt: Duration::from_secs(1),
        overall: Duration::from_millis(1500),
    }
}

fn worker(world: &World) -> WorkloadKms {
    let config = worker_config(world.config_digest());
    let platform = world.platform(
        measured(Role::Worker).measurement().unwrap(),
        config,
        StartInfo::default(),
        |_| {},
    );
    let keys = BootKeys::generate(&mut platform.rng(), Role::Worker, config).unwrap();
    WorkloadKms::new(
        platform,
        &world.net,
        &placement(),
        world.config().clone(),
        keys,
    )
    .unwrap()
    .with_patience(short())
}
