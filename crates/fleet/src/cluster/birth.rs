//! The order of birth: witnesses → log → depot → key service → genesis → workers → root.

use std::sync::Arc;

use siegel_attest::RootConfig;
use siegel_ident::NodeId;
use siegel_keys::{Courier, KmsNode};
use siegel_platform::{Peer, StartInfo};
use siegel_rekor::{LogKey, WitnessAt};
use siegel_translog::LogAnchors;

use super::nursery::{LOG_ORIGIN, Nursery, config_error, endpoint};
use super::options::RemoteLog;
use super::{Cluster, Mode, Options};
use crate::{FleetError, Part};

pub(super) async fn start(mode: Mode, options: Options) -> Result<Cluster, FleetError> {
    let mut nursery = Nursery::new(mode, options)?;
    let log = log(&mut nursery).await?;
    let depot = nursery.depot().await?;

    let config = nursery.cluster_config(&log.anchors)?;
    let bytes = config.to_bytes().map_err(|e| config_error("kms", e))?;
    let places = nursery.places(Part::Kms, nursery.options.kms)?;
    for place in &places {
        let start = StartInfo {
            config: bytes.clone(),
            listen: place.address.clone(),
            node: place.node,
            founder: place.node == NodeId(1),
            kms: places.clone(),
            ..nursery.start_info()
        };
        nursery.bring_up(Part::Kms, place.node, start).await?;
    }
    let kms = KmsNode::from_start(&places).map_err(|e| config_error("kms", e))?;
    let genesis = Courier::new(&nursery.net, &kms)
        .map_err(|e| config_error("kms", e))?
        .genesis()
        .await
        .map_err(|e| config_error("genesis", e))?;

    let mut workers = nursery.places(Part::Worker, nursery.options.workers)?;
    for worker in &mut workers {
        let start = StartInfo {
            config: bytes.clone(),
            listen: worker.address.clone(),
            node: worker.node,
            kms: places.clone(),
            depot: depot.to_string(),
            ..nursery.start_info()
        };
        worker.address = nursery
            .bring_up(Part::Worker, worker.node, start)
            .await?
            .to_string();
    }
    let root = RootConfig {
        schema: RootConfig::SCHEMA.into(),
        cluster: config.clone(),
        program: nursery.options.program,
    };
    let listen = nursery.places(Part::Root, 1)?.remove(0).address;
    let start = StartInfo {
        config: root.to_bytes().map_err(|e| config_error("root", e))?,
        listen,
        node: NodeId(1),
        kms: places,
        workers: workers.clone(),
        depot: depot.to_string(),
        ..nursery.start_info()
    };
    let root = nursery.bring_up(Part::Root, NodeId(1), start).await?;
    let parse = |peer: &Peer| endpoint(&peer.address);
    Ok(Cluster {
        workers: workers.iter().map(parse).collect::<Result<_, _>>()?,
        measured: nursery.measured(),
        clock: Arc::clone(&nursery.options.clock),
        logs: nursery.options.dir.join("logs"),
        parts: Arc::new(nursery.parts),
        net: nursery.net,
        config,
        genesis,
        log: log.url,
        witnesses: log.witnesses,
        depot,
        kms,
        root,
    })
}

/// The log of a cluster, and where the witnesses are that we started for it.
struct Log {
    url: String,
    anchors: LogAnchors,
    witnesses: Vec<WitnessAt>,
}

/// Somebody else's log, or witnesses and a log of our own.
async fn log(nursery: &mut Nursery) -> Result<Log, FleetError> {
    if let Some(RemoteLog { url, anchors, .. }) = nursery.options.log.clone() {
        anchors.check().map_err(|e| config_error("log", e))?;
        let witnesses = Vec::new();
        return Ok(Log {
            url,
            anchors,
            witnesses,
        });
    }
    let key_file = nursery.options.dir.join("log-key.pem");
    let key = LogKey::load_or_create(LOG_ORIGIN, &key_file)
        .map_err(|e| config_error("log", e))?
        .public_key();
    let (named, witnesses) = nursery.witnesses(key).await?.into_iter().unzip();
    let endpoint = nursery.log(key_file, Vec::clone(&witnesses)).await?;
    Ok(Log {
        url: format!("http://{endpoint}"),
        anchors: LogAnchors {
            witnesses: nursery.quorum(named),
            ..LogAnchors::unwitnessed(LOG_ORIGIN, key)
        },
        witnesses,
    })
}
