//! The process: from its start message to its services.

use std::sync::Arc;
use std::time::Duration;

use siegel_attest::{ClusterConfig, Role, worker_config};
use siegel_keys::{BootKeys, KmsNode, WorkloadKms};
use siegel_link::depot::DepotClient;
use siegel_link::{Endpoint, LinkService, Net, server};
use siegel_platform::Platform;
use siegel_wire::v1::worker_server::WorkerServer;
use tokio::sync::{Mutex, Semaphore};

use crate::accept::Roots;
use crate::opened::Space;
use crate::pool::Pool;
use crate::prepare::PrepareService;
use crate::runs::Runs;
use crate::{Limits, WorkerError};

/// How long a depot that is away is waited for (I8).
const DEPOT_PATIENCE: Duration = Duration::from_secs(15);
/// Questions answered at once.
const COMPUTE_AT_ONCE: usize = 2;

/// What all parts of the process share.
pub(crate) struct Node {
    pub(crate) platform: Platform,
    pub(crate) kms: WorkloadKms,
    pub(crate) depot: DepotClient,
    pub(crate) runs: Runs,
    pub(crate) preparing: Mutex<()>,
    pub(crate) computing: Semaphore,
    pub(crate) pool: Pool,
    pub(crate) space: Space,
}

/// Runs a worker until it fails or is dropped.
///
/// The measured configuration is the cluster's; the worker's own configuration digest is made from
/// it. Placement (addresses) is not measured: a wrong one can stop a worker, not open anything.
///
/// # Errors
/// A start message that does not parse, an address that is taken, a server that stops.
pub async fn serve(platform: Platform, net: Net) -> Result<(), WorkerError> {
    serve_within(platform, net, Limits::default()).await
}

/// As [`serve`], with other limits.
///
/// # Errors
/// As [`serve`].
pub async fn serve_within(platform: Platform, net: Net, limits: Limits) -> Result<(), WorkerError> {
    let start = platform.start.clone();
    let cluster = ClusterConfig::parse(&start.config)?;
    cluster.check_build()?;
    let config = worker_config(cluster.digest()?);
    let keys = BootKeys::generate(&mut platform.rng(), Role::Worker, config)?;
    let nodes = KmsNode::from_start(&start.kms)?;
    let kms = WorkloadKms::new(platform.clone(), &net, &nodes, cluster, keys)?;
    let depot = net.channel(&start.depot.parse::<Endpoint>()?);
    let node = Arc::new(Node {
        platform: platform.clone(),
        kms,
        depot: DepotClient::new(depot).with_patience(DEPOT_PATIENCE),
        runs: Runs::default(),
        preparing: Mutex::new(()),
        computing: Semaphore::new(COMPUTE_AT_ONCE),
        pool: Pool::new(limits.threads),
        space: Space::new(limits.cache_bytes),
    });
    let (endpoint, incoming) = net.listen(&start.listen.parse::<Endpoint>()?).await?;
    let roots = Arc::new(Roots(node.clone()));
    let serving = server()
        .add_service(WorkerServer::new(PrepareService(node.clone())))
        .add_service(LinkService::server(platform.clone(), roots))
        .serve_with_incoming(incoming);
    tracing::info!(%endpoint, "worker listens");
    platform.ready(&endpoint);
    tokio::select! {
        ended = serving => ended.map_err(|error| WorkerError::Server(error.to_string())),
        () = node.runs.keep_erasing() => Ok(()),
    }
}
