//! The process: from its start message to its service.

use std::sync::Arc;
use std::time::Duration;

use siegel_attest::{Role, RootConfig};
use siegel_ident::ProgramDigest;
use siegel_keys::{BootKeys, KmsNode, WorkloadKms};
use siegel_link::depot::DepotClient;
use siegel_link::{Endpoint, Net, server};
use siegel_platform::Platform;
use siegel_wire::v1::root_server::RootServer;
use tokio::sync::Semaphore;
use tonic::transport::Channel;

use crate::RootError;
use crate::service::RootService;

/// How long a depot that is away is waited for (I8).
const DEPOT_PATIENCE: Duration = Duration::from_secs(15);

/// What all parts of the process share.
pub(crate) struct Node {
    pub(crate) platform: Platform,
    pub(crate) kms: WorkloadKms,
    pub(crate) depot: DepotClient,
    pub(crate) workers: Vec<Channel>,
    /// The one program that this process was measured with.
    pub(crate) program: ProgramDigest,
    /// One run at a time.
    pub(crate) running: Arc<Semaphore>,
}

/// Runs a root until it fails or is dropped.
///
/// The measured configuration is the cluster's and the program digest. Placement (addresses) is not
/// measured: a wrong one can stop a run, not open anything.
///
/// # Errors
/// A start message that does not parse, an address that is taken, a server that stops.
pub async fn serve(platform: Platform, net: Net) -> Result<(), RootError> {
    let start = platform.start.clone();
    let config = RootConfig::parse(&start.config)?;
    config.cluster.check_build()?;
    let keys = BootKeys::generate(&mut platform.rng(), Role::Root, config.digest()?)?;
    let nodes = KmsNode::from_start(&start.kms)?;
    let kms = WorkloadKms::new(platform.clone(), &net, &nodes, config.cluster, keys)?;
    let channel = |address: &str| -> Result<Channel, RootError> {
        Ok(net.channel(&address.parse::<Endpoint>()?))
    };
    let workers = start.workers.iter().map(|worker| channel(&worker.address));
    let workers = workers.collect::<Result<Vec<_>, _>>()?;
    if workers.is_empty() {
        return Err(RootError::NoWorkers);
    }
    let node = Arc::new(Node {
        depot: DepotClient::new(channel(&start.depot)?).with_patience(DEPOT_PATIENCE),
        platform: platform.clone(),
        kms,
        workers,
        program: config.program,
        running: Arc::new(Semaphore::new(1)),
    });
    let (endpoint, incoming) = net.listen(&start.listen.parse::<Endpoint>()?).await?;
    let serving = server()
        .add_service(RootServer::new(RootService(node)))
        .serve_with_incoming(incoming);
    tracing::info!(%endpoint, "root listens");
    platform.ready(&endpoint);
    serving
        .await
        .map_err(|error| RootError::Server(error.to_string()))
}
