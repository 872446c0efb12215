//! The static configuration of a key cluster, and the configuration digests made from it.

use serde::{Deserialize, Serialize};
use siegel_ident::{ConfigDigest, ProgramDigest, Transcript, WitnessQuorum};

use crate::document::{self, Document, DocumentError, require};
use crate::hardware::TrustRoots;
use crate::{Profile, ReferenceValue, TrustAnchors, hex_option};

/// What every member of a key cluster is started with: genesis without its random value and key.
/// Its digest stands in the evidence of each member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClusterConfig {
    /// `siegel/cluster-config/v1`.
    pub schema: String,
    /// Production or simulation, for ever (I11).
    pub profile: Profile,
    /// Ed25519 key that signs simulated evidence; present exactly in a simulation.
    #[serde(with = "hex_option")]
    pub simulation_root: Option<[u8; 32]>,
    /// Which binaries may be members. Fixed at birth (I10). Strictly ascending.
    pub peers: Vec<ReferenceValue>,
    /// How many voters the group never falls below.
    pub min_voters: u32,
    /// Origin line of the transparency log.
    pub log_origin: String,
    /// Ed25519 key of the transparency log.
    #[serde(with = "siegel_ident::hex_serde")]
    pub log_key: [u8; 32],
    /// Who must have cosigned a checkpoint, and how recently (I1).
    pub witnesses: WitnessQuorum,
    /// Seed of a repeatable simulation. Public: it voids the privacy statement (I11).
    #[serde(with = "hex_option")]
    pub seed: Option<[u8; 32]>,
}

impl ClusterConfig {
    /// The value of `schema`.
    pub const SCHEMA: &'static str = "siegel/cluster-config/v1";
    /// Most voters and most reference values.
    pub const PEERS_MAX: usize = 16;

    /// Reads exactly the canonical bytes; see [`DocumentError`] for what is refused.
    pub fn parse(bytes: &[u8]) -> Result<Self, DocumentError> {
        document::parse(bytes)
    }

    /// The canonical bytes; refuses a configuration that would not parse.
    pub fn to_bytes(&self) -> Result<Vec<u8>, DocumentError> {
        document::to_bytes(self)
    }

    /// SHA-256 of the canonical bytes: the configuration digest of a KMS node.
    pub fn digest(&self) -> Result<ConfigDigest, DocumentError> {
        Ok(ConfigDigest::of(&self.to_bytes()?))
    }

    /// Refuses a simulation in a build without the simulator. A measured process asks before it makes
    /// a key or listens; verifiers may read such a configuration.
    ///
    /// # Errors
    /// [`DocumentError::SimulationNotBuilt`] (I11).
    pub fn check_build(&self) -> Result<(), DocumentError> {
        let simulated = self.profile == Profile::Simulation || self.simulation_root.is_some();
        if simulated && !cfg!(feature = "simulation") {
            let document = Self::SCHEMA;
            return Err(DocumentError::SimulationNotBuilt { document });
        }
        Ok(())
    }

    /// The roots of trust of this cluster. Those of vendors are pinned in the measured binary, so they need no field;
    /// which kinds of TEE are accepted, the reference values say.
    pub fn anchors(&self) -> TrustAnchors {
        TrustAnchors {
            simulation_root: self.simulation_root,
            vendors: TrustRoots::vendors(),
        }
    }
}

impl Document for ClusterConfig {
    const SCHEMA: &'static str = Self::SCHEMA;

    fn schema(&self) -> &str {
        &self.schema
    }

    fn check(&self) -> Result<(), DocumentError> {
        let simulation = self.profile == Profile::Simulation;
        require::<Self>(
            self.simulation_root.is_some() == simulation,
            "simulation_root",
            "must be present exactly with profile \"simulation\" (I11)",
        )?;
        require::<Self>(
            simulation || self.seed.is_none(),
            "seed",
            "is only for profile \"simulation\" (I11)",
        )?;
        // Two witnesses of distinct operators are the least that production accepts (I1).
        require::<Self>(
            simulation || self.witnesses.required >= 2,
            "witnesses",
            "must be at least 2 in profile \"production\" (I1)",
        )?;
        require::<Self>(
            self.witnesses.check().is_ok(),
            "witnesses",
            "must name at least as many witnesses of distinct operators as it requires, \
             ascending by name, with an age that can be met (I1)",
        )?;
        require::<Self>(
            (1..=Self::PEERS_MAX).contains(&self.peers.len()),
            "peers",
            "must hold 1 to 16 reference values",
        )?;
        require::<Self>(
            self.peers.is_sorted_by(|a, b| a < b),
            "peers",
            "must be strictly ascending",
        )?;
        if !simulation {
            let checked = self
                .peers
                .iter()
                .try_for_each(ReferenceValue::check_production);
            checked.map_err(|source| DocumentError::ReferenceValue {
                document: Self::SCHEMA,
                source,
            })?;
        }
        require::<Self>(
            (1..=Self::PEERS_MAX as u32).contains(&self.min_voters),
            "min_voters",
            "must be 1 to 16",
        )?;
        let origin = &self.log_origin;
        require::<Self>(
            (1..=256).contains(&origin.len()) && !origin.chars().any(char::is_control),
            "log_origin",
            "must be one line of 1 to 256 bytes",
        )
    }
}

/// What a root is started with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RootConfig {
    /// `siegel/root-config/v1`.
    pub schema: String,
    /// The cluster whose keys it may ask for.
    pub cluster: ClusterConfig,
    /// The one program it runs.
    pub program: ProgramDigest,
}

impl RootConfig {
    /// The value of `schema`.
    pub const SCHEMA: &'static str = "siegel/root-config/v1";

    /// Reads exactly the canonical bytes.
    pub fn parse(bytes: &[u8]) -> Result<Self, DocumentError> {
        document::parse(bytes)
    }

    /// The canonical bytes; refuses a configuration that would not parse.
    pub fn to_bytes(&self) -> Result<Vec<u8>, DocumentError> {
        document::to_bytes(self)
    }

    /// The configuration digest of this root: [`root_config`] of its two parts.
    pub fn digest(&self) -> Result<ConfigDigest, DocumentError> {
        Ok(root_config(self.cluster.digest()?, self.program))
    }
}

impl Document for RootConfig {
    const SCHEMA: &'static str = Self::SCHEMA;

    fn schema(&self) -> &str {
        &self.schema
    }

    fn check(&self) -> Result<(), DocumentError> {
        self.cluster.check()
    }
}

/// The configuration digest of a worker of the cluster with this configuration digest. It is not
/// the KMS's own, so that evidence of one role never fits the other (I3).
pub fn worker_config(kms: ConfigDigest) -> ConfigDigest {
    Transcript::new("siegel/worker-config/v1")
        .field(kms.as_bytes())
        .digest()
        .into()
}

/// The configuration digest of a root of that cluster which runs that program.
pub fn root_config(kms: ConfigDigest, program: ProgramDigest) -> ConfigDigest {
    Transcript::new("siegel/root-config/v1")
        .field(kms.as_bytes())
        .field(program.as_bytes())
        .digest()
        .into()
}
