//! A running pipeline with its operator: what `siegel simulate` and the end-to-end tests drive.

mod endorse;

use std::sync::Arc;

use siegel_attest::hardware::TrustRoots;
use siegel_attest::{ClusterConfig, Genesis, KeyBundle, Profile, TrustAnchors};
use siegel_client::{ClientConfig, EndorsementProof};
use siegel_endorse::{Build, Endorsement};
use siegel_ident::{Budget, Delta, EpochId, KeyDigest, NanoRho, Seconds};
use siegel_operator::{Operator, OperatorError, Published, ReceiptTrail};
use siegel_policy::author::{self, AuthorError, Facts};
use siegel_policy::{ClientLimits, Policy};
use siegel_program::Bundle;
use siegel_rekor::{LogClient, PolicySigner};
use siegel_translog::{LogAnchors, MirrorQuorum};

use crate::FleetError;
use crate::clients::OfferBytes;
use crate::cluster::{Cluster, Mode, Options};
use endorse::Provenance;

/// What a simulated device spends at most: ρ = 2, no δ₀.
pub const DEVICE_LIMIT: Budget = Budget {
    rho_nano: NanoRho(2_000_000_000),
    delta0: Delta(0),
};
/// The longest key life that a simulated device accepts: a week.
pub const DEVICE_KEY_TTL: Seconds = Seconds(7 * 24 * 3_600);

/// A cluster, its operator, and its genesis in the log.
pub struct Deployment {
    /// The processes.
    pub cluster: Cluster,
    /// Who publishes and carries.
    pub operator: Operator,
    /// The cluster's birth document.
    pub genesis: Genesis,
    /// Its proof.
    pub genesis_published: Published,
    /// The receipts that are in the log.
    pub trail: ReceiptTrail,
    /// Who vouches for binaries and program: a key of its own, though in a simulation the same person
    /// runs it.
    endorser: PolicySigner,
    /// What the endorser has said, as it stands in the log.
    endorsements: Vec<Published>,
    build: Option<Build>,
}

