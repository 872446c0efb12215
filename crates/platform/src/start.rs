//! Placement and configuration, as the launcher hands them over.

use std::path::PathBuf;

use siegel_ident::NodeId;
use siegel_wire::v1;

/// Where another process listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// KMS node number, or the worker's number; both count from 1.
    pub node: NodeId,
    /// `127.0.0.1:1234` or `pipe:kms-1` (`siegel_link::Endpoint`).
    pub address: String,
}

/// How a process was started. Only `config` decides trust, and only it is measured, by digest.
/// The rest is placement: wrong placement can stop a node, not open anything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StartInfo {
    /// Canonical JSON. KMS and worker: `siegel_attest::ClusterConfig`; root: `RootConfig`.
    pub config: Vec<u8>,
    /// Where to listen; port 0 lets the system choose. The answer goes to `Platform::ready`.
    pub listen: String,
    /// Stands in every log line.
    pub run_label: String,
    /// JSON lines go here; none in in-process mode.
    pub log_file: Option<PathBuf>,
    /// Own number, from 1. For a KMS: its place in the group, which a replacement inherits.
    pub node: NodeId,
    /// KMS only: this node makes the genesis.
    pub founder: bool,
    /// KMS only: this node takes the place of a dead one in a cluster that is founded already.
    pub join: bool,
    /// All KMS nodes, this one included.
    pub kms: Vec<Peer>,
    /// All workers; for the root.
    pub workers: Vec<Peer>,
    /// Where the depot listens; for root and workers.
    pub depot: String,
}

impl From<v1::Start> for StartInfo {
    fn from(wire: v1::Start) -> Self {
        Self {
            config: wire.config,
            listen: wire.listen,
            run_label: wire.run_label,
            log_file: (!wire.log_file.is_empty()).then(|| wire.log_file.into()),
            node: NodeId(wire.node_number),
            founder: wire.founder,
            join: wire.join,
            kms: wire.kms.into_iter().map(Peer::from).collect(),
            workers: wire.workers.into_iter().map(Peer::from).collect(),
            depot: wire.depot,
        }
    }
}

impl From<&StartInfo> for v1::Start {
    fn from(start: &StartInfo) -> Self {
        let peers = |list: &[Peer]| {
            let wire = |p: &Peer| v1::PeerAddress {
                node_number: p.node.0,
                address: p.address.clone(),
            };
            list.iter().map(wire).collect()
        };
        let log_file = start
            .log_file
            .as_deref()
            .map(|p| p.to_string_lossy().into_owned());
        Self {
            config: start.config.clone(),
            listen: start.listen.clone(),
            run_label: start.run_label.clone(),
            log_file: log_file.unwrap_or_default(),
            node_number: start.node.0,
            founder: start.founder,
            join: start.join,
            kms: peers(&start.kms),
            workers: peers(&start.workers),
            depot: start.depot.clone(),
        }
    }
}

impl From<v1::PeerAddress> for Peer {
    fn from(wire: v1::PeerAddress) -> Self {
        Self {
            node: NodeId(wire.node_number),
            address: wire.address,
        }
    }
}
