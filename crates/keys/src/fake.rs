//! A key service for tests: attested nodes that answer as they are told. No ledger, no Raft.

mod grants;
mod node;

pub use grants::FakeGrant;
pub use node::{FakeNode, NodeScript};

use std::sync::Arc;

use siegel_attest::simulated::{Attester, measurement};
use siegel_attest::{ClusterConfig, Genesis, Profile, ReferenceValue, Role};
use siegel_ident::{ClusterId, ConfigDigest, Digest, Measurement, Secret, WitnessQuorum};
use siegel_link::Net;
use siegel_platform::{BoxFuture, Platform, PlatformError, QuoteSource, StartInfo, SystemClock};

/// One simulated cluster and everything around it that can be attested.
pub struct World {
    attester: Arc<Attester>,
    config: ClusterConfig,
    genesis: Genesis,
    cluster: ClusterId,
    /// The pipes between its processes.
    pub net: Net,
}

/// What a process of this role measures in a [`World`].
pub fn measured(role: Role) -> ReferenceValue {
    ReferenceValue::simulated(measurement_of(role.as_str()))
}

fn measurement_of(name: &str) -> Measurement {
    measurement(Digest::of(name.as_bytes()), &[name], &[])
}

impl World {
    /// A cluster; `seed` tells two of them apart. Log and cluster key are nobody's.
    pub fn new(seed: u8) -> Self {
        Self::with_log(seed, "log.example.org", [9; 32], [4; 65])
    }

    /// A cluster whose ledger takes policies from the log of this name and key, and whose receipts
    /// this P-256 point signs.
    #[allow(clippy::unwrap_used)]
    pub fn with_log(seed: u8, origin: &str, log_key: [u8; 32], cluster_key: [u8; 65]) -> Self {
        let attester = Arc::new(Attester::new(&Secret::new([7; 32])).unwrap());
        let config = ClusterConfig {
            schema: ClusterConfig::SCHEMA.into(),
            profile: Profile::Simulation,
            simulation_root: Some(attester.public_key()),
            peers: vec![measured(Role::KmsPeer)],
            min_voters: 3,
            log_origin: origin.into(),
            log_key,
            witnesses: WitnessQuorum::none(),
            seed: None,
        };
        let genesis = Genesis {
            schema: Genesis::SCHEMA.into(),
            random: [seed; 32],
            cluster_key,
            config: config.clone(),
        };
        let cluster = genesis.cluster_id().unwrap();
        Self {
            attester,
            config,
            genesis,
            cluster,
            net: Net::new(),
        }
    }

    /// The configuration that its members and workloads are started with.
    pub fn config(&self) -> &ClusterConfig {
        &self.config
    }

    /// Its configuration digest.
    #[allow(clippy::unwrap_used)]
    pub fn config_digest(&self) -> ConfigDigest {
        self.config.digest().unwrap()
    }

    /// What its ledger starts from.
    #[allow(clippy::unwrap_used)]
    pub fn genesis(&self) -> Vec<u8> {
        self.genesis.to_bytes().unwrap()
    }

    /// Its id.
    pub fn cluster(&self) -> ClusterId {
        self.cluster
    }

    /// A platform whose quotes say `measurement` and `config`.
    pub fn platform(
        &self,
        measurement: Measurement,
        config: ConfigDigest,
        start: StartInfo,
        ready: impl Fn(String) + Send + Sync + 'static,
    ) -> Platform {
        let quotes = Quotes {
            attester: self.attester.clone(),
            measurement,
            config,
        };
        Platform::new(Arc::new(SystemClock), Arc::new(quotes), start, ready)
    }
}

struct Quotes {
    attester: Arc<Attester>,
    measurement: Measurement,
    config: ConfigDigest,
}

impl QuoteSource for Quotes {
    fn quote(&self, report_data: [u8; 64]) -> BoxFuture<'_, Result<Vec<u8>, PlatformError>> {
        use siegel_platform::Clock as _;
        let evidence = self.attester.attest(
            self.measurement,
            self.config,
            report_data,
            SystemClock.now(),
        );
        Box::pin(async { Ok(evidence) })
    }
}