/// Why a deployment did not come up, or could not go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeploymentError {
    /// A process.
    #[error(transparent)]
    Fleet(#[from] FleetError),
    /// An errand.
    #[error(transparent)]
    Operator(#[from] OperatorError),
    /// A document that the key service made does not parse.
    #[error("{what}: {why}")]
    Document {
        /// Which.
        what: &'static str,
        /// What is wrong.
        why: String,
    },
}

impl Deployment {
    /// Starts all parts, and publishes the genesis and the endorsements of what was started.
    ///
    /// # Errors
    /// [`DeploymentError`]; everything that was started is ended.
    pub async fn start(mode: Mode, options: Options) -> Result<Self, DeploymentError> {
        let key_file = options.dir.join("operator-key.pem");
        let endorser_file = options.dir.join("endorser-key.pem");
        let (program, provenance) = (options.program, Provenance::of(&mode));
        let archive = options.log.as_ref().and_then(|log| log.archive.clone());
        let cluster = Cluster::start(mode, options).await?;
        let errand = "the operator's key and log";
        let log_error = |source| OperatorError::Log { errand, source };
        let signer = PolicySigner::load_or_create(&key_file).map_err(log_error)?;
        let endorser = PolicySigner::load_or_create(&endorser_file).map_err(log_error)?;
        let log_id = anchors(cluster.config()).log_id();
        let log = LogClient::new(cluster.log_url()).map_err(log_error)?;
        let mut log = log.with_log_id(log_id);
        if let Some(archive) = &archive {
            log = log.with_archive(archive).map_err(log_error)?;
        }
        let (net, kms) = (cluster.net(), cluster.kms());
        let clock = Arc::clone(cluster.clock());
        let operator = Operator::new(net, log, kms, cluster.depot(), cluster.root(), signer)?
            .with_log_anchors(anchors(cluster.config()), Arc::new(move || clock.now()));
        let (genesis, genesis_published) = operator.publish_genesis().await?;
        let trail = ReceiptTrail::of(&genesis)?;
        let mut deployment = Self {
            cluster,
            operator,
            genesis,
            genesis_published,
            trail,
            endorser,
            endorsements: Vec::new(),
            build: None,
        };
        let measured = deployment.cluster.measured();
        deployment.build = provenance.build(measured);
        let now = deployment.cluster.clock().now();
        let said = endorse::binaries(measured, deployment.build.clone(), now);
        deployment.endorse(&said, &provenance.files()).await?;
        deployment
            .endorse(&endorse::program(program, now), &[])
            .await?;
        Ok(deployment)
    }

    /// Publishes an endorsement by this deployment's endorser; from now on it goes with every policy
    /// that demands endorsements. `files` are what it names by digest.
    ///
    /// # Errors
    /// [`OperatorError`] of the log.
    pub async fn endorse(
        &mut self,
        endorsement: &Endorsement,
        files: &[&[u8]],
    ) -> Result<(), OperatorError> {
        let published = self
            .operator
            .publish_endorsement(&self.endorser, endorsement, files);
        self.endorsements.push(published.await?);
        Ok(())
    }

    /// The endorser's key, as policies and devices name it.
    pub fn endorser(&self) -> KeyDigest {
        self.endorser.key().digest()
    }

    /// How the executed binaries were built, if anybody knows.
    pub fn build(&self) -> Option<&Build> {
        self.build.as_ref()
    }

    /// What the endorser has said, if the policy demands endorsements.
    pub fn endorsements(&self, policy: &Policy) -> &[Published] {
        match policy.endorsers.is_empty() {
            true => &[],
            false => &self.endorsements,
        }
    }

    /// Compiles a policy for this cluster: its measurements, one program under its own name, and the
    /// endorser.
    ///
    /// # Errors
    /// [`AuthorError`] with the line of the file.
    pub fn build_policy(&self, toml: &str, program: &Bundle) -> Result<Policy, BuildError> {
        let now = self.cluster.clock().now();
        let mut facts = Facts::of_genesis(&self.genesis, now)?;
        for binary in self.cluster.measured() {
            if let Some(name) = binary.part.binary() {
                facts
                    .binaries
                    .entry(name.to_owned())
                    .or_default()
                    .push(binary.reference.clone());
            }
        }
        facts
            .programs
            .insert(program.name().to_owned(), program.digest());
        facts.endorsers.push(self.endorser());
        Ok(author::build(toml, &facts)?)
    }

    /// Publishes program and policy, and registers the policy with the key service.
    ///
    /// # Errors
    /// [`OperatorError`] with the rule that it breaks.
    pub async fn publish(
        &self,
        program: &Bundle,
        policy: &Policy,
    ) -> Result<Published, OperatorError> {
        self.operator
            .publish_program(program.bytes().to_vec())
            .await?;
        let published = self.operator.publish_policy(policy).await?;
        let endorsements = self.endorsements(policy);
        self.operator
            .register_policy(&published, endorsements)
            .await?;
        Ok(published)
    }

    /// What clients fetch: documents, fresh proofs, and the key of the policy's present epoch.
    ///
    /// # Errors
    /// [`DeploymentError`] of key service or log.
    pub async fn offer(
        &self,
        policy: &Policy,
        published: &Published,
    ) -> Result<(OfferBytes, EpochId), DeploymentError> {
        let (stapled, checkpoint) = self.operator.key_bundle(policy.digest()).await?;
        let bundle =
            KeyBundle::parse(&stapled.bundle).map_err(|why| DeploymentError::Document {
                what: "key bundle",
                why: why.to_string(),
            })?;
        let published = self.operator.refreshed(published).await?;
        let genesis = self.operator.refreshed(&self.genesis_published).await?;
        let mut endorsements = Vec::new();
        for endorsement in self.endorsements(policy) {
            endorsements.push(proof(&self.operator.refreshed(endorsement).await?));
        }
        let offer = OfferBytes {
            policy: published.bytes,
            policy_bundle: published.bundle,
            endorsements,
            genesis: genesis.bytes,
            genesis_bundle: genesis.bundle,
            key_bundle: stapled.bundle,
            key_bundle_signature: stapled.signature,
            evidence: stapled.evidence,
            checkpoint,
            // No mirror runs beside a simulation.
            archived: Vec::new(),
        };
        Ok((offer, bundle.epoch))
    }

    /// The configuration of a simulated device. Anchors are this deployment's own; the limits are
    /// fixed here, so that a policy that asks for more is refused by every device (I1).
    pub fn client_config(&self, policy: &Policy) -> ClientConfig {
        ClientConfig {
            log: self.log_anchors(),
            mirrors: MirrorQuorum::none(),
            trust: TrustAnchors {
                vendors: TrustRoots::default(),
                simulation_root: self.cluster.config().simulation_root,
            },
            endorsers: self.pinned(policy),
            limits: ClientLimits::for_pipeline(
                &policy.pipeline,
                Profile::Simulation,
                DEVICE_LIMIT,
                DEVICE_KEY_TTL,
            ),
            device_cap: DEVICE_LIMIT,
        }
    }

    /// Whom devices and auditors of a simulation pin: its endorser. Nobody where the policy was
    /// written without endorsers, since then there is nothing that the simulation could vouch for.
    pub fn pinned(&self, policy: &Policy) -> Vec<KeyDigest> {
        match policy.endorsers.is_empty() {
            true => Vec::new(),
            false => vec![self.endorser()],
        }
    }

    /// Name, key and witnesses of this deployment's log.
    pub fn log_anchors(&self) -> LogAnchors {
        anchors(self.cluster.config())
    }
}

fn anchors(config: &ClusterConfig) -> LogAnchors {
    LogAnchors {
        origin: config.log_origin.clone(),
        key: config.log_key,
        witnesses: config.witnesses.clone(),
    }
}

fn proof(published: &Published) -> EndorsementProof {
    EndorsementProof {
        document: published.bytes.clone(),
        bundle: published.bundle.clone(),
    }
}

/// Why a policy was not built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The text.
    #[error(transparent)]
    Author(#[from] AuthorError),
    /// The genesis.
    #[error("genesis: {0}")]
    Genesis(#[from] siegel_attest::DocumentError),
}
