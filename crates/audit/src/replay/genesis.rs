//! Genesis documents: which clusters there are, and what they were born with.

use std::collections::BTreeMap;

use siegel_attest::{Genesis, Profile};
use siegel_ident::{ClusterId, ConfigDigest};
use siegel_translog::SpkiKey;

use super::{Entry, World};
use crate::anchors::AuditAnchors;
use crate::audit::short;
use crate::findings::Findings;

/// A genesis in the log.
pub(crate) struct LoggedGenesis {
    pub(crate) genesis: Genesis,
    pub(crate) config: ConfigDigest,
    /// The key that signs the cluster's receipts.
    pub(crate) key: SpkiKey,
    /// First place in the log.
    pub(crate) index: u64,
}

impl LoggedGenesis {
    /// Its exact bytes are the cluster's id (I2), whoever signed the statement.
    ///
    /// # Errors
    /// A configuration or key that no cluster can have.
    pub(super) fn of(entry: Entry, genesis: Genesis) -> Result<Box<Self>, String> {
        let config = genesis.config.digest().map_err(|e| e.to_string())?;
        let key = SpkiKey::from_point(&genesis.cluster_key).map_err(|e| e.to_string())?;
        Ok(Box::new(Self {
            genesis,
            config,
            key,
            index: entry.index,
        }))
    }

    pub(crate) fn is_simulation(&self) -> bool {
        self.genesis.config.profile == Profile::Simulation
    }
}

/// Holds the clusters against the anchors and against each other.
pub(super) fn judge(world: &World, anchors: &AuditAnchors, findings: &mut Findings) {
    for expected in &anchors.clusters {
        if !world.clusters.contains_key(&expected.id) {
            let message = format!("the genesis of cluster {} is not in the log", expected.id);
            findings.error("cluster-not-logged", "I1", message);
        }
    }
    let mut owners: BTreeMap<SpkiKey, ClusterId> = BTreeMap::new();
    for (id, cluster) in &world.clusters {
        let name = short(&id.digest());
        if !anchors.clusters.is_empty() && !anchors.clusters.iter().any(|c| c.id == *id) {
            let message = format!("cluster {name} is in the log, but not among the expected ones");
            findings.warning("cluster-unexpected", "", message);
        }
        if let Some(other) = owners.insert(cluster.key, *id) {
            let message = format!(
                "clusters {name} and {} have the same key: one of them is not what it says",
                short(&other.digest())
            );
            findings.error("cluster-key-shared", "I10", message);
        }
        on_this_log(&name, cluster, anchors, findings);
        simulation(&name, cluster, anchors, findings);
    }
}

fn on_this_log(
    name: &str,
    cluster: &LoggedGenesis,
    anchors: &AuditAnchors,
    findings: &mut Findings,
) {
    let config = &cluster.genesis.config;
    if config.log_origin != anchors.log.origin || config.log_key != anchors.log.key {
        let message = format!(
            "cluster {name} was born with another log ({:?}): it would open releases that this log \
             never saw",
            config.log_origin
        );
        findings.error("cluster-other-log", "I17", message);
    }
    let (demanded, checked) = (&config.witnesses, &anchors.log.witnesses);
    if demanded.required > checked.required {
        let message = format!(
            "cluster {name} demands {} witnesses, this audit has checked {}",
            demanded.required, checked.required
        );
        findings.error("witnesses-not-checked", "I1", message);
    }
}

fn simulation(
    name: &str,
    cluster: &LoggedGenesis,
    anchors: &AuditAnchors,
    findings: &mut Findings,
) {
    let config = &cluster.genesis.config;
    if !cluster.is_simulation() {
        return;
    }
    let message = format!(
        "INSECURE SIMULATION: the evidence of cluster {name} is simulated and proves nothing"
    );
    findings.warning("simulated-evidence", "I11", message);
    if !config.witnesses.is_none() {
        let message = format!(
            "SIMULATED WITNESSES: whoever runs cluster {name} runs the witnesses of its log"
        );
        findings.warning("simulated-witnesses", "I1", message);
    }
    if config.seed.is_some() {
        let message = format!(
            "cluster {name} is seeded: anyone can repeat its noise, so its privacy statement is void"
        );
        findings.warning("seeded", "I11", message);
    }
    let pinned = anchors.simulation_root.map(|root| *root.as_bytes());
    if pinned.is_some() && pinned != config.simulation_root {
        let message = format!("cluster {name} trusts another simulation root than the pinned one");
        findings.error("simulation-root", "I11", message);
    }
}
